"""What all forests share: warm starts, out-of-bag estimates, paths, quantiles, outputs."""

import pickle
import warnings

import numpy as np
import pytest
from forest_cases import CLASSIFIERS, FORESTS, REGRESSORS, assert_same_trees, data_for
from sklearn import ensemble
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_classification,
)
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils import compute_sample_weight

from gpuboost import (
    RandomForestClassifier,
    RandomForestRegressor,
    load_model,
)
from gpuboost.model.pruning import prune


def values_by_tree(model, x):
    """What each tree says, (n_trees, n_rows, n_channels)."""
    return np.stack(
        [
            tree.value[leaf]
            for tree, leaf in zip(model.ensemble_.trees, model.apply(x).T, strict=True)
        ]
    )


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize("state", [0, np.random.RandomState(3)])
def test_warm_start_gives_the_forest_of_one_fit(kind, state):
    x, y = data_for(kind)
    options = {"bootstrap": True, "oob_score": True, "random_state": state}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few trees: some rows are never out of bag
        once = kind(
            n_estimators=15, **options | {"random_state": pickle.loads(pickle.dumps(state))}
        ).fit(x, y)
        grown = (
            kind(n_estimators=4, warm_start=True, **options)
            .fit(x, y)
            .set_params(n_estimators=9)
            .fit(x, y)
        )
        assert grown.n_estimators_ == 9
        grown.set_params(n_estimators=15).fit(x, y)
    assert_same_trees(once, grown)
    assert once.oob_score_ == grown.oob_score_
    np.testing.assert_array_equal(once.predict(x), grown.predict(x))


def test_warm_start_needs_the_same_data_and_parameters():
    x, y = load_wine(return_X_y=True)
    model = RandomForestClassifier(n_estimators=3, warm_start=True, class_weight={0: 2}).fit(x, y)
    with pytest.warns(UserWarning, match="n_estimators=3: all trees are fitted already"):
        model.fit(x, y)
    before = model.ensemble_.trees
    model.n_estimators = 5
    changed = {
        "max_depth": (3, "max_depth is not what they were fitted with: None, now 3"),
        "random_state": (9, "random_state is not.*: 0, now 9"),
        "bootstrap": (False, "bootstrap is not.*: True, now False"),
        "max_samples": (0.5, "max_samples is not"),
        "class_weight": ("balanced", "class_weight is not"),
        "n_estimators": (2, "n_estimators must be at least 3 with warm_start=True.*got 2"),
    }
    for name, (value, message) in changed.items():
        with pytest.raises(ValueError, match=message):
            pickle.loads(pickle.dumps(model)).set_params(**{name: value}).fit(x, y)
    for args, name in (
        ((x * 2 + (x > 1), y), "X"),
        ((x[:, :4], y), "X"),
        ((x, y[::-1]), "y"),
        ((x, y, y + 1.0), "sample_weight"),
    ):
        with pytest.raises(
            ValueError, match=f"{name} is not what they were fitted with; set warm_start=False"
        ):
            model.fit(*args)
    assert model.ensemble_.trees is before and model.n_features_in_ == 13
    model.set_params(warm_start=False, max_depth=2).fit(x[:, :4], y)
    assert model.n_estimators_ == 5 and model.n_features_in_ == 4


@pytest.mark.parametrize("kind", FORESTS)
def testbag_counts_are_the_rows_of_the_trees(kind):
    x, y = data_for(kind)
    model = kind(n_estimators=4, bootstrap=True, max_samples=0.7).fit(x, y)
    for i, tree in enumerate(model.ensemble_.trees):
        counts = model.bag_counts(i)
        assert (
            counts.sum() == int(0.7 * len(y)) == tree.cover[0]
            and (counts > 0).sum() == tree.count[0]
        )
        np.testing.assert_array_equal(
            np.bincount(model.apply(x)[counts > 0, i], minlength=len(tree.left))[tree.left < 0],
            tree.count[tree.left < 0],
        )
    with pytest.raises(ValueError, match="no tree 4: the forest has trees 0 to 3"):
        model.bag_counts(4)
    with pytest.raises(ValueError, match="fitted with bootstrap=False"):
        kind(n_estimators=1, bootstrap=False).fit(x, y).bag_counts(0)


def brute_force_oob(model, x, hard=False):
    said = values_by_tree(model, x)
    if hard:
        said = np.eye(said.shape[2])[said.argmax(axis=2)]
    outside = np.stack([model.bag_counts(i) == 0 for i in range(model.n_estimators_)])
    with np.errstate(invalid="ignore"):
        return (said * outside[:, :, None]).sum(axis=0) / outside.sum(axis=0)[:, None]


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_out_of_bag_classes(kind, voting):
    x, y = load_wine(return_X_y=True)
    names = np.array(["red", "rose", "white"])[y]
    model = kind(n_estimators=30, bootstrap=True, oob_score=True, voting=voting, max_depth=2).fit(
        x, names
    )
    expected = brute_force_oob(model, x, voting == "hard")
    np.testing.assert_allclose(model.oob_decision_function_, expected)
    assert model.oob_score_ == accuracy_score(names, model.classes_[expected.argmax(axis=1)])
    loss = clone(model).set_params(oob_score=lambda a, b: np.mean(a != b)).fit(x, names)
    assert loss.oob_score_ == pytest.approx(1 - model.oob_score_)
    assert not hasattr(
        model.set_params(oob_score=False).fit(x, names), "oob_score_"
    ) and not hasattr(model, "oob_decision_function_")


@pytest.mark.parametrize("kind", REGRESSORS)
def test_out_of_bag_values(kind):
    x, y = load_diabetes(return_X_y=True)
    model = kind(n_estimators=30, bootstrap=True, oob_score=True).fit(x, y)
    expected = brute_force_oob(model, x)[:, 0]
    np.testing.assert_allclose(model.oob_prediction_, expected)
    assert model.oob_score_ == pytest.approx(r2_score(y, expected))
    absolute = clone(model).set_params(oob_score=mean_absolute_error).fit(x, y)
    assert absolute.oob_score_ == pytest.approx(mean_absolute_error(y, expected))


def test_rows_in_all_bags_have_no_estimate():
    x, y = load_diabetes(return_X_y=True)
    with pytest.warns(
        UserWarning,
        match=(
            "of 442 training rows are in the bags of all 3 trees.*raise n_estimators or "
            "lower max_samples"
        ),
    ):
        model = RandomForestRegressor(n_estimators=3, oob_score=True).fit(x, y)
    never = np.all([model.bag_counts(i) > 0 for i in range(3)], axis=0)
    np.testing.assert_array_equal(np.isnan(model.oob_prediction_), never)
    assert model.oob_score_ == pytest.approx(r2_score(y[~never], model.oob_prediction_[~never]))


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits, load_diabetes])
def test_out_of_bag_error_is_the_held_out_error(load):
    x, y = load(return_X_y=True)
    x, held_x, y, held_y = train_test_split(x, y, test_size=0.2, random_state=0)
    model = (RandomForestRegressor if load is load_diabetes else RandomForestClassifier)(
        n_estimators=100, oob_score=True
    ).fit(x, y)
    if load is load_diabetes:
        own, held = (model.oob_prediction_ - y) ** 2, (model.predict(held_x) - held_y) ** 2
    else:
        own, held = (
            model.oob_decision_function_.argmax(axis=1) != y,
            model.predict(held_x) != held_y,
        )
    assert abs(own.mean() - held.mean()) < 2 * held.std() / np.sqrt(len(held))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_soft_and_hard_voting(kind):
    x, y = load_wine(return_X_y=True)
    soft = kind(n_estimators=8, max_depth=2).fit(x, y)
    said = values_by_tree(soft, x)
    np.testing.assert_allclose(soft.predict_proba(x), said.mean(axis=0))
    np.testing.assert_array_equal(soft.predict(x), said.mean(axis=0).argmax(axis=1))
    np.testing.assert_allclose(np.exp(soft.predict_log_proba(x)), soft.predict_proba(x))
    hard = kind(n_estimators=8, max_depth=2, voting="hard").fit(x, y)
    votes = np.stack([(said.argmax(axis=2) == c).mean(axis=0) for c in range(3)], axis=1)
    np.testing.assert_array_equal(hard.predict_proba(x), votes)
    np.testing.assert_array_equal(hard.predict(x), votes.argmax(axis=1))


@pytest.mark.parametrize("kind", FORESTS)
def test_paths_lead_to_the_leaves(kind):
    x, y = data_for(kind)
    model = kind(n_estimators=3, max_depth=4).fit(x, y)
    path, begin = model.decision_path(x[:20])
    assert path.shape == (20, begin[-1]) and len(begin) == 4
    for i, tree in enumerate(model.ensemble_.trees):
        own = path[:, begin[i] : begin[i + 1]].toarray().astype(bool)
        assert own[:, 0].all() and own[np.arange(20), model.apply(x[:20])[:, i]].all()
        np.testing.assert_array_equal(own.sum(axis=1), tree.depth[model.apply(x[:20])[:, i]] + 1)
        for child in (tree.left, tree.right):
            inner = np.flatnonzero(tree.left >= 0)
            assert (own[:, child[inner]] <= own[:, inner]).all()


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("bootstrap", [True, False])
def test_quantiles_are_those_of_the_weights_of_shared_leaves(kind, bootstrap, rng):
    x, y = load_diabetes(return_X_y=True)
    x, y, new = x[:300], np.round(y[:300], -1), x[300:340]  # rounded: some targets are equal
    weight = rng.integers(0, 3, 300).astype(float)
    model = kind(n_estimators=10, bootstrap=bootstrap, min_samples_leaf=5, keep_targets=True).fit(
        x, y, weight
    )
    wanted = np.array([0.0, 0.05, 0.25, 0.5, 0.9, 1.0])
    own, leaves = model.apply(x), model.apply(new)
    expected = np.empty((len(new), len(wanted)))
    for r in range(len(new)):
        share = np.zeros(300)
        for t in range(10):
            there = weight * (own[:, t] == leaves[r, t]) * (model.bag_counts(t) if bootstrap else 1)
            share += there / there.sum() / 10
        order = np.argsort(y, kind="stable")
        order = order[share[order] > 0]
        reached = np.cumsum(share[order])[None, :] >= wanted[:, None] - 1e-12
        expected[r] = y[order][reached.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict_quantiles(new, wanted), expected)
    np.testing.assert_array_equal(model.predict_quantiles(new, 0.5), expected[:, 3])
    np.testing.assert_array_equal(
        model.set_params(n_jobs=2).predict_quantiles(new, wanted), expected
    )


def test_quantiles_cover_what_they_say(rng):
    x = rng.random((3000, 2))
    y = x[:, 0] + (0.5 + x[:, 0]) * rng.normal(size=3000)
    model = RandomForestRegressor(n_estimators=30, min_samples_leaf=20, keep_targets=True).fit(
        x[:2000], y[:2000]
    )
    low, high = model.predict_quantiles(x[2000:], [0.1, 0.9]).T
    assert abs(((low <= y[2000:]) & (y[2000:] <= high)).mean() - 0.8) < 4 * np.sqrt(
        0.8 * 0.2 / 1000
    )
    wide = x[2000:, 0] > 0.5
    assert (high - low)[wide].mean() > 1.3 * (high - low)[~wide].mean()


def test_quantiles_of_several_outputs():
    x, y = load_diabetes(return_X_y=True)
    both = RandomForestRegressor(n_estimators=5, keep_targets=True).fit(
        x, np.stack([y, -y], axis=1)
    )
    out = both.predict_quantiles(x[:30], [0.2, 0.5, 1.0])
    assert out.shape == (30, 2, 3) and both.predict_quantiles(x[:30], 0.2).shape == (30, 2)
    np.testing.assert_array_equal(out[:, 0, 2], -both.predict_quantiles(x[:30], 0.0)[:, 1])


@pytest.mark.parametrize("kind", FORESTS)
def test_several_outputs_have_scikit_learns_shapes(kind, rng):
    x = rng.random((200, 5))
    classes = kind in CLASSIFIERS
    y = (
        np.stack([x[:, 0] > 0.5, x[:, 1] > 0.3, x[:, 2] > 0.6], axis=1).astype(int)
        if classes
        else x[:, :3] ** 2
    )
    theirs = getattr(ensemble, kind.__name__)
    ours, peer = (
        k(n_estimators=40, bootstrap=True, oob_score=True, random_state=0).fit(x, y)
        for k in (kind, theirs)
    )
    for name in ("n_outputs_", "n_classes_") if classes else ("n_outputs_",):
        assert getattr(ours, name) == getattr(peer, name)
    assert ours.predict(x).shape == peer.predict(x).shape == (200, 3)
    name = "oob_decision_function_" if classes else "oob_prediction_"
    assert getattr(ours, name).shape == getattr(peer, name).shape
    assert abs(ours.oob_score_ - peer.oob_score_) < 0.1
    if classes:
        assert [p.shape for p in ours.predict_proba(x)] == [p.shape for p in peer.predict_proba(x)]
        np.testing.assert_array_equal(
            ours.predict(x)[:, 1], ours.classes_[1][ours.predict_proba(x)[1].argmax(axis=1)]
        )


def test_outputs_with_different_classes():
    x, y = load_wine(return_X_y=True)
    both = np.stack([np.array(["a", "b", "c"])[y], np.where(y > 0, "later", "first")], axis=1)
    model = RandomForestClassifier(
        n_estimators=30, oob_score=True, class_weight=[{"a": 2}, "balanced"]
    ).fit(x, both)
    assert [list(own) for own in model.classes_] == [
        ["a", "b", "c"],
        ["first", "later"],
    ] and model.n_classes_ == [3, 2]
    assert (
        model.oob_decision_function_.shape == (len(x), 3, 2)
        and not model.oob_decision_function_[:, 2, 1].any()
    )
    assert model.oob_score_ > 0.9 and (model.predict(x) == both).mean() > 0.99


def test_balanced_subsample_weighs_the_classes_of_each_bag():
    x, y = make_classification(300, 6, weights=[0.9], random_state=0)
    model = RandomForestClassifier(
        n_estimators=3, class_weight="balanced_subsample", max_depth=3
    ).fit(x, y)
    for i, tree in enumerate(model.ensemble_.trees):
        counts = model.bag_counts(i)
        weight = counts * compute_sample_weight(
            "balanced", y, indices=np.repeat(np.arange(300), counts)
        )
        leaf = model.apply(x)[:, i]
        for node in np.unique(leaf[counts > 0]):
            own = np.bincount(y, weight * (leaf == node), minlength=2)
            np.testing.assert_allclose(tree.value[node], own / own.sum())
            np.testing.assert_allclose(tree.cover[node], own.sum())
    all_rows, x, y = (
        {"n_estimators": 2, "bootstrap": False},
        x[:250],
        y[:250],
    )  # so few rows that bins do not depend on weights
    assert_same_trees(
        RandomForestClassifier(class_weight="balanced_subsample", **all_rows).fit(x, y),
        RandomForestClassifier(class_weight="balanced", **all_rows).fit(x, y),
    )


def test_bad_targets_and_quantiles():
    x, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="criterion='poisson' needs y of at least 0.*-1"):
        RandomForestRegressor(criterion="poisson").fit(x, np.where(np.arange(len(y)) == 5, -1, y))
    with pytest.raises(ValueError, match="predict_quantiles needs.*keep_targets=True"):
        RandomForestRegressor(n_estimators=1).fit(x, y).predict_quantiles(x, 0.5)
    model = RandomForestRegressor(n_estimators=1, keep_targets=True).fit(x, y)
    for bad in (1.5, [-0.1], [], [[0.5]], [np.nan]):
        with pytest.raises(
            ValueError,
            match="quantiles must be a number, or a list of numbers, between 0 and 1; got",
        ):
            model.predict_quantiles(x, bad)


@pytest.mark.parametrize("kind", FORESTS)
def test_unfitted(kind):
    x = np.ones((3, 2))
    for call in ("predict", "apply", "decision_path"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(kind(), call)(x)
    with pytest.raises(NotFittedError):
        _ = kind().feature_importances_
    with pytest.raises(NotFittedError):
        kind().bag_counts(0)


@pytest.mark.parametrize("kind", FORESTS)
def test_ccp_alpha_prunes_every_tree(kind, tmp_path):
    """As ``prune`` does; out-of-bag scores, quantiles and warm starts are of the pruned trees."""
    x, y = data_for(kind)
    options = {"n_estimators": 6, "bootstrap": True, "oob_score": True, "max_samples": 0.5}
    whole = kind(**options).fit(x, y)
    alpha = float(np.median([tree.impurity[0] for tree in whole.ensemble_.trees])) / 20
    pruned = kind(**options, ccp_alpha=alpha).fit(x, y)
    expected = whole.ensemble_.with_trees([prune(tree, alpha) for tree in whole.ensemble_.trees])
    assert pruned.fingerprint() == expected.fingerprint() != whole.fingerprint()
    assert pruned.apply(x).max() < whole.apply(x).max()
    warm = kind(**options | {"n_estimators": 3}, ccp_alpha=alpha, warm_start=True).fit(x, y)
    warm.save_model(tmp_path / "forest.gb")
    warm = load_model(tmp_path / "forest.gb").set_params(n_estimators=6).fit(x, y)
    assert warm.fingerprint() == pruned.fingerprint()
    with pytest.raises(ValueError, match="ccp_alpha is not what they were fitted with"):
        warm.set_params(ccp_alpha=0.0, n_estimators=7).fit(x, y)


@pytest.mark.parametrize("kind", FORESTS)
def test_best_is_another_name_of_exact(kind):
    x, y = data_for(kind)
    exact, best = (kind(3, splitter=name).fit(x, y) for name in ("exact", "best"))
    assert exact.fingerprint() == best.fingerprint()


def test_the_out_of_bag_curve_is_the_score_of_the_first_trees(tmp_path):
    x, y = load_wine(return_X_y=True)
    options = {"oob_score": True, "random_state": 0}
    model = RandomForestClassifier(n_estimators=45, **options).fit(x, y)
    n_trees, scores = model.oob_curve_.T
    assert len(n_trees) == 20 and n_trees[-1] == 45 and scores[-1] == model.oob_score_
    for n, score in model.oob_curve_[8:12]:  # of few trees some rows have no prediction
        part = RandomForestClassifier(n_estimators=int(n), **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert part.fit(x, y).oob_score_ == score
    model.save_model(tmp_path / "forest.gb")
    loaded = load_model(tmp_path / "forest.gb")
    np.testing.assert_array_equal(loaded.oob_curve_, model.oob_curve_)
    assert not hasattr(model.set_params(oob_score=False).fit(x, y), "oob_curve_")
