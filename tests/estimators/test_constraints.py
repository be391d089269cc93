"""Which features split together, how often features are drawn, and what they cost."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor

import gpuboost as gb
from gpuboost import GPUBoostClassifier, GPUBoostRegressor

POLICIES = ["depthwise", "leafwise", "symmetric"]
NAMES = list("abcdef")


@pytest.fixture(autouse=True)
def emulated(monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")


def make(n=500, n_features=6, seed=0):
    """Rows in which all features interact, some of them missing, and weights."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features))
    y = np.sin(2 * x).sum(axis=1) + x.prod(axis=1) + x[:, 0] * x[:, -1] + 0.1 * rng.normal(size=n)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x, y, rng.exponential(size=n)


def paths(left, right, feature):
    """The sets of features that split the rows of each leaf."""
    found, todo = set(), [(0, frozenset())]
    while todo:
        node, path = todo.pop()
        if left[node] <= 0:
            found.add(path)
            continue
        path |= {int(feature[node])}
        todo += [(left[node], path), (right[node], path)]
    return found


def all_paths(model):
    trees = model.ensemble_.trees
    return set().union(*(paths(tree.left, tree.left + 1, tree.feature) for tree in trees))


def used(model):
    return {int(f) for tree in model.ensemble_.trees for f in tree.feature if f >= 0}


def both(kind=GPUBoostRegressor, fit=(), **options):
    """A model that both devices train alike."""
    cpu = kind(**options).fit(*fit)
    assert kind(**options, device="cuda").fit(*fit).fingerprint() == cpu.fingerprint()
    return cpu


# --- interactions


@settings(max_examples=25, deadline=None)
@given(
    groups=st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=5),
    policy=st.sampled_from(POLICIES),
    draws=st.booleans(),
    seed=st.integers(0, 99),
)
def test_every_path_is_in_a_group(groups, policy, draws, seed):
    x, y, weight = make(seed=seed)
    options = {"colsample_bylevel": 0.7, "colsample_bynode": 0.7} if draws else {}
    model = GPUBoostRegressor(
        n_estimators=5, grow_policy=policy, interaction_constraints=groups, **options
    ).fit(x, y, weight)
    rest = set(range(6)).difference(*groups)
    assert all(any(path <= group for group in [*groups, rest]) for path in all_paths(model))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"colsample_bytree": 0.8, "colsample_bylevel": 0.8, "colsample_bynode": 0.6},
        {"feature_weights": [1, 2, 3, 4, 5, 6], "colsample_bynode": 0.5},
        {"monotone_constraints": {0: 1}, "min_samples_leaf": 5, "subsample": 0.7},
    ],
    ids=lambda options: "-".join(options) or "plain",
)
def test_interactions_on_both_devices(policy, options):
    groups = [{0, 1}, {1, 2, 3}, {3, 4}]
    model = both(
        n_estimators=5, grow_policy=policy, interaction_constraints=groups, **options, fit=make()
    )
    assert all(any(path <= group for group in [*groups, {5}]) for path in all_paths(model))
    assert any(len(path) > 1 for path in all_paths(model))


def test_short_forms_are_lists_of_groups():
    x, y, _ = make()
    for short, size in (("no_interactions", 1), ("pairwise", 2)):
        options = {"n_estimators": 5, "max_depth": 4}
        model = GPUBoostRegressor(interaction_constraints=short, **options).fit(x, y)
        assert max(map(len, all_paths(model))) == size
        groups = list(itertools.combinations(range(6), size))
        listed = GPUBoostRegressor(interaction_constraints=groups, **options).fit(x, y)
        assert listed.fingerprint() == model.fingerprint()


def test_features_that_are_not_mentioned_are_a_group_as_in_scikit_learn():
    """The trees of its HistGradientBoostingRegressor keep to the same paths."""
    x, y, _ = make(2000)
    own = GPUBoostRegressor(n_estimators=20, interaction_constraints=[[0, 1]]).fit(x, y)
    theirs = HistGradientBoostingRegressor(max_iter=5, interaction_cst=[{0, 1}]).fit(x, y)
    nodes = [tree.nodes for (tree,) in theirs._predictors]
    of_theirs = (paths(n["left"], n["right"], n["feature_idx"]) for n in nodes)
    for own_or_theirs in (all_paths(own), set().union(*of_theirs)):
        assert all(path <= {0, 1} or path <= {2, 3, 4, 5} for path in own_or_theirs)
        assert set().union(*own_or_theirs) == set(range(6))
        assert max(map(len, own_or_theirs)) > 2


def test_groups_by_name_and_groups_that_forbid_nothing():
    x, y, _ = make()
    frame, options = pd.DataFrame(x, columns=NAMES), {"n_estimators": 3}
    by_name = GPUBoostRegressor(interaction_constraints=[["a", "b"], ["c", 3]], **options)
    by_number = GPUBoostRegressor(interaction_constraints=[[0, 1], [2, 3]], **options).fit(x, y)
    np.testing.assert_array_equal(by_name.fit(frame, y).predict(frame), by_number.predict(x))
    free = GPUBoostRegressor(interaction_constraints=[[0], range(6)], **options).fit(x, y)
    assert free.fingerprint() == GPUBoostRegressor(**options).fit(x, y).fingerprint()


def test_additive_models_add_up():
    """Without interactions the effect of one feature is the same wherever the others are."""
    x, y, _ = make()
    model = GPUBoostRegressor(n_estimators=20, interaction_constraints="no_interactions").fit(x, y)
    low, high = np.zeros((9, 6)), np.zeros((9, 6))
    low[:, 1:] = high[:, 1:] = x[:9, 1:]
    high[:, 0] = 1.0
    difference = model.predict(high) - model.predict(low)
    np.testing.assert_allclose(difference, difference[0], atol=1e-12)
    assert difference[0] > 0.1


# --- weights of features


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("scope", ["bytree", "bylevel", "bynode"])
def test_features_are_drawn_by_weights_on_both_devices(policy, scope):
    weights = {0: 0, 1: 4, 2: 0.5}
    options = {f"colsample_{scope}": 0.4, "feature_weights": weights, "grow_policy": policy}
    model = both(n_estimators=8, **options, fit=make())
    assert 0 not in used(model)
    even = GPUBoostRegressor(n_estimators=8, grow_policy=policy, **{f"colsample_{scope}": 0.4})
    even.fit(*make())
    assert model.feature_importances_[1] > even.feature_importances_[1]  # drawn more often


def test_single_features_of_trees_are_drawn_in_proportion():
    x, y, _ = make(60)
    weights = np.array([1, 0, 2, 3, 1, 0])
    model = GPUBoostRegressor(
        n_estimators=1500, max_depth=1, learning_rate=1e-3, colsample_bytree=0.2,
        feature_weights=weights,
    ).fit(x, y)  # fmt: skip
    first = [int(tree.feature[0]) for tree in model.ensemble_.trees]
    shares = np.bincount(first, minlength=6) / len(first)
    np.testing.assert_allclose(shares, weights / weights.sum(), atol=0.04)


def test_a_feature_of_weight_0_is_as_good_as_absent():
    x, y, _ = make()
    options = {"n_estimators": 5, "grow_policy": "leafwise"}
    model = both(feature_weights=[1, 0, 1, 1, 0, 1], **options, fit=(x, y))
    without = GPUBoostRegressor(**options).fit(x[:, [0, 2, 3, 5]], y)
    np.testing.assert_array_equal(model.predict(x), without.predict(x[:, [0, 2, 3, 5]]))


def test_equal_weights_change_nothing():
    x, y, _ = make()
    options = {"n_estimators": 3, "colsample_bynode": 0.5}
    model = GPUBoostRegressor(feature_weights=[2.5] * 6, **options).fit(x, y)
    assert model.fingerprint() == GPUBoostRegressor(**options).fit(x, y).fingerprint()


def test_weights_without_draws_are_told_of():
    x, y, _ = make(60)
    with pytest.warns(UserWarning, match="feature_weights are for features that are drawn"):
        model = GPUBoostRegressor(n_estimators=2, feature_weights={0: 3}).fit(x, y)
    assert model.fingerprint() == GPUBoostRegressor(n_estimators=2).fit(x, y).fingerprint()


# --- penalties


def best_cut(x, gradient, due):
    """Gain less cost, and feature, of the best cut of some rows, by trying all."""
    best = (0.0, -1)
    score = gradient.sum() ** 2 / (len(x) + 1.0)
    for f in range(x.shape[1]):
        for cut in np.unique(x[:, f])[:-1]:
            left = x[:, f] <= cut
            sides = (gradient[side].sum() ** 2 / (side.sum() + 1.0) for side in (left, ~left))
            best = max(best, (sum(sides) - score - due[f], f), key=lambda found: found[0])
    return best


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_costs_against_all_cuts_of_a_small_tree(device):
    """Nodes of a level pay alike; what a level has used is free below it."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 6, (200, 4)).astype(float)
    y = x[:, 0] + 0.6 * x[:, 1] * (x[:, 2] > 2) + 0.5 * x[:, 3]
    costs = [3.0, 9.0, 20.0, 60.0]
    model = GPUBoostRegressor(
        n_estimators=1, max_depth=4, feature_penalties=costs, device=device
    ).fit(x, y)
    (tree,), gradient, due = model.ensemble_.trees, y.mean() - y, np.array(costs)
    level, n_paid = [(0, np.arange(200))], 0
    while level:
        below, now = [], due.copy()
        for node, rows in level:
            gain, feature = best_cut(x[rows], gradient[rows], now)
            if tree.left[node] < 0:
                continue
            assert tree.feature[node] == feature
            assert tree.gain[node] == pytest.approx(gain, rel=1e-3)
            n_paid += now[feature] > 0
            due[feature] = 0.0
            left = x[rows, feature] <= tree.threshold[node]
            below += [(tree.left[node], rows[left]), (tree.left[node] + 1, rows[~left])]
        level = below
    assert n_paid >= 2 and due.any()  # some have been paid for, some were too dear


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_costs_on_both_devices(policy, classes):
    x, y, weight = make()
    y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)) if classes else y
    kind = GPUBoostClassifier if classes else GPUBoostRegressor
    costs = [0, 2, 5, 10, 30, 1e9]
    options = {"n_estimators": 6, "grow_policy": policy, "feature_penalties": costs}
    model = both(kind, **options, colsample_bynode=0.8, fit=(x, y, weight))
    assert 0 in used(model) and 5 not in used(model)
    free = kind(n_estimators=6, grow_policy=policy).fit(x, y, weight)
    none = kind(**options | {"feature_penalties": [0.0] * 6}).fit(x, y, weight)
    assert none.fingerprint() == free.fingerprint() and len(used(free)) == 6


def test_a_feature_is_paid_for_once():
    """The tree after the one that paid takes the cuts that a free feature would get."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (400, 1)).astype(float)
    y = 3.0 * x[:, 0]
    gains = []
    for cost in (0.0, 50.0):
        model = GPUBoostRegressor(n_estimators=2, max_depth=1, feature_penalties=[cost])
        gains.append([tree.gain[0] for tree in model.fit(x, y).ensemble_.trees])
    assert gains[0][0] - gains[1][0] == pytest.approx(50.0)
    assert gains[0][1] == gains[1][1]


def test_costs_follow_targets_of_any_size():
    """Gains are squares of the targets: costs as many times as large buy the same trees."""
    x, y, _ = make()
    trees = []
    for scale in (1.0, 2.0**300):
        costs = {1: 4.0 * scale**2, 3: 1e3 * scale**2}
        model = GPUBoostRegressor(n_estimators=4, feature_penalties=costs).fit(x, y * scale)
        trees.append([tree.feature.tolist() for tree in model.ensemble_.trees])
    assert trees[0] == trees[1]


# --- forced splits

NESTED = {
    "feature": 5, "threshold": 0.3,
    "left": {"feature": 4, "threshold": -0.5, "right": {"feature": 3, "threshold": 0.0}},
    "right": {"feature": 3, "threshold": 1.0},
}  # fmt: skip
LEVELS = [{"feature": 5, "threshold": 0.3}, {"feature": 4, "threshold": -0.5}]


def assert_on_top(tree, splits, node=0):
    """The tree begins with these splits, at the cuts that are nearest."""
    assert tree.feature[node] == splits["feature"]
    assert tree.threshold[node] == pytest.approx(splits["threshold"], abs=0.05)
    for side in (0, 1):
        below = splits.get(("left", "right")[side])
        if below:
            assert_on_top(tree, below, tree.left[node] + side)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"colsample_bytree": 0.3, "colsample_bynode": 0.5, "feature_weights": {4: 0.1}},
        {"min_samples_leaf": 4, "monotone_constraints": {0: 1}, "subsample": 0.9},
        {"feature_penalties": dict.fromkeys(range(6), 5.0), "interaction_constraints": [[3, 4, 5]]},
    ],
    ids=lambda options: "-".join(options) or "plain",
)
def test_forced_splits_are_at_the_top_of_every_tree(policy, options):
    splits = LEVELS if policy == "symmetric" else NESTED
    fit = make()
    model = both(
        n_estimators=3, grow_policy=policy, forced_splits=splits, random_state=1, **options, fit=fit
    )
    for tree in model.ensemble_.trees:
        if policy != "symmetric":
            assert_on_top(tree, NESTED)
            continue
        assert_on_top(tree, LEVELS[0])
        assert_on_top(tree, LEVELS[1], 1)
        assert_on_top(tree, LEVELS[1], 2)
    assert len({len(tree.left) for tree in model.ensemble_.trees} - {9}) > 0  # they grow on


def test_a_tree_of_forced_splits_is_grown_where_symmetric_trees_are_the_default():
    x, y, _ = make()
    many = {"n_estimators": 500, "learning_rate": 1.0, "early_stopping_rounds": 1, "max_depth": 3}
    model = GPUBoostRegressor(forced_splits=NESTED, **many).fit(x, y, eval_set=(x[:9], y[:9]))
    assert_on_top(model.ensemble_.trees[0], NESTED)
    model = GPUBoostRegressor(**many).fit(x, y, eval_set=(x[:9], y[:9]))
    first = model.ensemble_.trees[0].feature
    assert first[1] == first[2]


@pytest.mark.parametrize("policy", POLICIES)
def test_forced_splits_of_classes_and_sparse_matrices(policy):
    from scipy.sparse import csr_array

    x, y, weight = make()
    x[np.abs(x) < 0.4] = 0.0
    y = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    options = {"n_estimators": 2, "forced_splits": LEVELS if policy == "symmetric" else NESTED}
    options |= {"grow_policy": policy, "min_samples_leaf": 2}
    model = both(GPUBoostClassifier, **options, fit=(csr_array(x), y, weight))
    dense = GPUBoostClassifier(**options).fit(x, y, weight)
    assert dense.fingerprint() == model.fingerprint()
    for tree in model.ensemble_.trees:
        assert tree.feature[0] == 5


def test_gains_of_forced_splits_are_those_of_the_split():
    x, y, _ = make()
    x = np.nan_to_num(x)
    model = GPUBoostRegressor(n_estimators=1, max_depth=1, forced_splits=LEVELS[0]).fit(x, y)
    (tree,), left = model.ensemble_.trees, x[:, 5] <= model.ensemble_.trees[0].threshold[0]
    residual = y - y.mean()
    sides = (residual[side].sum() ** 2 / (side.sum() + 1.0) for side in (left, ~left))
    gain = sum(sides) - residual.sum() ** 2 / (len(y) + 1.0)
    assert tree.gain[0] == pytest.approx(gain, rel=1e-3)


@pytest.mark.parametrize("policy", ["depthwise", "symmetric"])
def test_a_forced_split_that_divides_nothing_is_left_out_with_those_below(policy):
    x = np.nan_to_num(make()[0])
    y = x[:, 0] + 0.1 * x[:, 1]
    below = {"feature": 2, "threshold": 0.0}
    nested = {"feature": 5, "threshold": 9.0, "left": below, "right": below}
    splits = [{"feature": 5, "threshold": 9.0}, below] if policy == "symmetric" else nested
    options = {"n_estimators": 2, "max_depth": 3, "grow_policy": policy, "min_samples_leaf": 30}
    model = both(forced_splits=splits, **options, fit=(x, y))
    free = GPUBoostRegressor(**options).fit(x, y)
    assert model.fingerprint() == free.fingerprint()


def test_a_forced_split_against_the_order_is_left_out(rng):
    x = rng.normal(size=(300, 2))
    split = {"feature": 0, "threshold": 0.0}
    options = {"n_estimators": 2, "max_depth": 2, "monotone_constraints": [1, 0]}
    model = both(forced_splits=split, **options, fit=(x, x[:, 1] - x[:, 0]))
    assert model.ensemble_.trees[0].feature[0] == 1
    model = both(forced_splits=split, **options, fit=(x, 9 * x[:, 1] + x[:, 0]))
    assert model.ensemble_.trees[0].feature[0] == 0


# --- what they have in common

EVERYTHING = {
    "interaction_constraints": [["a", "b", "c"], ["c", "d"]],
    "feature_weights": {"a": 3.0, "f": 0.0},
    "feature_penalties": {"b": 2.0, "c": 1.0},
    "colsample_bynode": 0.7,
    "forced_splits": {"feature": "b", "threshold": 0.0, "left": {"feature": "c", "threshold": 1.0}},
}


def test_models_with_rules_are_saved_with_them(tmp_path):
    x, y, _ = make()
    frame = pd.DataFrame(x, columns=NAMES)
    model = GPUBoostRegressor(n_estimators=3, **EVERYTHING).fit(frame, y)
    model.save_model(tmp_path / "rules.gb")
    loaded = gb.load_model(tmp_path / "rules.gb")
    assert {name: getattr(loaded, name) for name in EVERYTHING} == EVERYTHING
    assert loaded.fingerprint() == model.fingerprint()
    assert loaded.fit(frame, y).fingerprint() == model.fingerprint()


@pytest.mark.parametrize("policy", POLICIES)
def test_sparse_matrices_take_the_same_rules(policy):
    from scipy.sparse import csr_array

    x, y, weight = make()
    x[np.abs(x) < 0.7] = 0.0
    rules = {
        "interaction_constraints": [[0, 1, 2], [2, 3]],
        "feature_weights": {0: 3.0, 5: 0.0},
        "feature_penalties": {1: 2.0, 2: 1.0},
        "colsample_bynode": 0.7,
    }
    model = both(n_estimators=4, grow_policy=policy, **rules, fit=(csr_array(x), y, weight))
    dense = GPUBoostRegressor(n_estimators=4, grow_policy=policy, **rules).fit(x, y, weight)
    assert dense.fingerprint() == model.fingerprint()


BAD = {
    "interaction_constraints": [
        ("triples", "must be None, 'pairwise', 'no_interactions' or a list of groups"),
        ([0, 1], r"a list of groups, each a list of names or numbers of features; got \[0, 1\]"),
        ([[0], []], "has an empty group"),
        ([[0, 6]], "by number, 0 to 5; got 6"),
        ([["a"]], "names the feature 'a', but the columns of X have no names"),
    ],
    "feature_weights": [
        ([1, 1], "must have an entry for each of the 6 features of X; got 2"),
        ({0: -1}, "must have a finite number of at least 0 for a feature; got -1"),
        ({0: np.nan}, "must have a finite number of at least 0 for a feature; got nan"),
        ("heavy", "must be None, a dict of features and weights, or a list or array"),
        ([0] * 6, "must be above 0 for one feature at least; all are 0"),
    ],
    "forced_splits": [
        ({"feature": 6, "threshold": 1}, "by number, 0 to 5; got 6"),
        ({"feature": 0, "bin": 1}, "must have a feature and a threshold in each split"),
        (3, "must be None, the name of a JSON file, or a dict"),
    ],
    "feature_penalties": [
        ({"a": 1}, "names the feature 'a', but the columns of X have no names"),
        ({0: "dear"}, "must have a finite number of at least 0 for a feature; got 'dear'"),
        ({9: 1}, "by number, 0 to 5; got 9"),
        (3.0, "must be None, a dict of features and penalties, or a list"),
    ],
}


@pytest.mark.parametrize(("name", "case"), [(n, c) for n, cases in BAD.items() for c in cases])
def test_bad_rules_are_named(name, case):
    x, y, _ = make(30)
    value, message = case
    with pytest.raises((ValueError, TypeError), match=f"^{name} .*{message}"):
        GPUBoostRegressor(**{name: value}).fit(x, y)


def test_too_many_groups_for_a_table():
    x = np.zeros((3, 700))
    with pytest.raises(ValueError, match="must have at most 191739 groups for 700 features"):
        GPUBoostRegressor(interaction_constraints="pairwise").fit(x, [0, 1, 2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_depth": 2}, "forced_splits has 3 levels, more than max_depth=2"),
        ({"interaction_constraints": [[0, 5]]}, "which no group of interaction_constraints holds"),
        ({"feature_weights": {3: 0}}, "splits feature 3, whose weight in feature_weights is 0"),
        ({"grow_policy": "symmetric"}, "forced_splits must be a list with a dict for each level"),
    ],
)
def test_forced_splits_and_what_does_not_go_with_them(options, message):
    x, y, _ = make(60)
    with pytest.raises(ValueError, match=message):
        GPUBoostRegressor(forced_splits=NESTED, **options).fit(x, y)
