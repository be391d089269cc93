"""Growth of classical trees against naive searches, worked examples and laws."""

import numpy as np
import pytest
from cart_oracle import all_gains, fast_best, gain, impurity, numeric_cuts, subsets
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier as SklearnClassifier
from sklearn.tree import DecisionTreeRegressor as SklearnRegressor

from gpuboost import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier

pytestmark = pytest.mark.filterwarnings("ignore:criterion='misclassification'")


def pair(criterion):
    """Our estimator and scikit-learn's."""
    if criterion in ("gini", "entropy", "misclassification"):
        return DecisionTreeClassifier, SklearnClassifier
    return DecisionTreeRegressor, SklearnRegressor


def tree_of(model):
    return model.ensemble_.trees[0]


def rows_of_nodes(model, x):
    """(node, its training rows) from the root on."""
    passed = model.decision_path(x).toarray().astype(bool)
    return [(i, passed[:, i]) for i in range(passed.shape[1])]


# --- the best split, and scikit-learn's tree where it is the only one


def random_rows(kind):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 5)).astype(np.float32).astype(float)
    signal = x[:, 0] + np.sin(3 * x[:, 1]) + 0.3 * rng.normal(size=300)
    return x, signal if kind == "numbers" else np.digitize(signal, [-0.7, 0.6])


DATA = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "random classes": lambda: random_rows("classes"),
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "random numbers": lambda: random_rows("numbers"),
}
LIMITS = [
    {},
    {"max_depth": 3},
    {"min_samples_leaf": 7},
    {"max_leaf_nodes": 9, "min_samples_leaf": 3},
]


def undisputed_rows(model, x, y, weight, criterion, min_samples_leaf):
    """Rows whose way has no tie between different divisions.

    Asserts on the way that no split is better than the tree's.
    """
    tree = tree_of(model)
    tied = np.zeros(len(tree.left), bool)
    rows = rows_of_nodes(model, x)
    for i, own in rows:
        if tree.left[i] < 0:
            continue
        best, splits = fast_best(criterion, x[own], y[own], weight[own], min_samples_leaf)
        left = rows[tree.left[i]][1][own]
        scale = weight[own].sum() * tree.impurity[i]
        assert tree.gain[i] == pytest.approx(best, abs=1e-9 * scale + 1e-12)
        assert gain(criterion, y[own], weight[own], left) == pytest.approx(
            best, abs=1e-8 * scale + 1e-12
        )
        other = [s for _, s in splits if not (np.array_equal(s, left) or np.array_equal(~s, left))]
        tied[i] |= bool(other)
        tied[[tree.left[i], tree.right[i]]] = tied[i]
    return ~tied[model.apply(x)]


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("name", DATA)
def test_no_split_is_better_and_unique_splits_are_scikit_learns(name, limits, weighted):
    x, y = DATA[name]()
    x = x.astype(np.float32).astype(float)
    rng = np.random.default_rng(0)
    if name == "digits":
        x, y = x[:600], y[:600]
    weight = rng.choice([0.5, 1.0, 2.5], len(y)) if weighted else np.ones(len(y))
    for criterion in (
        ["squared_error"] if "numbers" in name or name == "diabetes" else ["gini", "entropy"]
    ):
        ours, theirs = pair(criterion)
        model = ours(criterion=criterion, **limits).fit(x, y, weight)
        their = theirs(criterion=criterion, random_state=0, **limits).fit(x, y, weight)
        clear = undisputed_rows(model, x, y, weight, criterion, limits.get("min_samples_leaf", 1))
        if "max_leaf_nodes" in limits and not clear.all():
            continue  # a tie anywhere changes what is split next
        np.testing.assert_allclose(model.predict(x)[clear], their.predict(x)[clear])
        if "random" in name and limits.get("max_depth") == 3:
            assert clear.all()
            fresh = rng.normal(size=(500, x.shape[1])).astype(np.float32).astype(float)
            np.testing.assert_allclose(model.predict(fresh), their.predict(fresh))


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_absolute_error(weighted):
    rng = np.random.default_rng(1)
    x, y = random_rows("numbers")
    weight = rng.choice([0.5, 1.0, 3.0], len(y)) if weighted else np.ones(len(y))
    limits = {"criterion": "absolute_error", "max_depth": 3, "min_samples_leaf": 5}
    model = DecisionTreeRegressor(**limits).fit(x, y, weight)
    tree = tree_of(model)
    rows = rows_of_nodes(model, x)
    for i, own in rows[:3]:
        best = max(g for g, _ in all_gains("absolute_error", x[own], y[own], weight[own], 5))
        assert tree.gain[i] == pytest.approx(best)
    for i, own in rows:
        assert tree.impurity[i] == pytest.approx(impurity("absolute_error", y[own], weight[own]))
    their = SklearnRegressor(random_state=0, **limits).fit(x, y, weight)
    np.testing.assert_allclose(model.predict(x), their.predict(x))


def test_absolute_error_with_ties():
    """Whole numbers as targets: many splits are equally good, none is better."""
    x, y = load_diabetes(return_X_y=True)
    weight = np.random.default_rng(1).choice([0.5, 1.0, 3.0], len(y))
    model = DecisionTreeRegressor(criterion="absolute_error", max_depth=3, min_samples_leaf=4).fit(
        x, y, weight
    )
    tree = tree_of(model)
    for i, own in rows_of_nodes(model, x):
        if tree.left[i] >= 0:
            best = max(g for g, _ in all_gains("absolute_error", x[own], y[own], weight[own], 4))
            assert tree.gain[i] == pytest.approx(best)


def test_poisson():
    x, signal = random_rows("numbers")
    y = np.random.default_rng(0).poisson(np.exp(signal)).astype(float)
    limits = {"criterion": "poisson", "max_depth": 3, "min_samples_leaf": 10}
    model = DecisionTreeRegressor(**limits).fit(x, y)
    tree = tree_of(model)
    for i, own in rows_of_nodes(model, x):
        assert tree.impurity[i] == pytest.approx(impurity("poisson", y[own], np.ones(own.sum())))
        if tree.left[i] >= 0:
            best = max(
                g for g, left in all_gains("poisson", x[own], y[own], np.ones(own.sum()), 10)
            )
            assert tree.gain[i] == pytest.approx(best)
    np.testing.assert_allclose(
        model.predict(x), SklearnRegressor(random_state=0, **limits).fit(x, y).predict(x)
    )


@pytest.mark.parametrize(
    "criterion", ["gini", "entropy", "misclassification", "squared_error", "absolute_error"]
)
def test_gain_is_the_decrease_of_the_stored_impurities(criterion):
    x, y = random_rows("classes")
    tree = tree_of(pair(criterion)[0](criterion=criterion, max_depth=5).fit(x, y))
    inner = tree.left >= 0
    mass = tree.cover * tree.impurity
    np.testing.assert_allclose(
        tree.gain[inner],
        (mass[inner] - mass[tree.left[inner]] - mass[tree.right[inner]]),
        atol=1e-9,
    )


@pytest.mark.parametrize("limit", [0.01, 0.05])
@pytest.mark.parametrize(
    "name",
    ["min_impurity_decrease", "min_weight_fraction_leaf", "min_samples_leaf", "min_samples_split"],
)
def test_limits_as_scikit_learn(name, limit):
    x, y = random_rows("numbers")
    weight = np.random.default_rng(0).random(len(y)) + 0.5
    both = [kind(max_depth=4, **{name: limit}).fit(x, y, weight) for kind in pair("squared_error")]
    assert both[0].get_n_leaves() == both[1].get_n_leaves()
    np.testing.assert_allclose(*[model.predict(x) for model in both])


# --- worked examples


def one_split(y, column, criterion):
    """Impurity of the root, weighted impurity of its children, gain per row."""
    model = DecisionTreeClassifier(criterion=criterion, max_depth=1).fit(
        np.asarray(column, float)[:, None], y
    )
    tree = tree_of(model)
    assert len(tree.left) == 3
    below = (tree.cover[1:] * tree.impurity[1:]).sum() / tree.cover[0]
    return tree.impurity[0], below, tree.gain[0] / tree.cover[0]


def test_gini_of_five_and_five():
    """(5, 1) and (0, 4) leave 0.167; (2, 3) and (3, 2) leave 0.48."""
    y = [0] * 5 + [1] * 5
    root, below, decrease = one_split(y, [0] * 5 + [0] + [1] * 4, "gini")
    assert root == pytest.approx(0.5) and below == pytest.approx(1 / 6) and round(below, 3) == 0.167
    assert decrease == pytest.approx(0.5 - 1 / 6)
    assert one_split(y, [0, 0, 1, 1, 1] + [0, 0, 0, 1, 1], "gini")[1] == pytest.approx(0.48)


def test_a_pure_node_can_be_worth_nothing_to_misclassification():
    """10 rows of 100 are in the minority.

    A fifth of the rows becomes a pure node of the majority.
    """
    y = np.arange(100) >= 90
    column = np.arange(100) >= 20  # 20 rows of the majority alone
    assert one_split(y, column, "misclassification")[2] == 0
    assert one_split(y, column, "gini")[2] == pytest.approx(0.005)
    assert round(one_split(y, column, "entropy")[2], 3) == 0.034


# --- nominal features

nominal_rows = st.integers(0, 10**6).map(np.random.default_rng)


def draw(rng, n_categories, n_rows, missing):
    column = rng.integers(0, n_categories, n_rows).astype(float)
    if missing:
        column[rng.random(n_rows) < 0.2] = np.nan
    return column


def root_gain(kind, column, y, weight, criterion, division):
    model = kind(
        criterion=criterion, max_depth=1, categorical_features=[0], categorical_split=division
    )
    tree = tree_of(model.fit(column[:, None], y, weight))
    return tree.gain[0]


def best_of(criterion, y, weight, divisions):
    return max((gain(criterion, y, weight, left) for left in divisions), default=0.0)


@settings(max_examples=40, deadline=None)
@given(
    nominal_rows, st.booleans(), st.sampled_from(["gini", "entropy", "squared_error", "poisson"])
)
def test_the_order_of_means_finds_the_best_division(rng, missing, criterion):
    """Fisher's order, for two classes and for numbers: as good as all subsets."""
    column = draw(rng, 6, 40, missing)
    weight = rng.choice([0.5, 1, 2], 40)
    y = (
        rng.integers(0, 2, 40)
        if criterion in ("gini", "entropy")
        else rng.integers(1, 9, 40).astype(float)
    )
    wanted = best_of(criterion, y, weight, subsets(column))
    for division in ("fisher", "exhaustive", "auto"):
        assert root_gain(
            pair(criterion)[0], column, y, weight, criterion, division
        ) == pytest.approx(wanted, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(nominal_rows, st.booleans(), st.integers(3, 7), st.sampled_from(["gini", "entropy"]))
def test_exhaustive_search_for_three_classes(rng, missing, n_categories, criterion):
    column, y, weight = (
        draw(rng, n_categories, 40, missing),
        rng.integers(0, 3, 40),
        rng.choice([0.5, 1, 2], 40),
    )
    wanted = best_of(criterion, y, weight, subsets(column))
    for division in ("exhaustive", "auto"):
        assert root_gain(
            DecisionTreeClassifier, column, y, weight, criterion, division
        ) == pytest.approx(wanted, abs=1e-9)


def test_eight_categories_of_three_classes():
    rng = np.random.default_rng(0)
    column, y, weight = draw(rng, 8, 100, False), rng.integers(0, 3, 100), np.ones(100)
    wanted = best_of("gini", y, weight, subsets(column))
    assert root_gain(
        DecisionTreeClassifier, column, y, weight, "gini", "exhaustive"
    ) == pytest.approx(wanted)
    assert root_gain(DecisionTreeClassifier, column, y, weight, "gini", "fisher") <= wanted + 1e-9


def order_of(column, y, least, smooth, middle):
    """Groups of categories in their order: those of few rows, or of the same mean, are one."""
    known = column[~np.isnan(column)]
    groups = [[c] for c in np.unique(known) if (known == c).sum() >= least]
    rare = [c for c in np.unique(known) if (known == c).sum() < least]
    rows = [np.isin(column, group) for group in [*groups, rare]]
    means = [(y[r].sum() + smooth * middle) / (r.sum() + smooth) for r in rows if r.any()]
    groups += [rare] if rare else []
    together = [[i for i, of_group in enumerate(means) if of_group == m] for m in np.unique(means)]
    return [sum((groups[i] for i in same), []) for same in together]


@settings(max_examples=40, deadline=None)
@given(
    nominal_rows, st.integers(0, 12), st.sampled_from([0.0, 3.0, 40.0]), st.sampled_from([1, 30])
)
def test_guard_rails_of_many_categories(rng, least, smooth, most):
    """Categories of few rows are one, means are smoothed, and one side has few categories."""
    column, y = rng.integers(0, 20, 90).astype(float), rng.integers(0, 2, 90)
    column[:20] = np.arange(20)  # all of them are there
    order = order_of(column, y, least, smooth, y.mean())
    prefixes = [sum(order[: k + 1], []) for k in range(len(order) - 1)]
    allowed = [np.isin(column, p) for p in prefixes if min(len(p), 20 - len(p)) <= most]
    wanted = best_of("gini", y, np.ones(90), allowed)
    model = DecisionTreeClassifier(
        max_depth=1, categorical_features=[0], min_data_per_category=max(least, 1),
        cat_smooth=smooth, max_cat_threshold=most,
    ).fit(column[:, None], y)  # fmt: skip
    tree = tree_of(model)
    assert (tree.gain[0] if len(tree.gain) > 1 else 0.0) == pytest.approx(wanted, abs=1e-9)


def test_categories_that_a_node_does_not_have_go_to_its_heavier_side():
    """As values that nobody has seen: a node says nothing of them."""
    column = np.array([0.0] * 5 + [1.0] * 20 + [2.0] * 10)
    other = np.array([0.0] * 25 + [9.0] * 10)
    y = np.array([9.0] * 5 + [1.0] * 20 + [50.0] * 10)
    model = DecisionTreeRegressor(categorical_features=[1]).fit(np.stack([other, column], 1), y)
    unseen = model.predict([[0.0, 2], [0.0, 7], [0.0, np.nan]])
    assert unseen.tolist() == [1.0] * 3  # among 0 and 1, most rows say 1


def test_a_forest_on_a_column_of_a_thousand_categories():
    """Its error is about that of their numbers; without guard rails it ranks rows worse."""
    rng = np.random.default_rng(0)
    category = (1000 * rng.random(4000) ** 2).astype(int)  # some have many rows, most have few
    x, effect = rng.normal(size=(4000, 3)), rng.normal(size=1000) / 2
    y = x[:, 0] + effect[category] + 1.5 * rng.normal(size=4000) > 1.6
    x, known, new = np.column_stack([x, category]), slice(0, 2000), slice(2000, None)
    error, area = {}, {}
    for name, options in {
        "numbers": {},
        "categories": {"categorical_features": [3]},
        "alone": {"categorical_features": [3], "min_data_per_category": 1, "cat_smooth": 0},
    }.items():
        model = RandomForestClassifier(n_estimators=30, **options).fit(x[known], y[known])
        error[name] = np.mean(model.predict(x[new]) != y[new])
        area[name] = roc_auc_score(y[new], model.predict_proba(x[new])[:, 1])
    assert error["categories"] < error["numbers"] + 0.01
    assert area["categories"] > area["alone"] + 0.03


@settings(max_examples=25, deadline=None)
@given(nominal_rows, st.booleans(), st.sampled_from(["gini", "squared_error", "absolute_error"]))
def test_one_category_against_the_rest(rng, missing, criterion):
    """The missing value may be the one, too: all categories are on the other side then."""
    column, y, weight = draw(rng, 5, 30, missing), rng.integers(0, 3, 30).astype(float), np.ones(30)
    n_categories = len(np.unique(column[~np.isnan(column)]))
    wanted = best_of(criterion, y, weight, subsets(column, sizes=[1, n_categories]))
    assert root_gain(
        pair(criterion)[0], column, y, weight, criterion, "one_vs_rest"
    ) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("division", ["exhaustive", "fisher"])
def test_absolute_error_of_categories(division):
    """Every way is as good as the naive search; the order of means cannot be better."""
    rng = np.random.default_rng(5)
    column, y, weight = draw(rng, 5, 60, True), rng.normal(size=60), np.ones(60)
    found = root_gain(DecisionTreeRegressor, column, y, weight, "absolute_error", division)
    wanted = best_of("absolute_error", y, weight, subsets(column))
    assert found == pytest.approx(wanted) if division == "exhaustive" else found <= wanted + 1e-9


@pytest.mark.parametrize("n_categories", [70, 300])
def test_many_categories(n_categories):
    """Sets of several words; codes of more than a byte."""
    rng = np.random.default_rng(0)
    column = rng.integers(0, n_categories, 3000).astype(float)
    level = rng.normal(size=n_categories)
    y = level[column.astype(int)]
    model = DecisionTreeRegressor(categorical_features=[0], min_data_per_category=1)
    predicted = model.fit(column[:, None], y).predict(column[:, None])
    np.testing.assert_allclose(predicted, y, rtol=1e-12)


# --- missing values


@settings(max_examples=40, deadline=None)
@given(nominal_rows, st.sampled_from(["gini", "squared_error"]))
def test_direction_of_missing_values(rng, criterion):
    column = rng.integers(0, 6, 30).astype(float)
    column[rng.random(30) < 0.3] = np.nan
    y, weight = rng.integers(0, 3, 30), np.ones(30)
    tree = tree_of(pair(criterion)[0](criterion=criterion, max_depth=1).fit(column[:, None], y))
    assert tree.gain[0] == pytest.approx(
        best_of(criterion, y.astype(float), weight, numeric_cuts(column)), abs=1e-9
    )


@pytest.mark.parametrize("splitter", ["exact", "hist", "random"])
def test_values_left_missing_right(splitter):
    """Whether a value is known may be all there is to know."""
    x = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan], [np.nan]])
    y = [0, 0, 0, 1, 1, 1]
    model = DecisionTreeClassifier(splitter=splitter).fit(x, y)
    np.testing.assert_array_equal(model.predict(x), y)
    if splitter != "random":
        assert tree_of(model).threshold[0] == np.inf and not tree_of(model).missing_left[0]
        np.testing.assert_array_equal(model.predict([[1e300], [np.nan]]), [0, 1])


@pytest.mark.parametrize("splitter", ["exact", "hist", "random", "midpoint"])
def test_a_column_without_values_is_never_asked(splitter):
    rng = np.random.default_rng(0)
    x = np.column_stack([np.full(50, np.nan), rng.normal(size=50)])
    model = DecisionTreeRegressor(splitter=splitter).fit(x, x[:, 1])
    assert set(tree_of(model).feature) <= {-1, 1}
    leaf = DecisionTreeRegressor(splitter=splitter).fit(x[:, :1], x[:, 1])
    assert leaf.get_n_leaves() == 1 and leaf.predict(x[:1, :1]) == pytest.approx(x[:, 1].mean())


def test_missing_values_not_seen_in_training_go_to_the_heavier_side():
    x = np.array([[1.0], [2.0], [2.0], [2.0]])
    model = DecisionTreeRegressor().fit(x, [1, 5, 5, 5])
    assert model.predict([[np.nan]]) == 5
    model = DecisionTreeRegressor().fit(x, [1, 5, 5, 5], [9, 1, 1, 1])
    assert model.predict([[np.nan]]) == 1


# --- splitters


def cells(tree, lowest, highest):
    """Borders of every node's cell."""
    low, high = np.tile(lowest, (len(tree.left), 1)), np.tile(highest, (len(tree.left), 1))
    for i in np.flatnonzero(tree.left >= 0):
        for child in (tree.left[i], tree.right[i]):
            low[child], high[child] = low[i], high[i]
        high[tree.left[i], tree.feature[i]] = low[tree.right[i], tree.feature[i]] = tree.threshold[
            i
        ]
    return low, high


def test_midpoint_splits_are_the_middles_of_cells():
    x, y = random_rows("numbers")
    tree = tree_of(DecisionTreeRegressor(splitter="midpoint", max_depth=6).fit(x, y))
    low, high = cells(tree, x.min(axis=0), x.max(axis=0))
    for i in np.flatnonzero(tree.left >= 0):
        f = tree.feature[i]
        assert tree.threshold[i] == pytest.approx((low[i, f] + high[i, f]) / 2)


def test_midpoint_draws_features_by_their_probabilities():
    x, y = random_rows("numbers")
    wanted = np.array([4, 3, 0, 2, 1])
    drawn = np.zeros(5)
    for seed in range(400):
        model = DecisionTreeRegressor(
            splitter="midpoint", max_depth=1, feature_probabilities=wanted, random_state=seed
        ).fit(x, y)
        drawn[tree_of(model).feature[0]] += 1
    np.testing.assert_allclose(drawn / 400, wanted / 10, atol=0.08)
    assert drawn[2] == 0


def test_midpoint_does_not_look_at_y():
    x, y = random_rows("numbers")
    one, other = (
        tree_of(DecisionTreeRegressor(splitter="midpoint", max_depth=4).fit(x, t))
        for t in (y, y[::-1])
    )
    np.testing.assert_array_equal(one.threshold, other.threshold)
    np.testing.assert_array_equal(one.feature, other.feature)


def test_random_thresholds_lie_in_the_range_of_the_node():
    x, y = random_rows("numbers")
    model = DecisionTreeRegressor(splitter="random", min_samples_leaf=3).fit(x, y)
    tree = tree_of(model)
    for i, own in rows_of_nodes(model, x):
        if tree.left[i] >= 0:
            column = x[own, tree.feature[i]]
            assert column.min() <= tree.threshold[i] < column.max()
    first = {
        DecisionTreeRegressor(splitter="random", max_depth=1, random_state=s)
        .fit(x, y)
        .fingerprint()
        for s in range(5)
    }
    assert len(first) == 5


def test_random_features_of_a_node():
    """One feature of five: by chance, and every feature has its turn.

    Constant ones do not count.
    """
    x, y = random_rows("numbers")
    x = np.column_stack([np.zeros(len(x)), x])
    chosen = [
        tree_of(
            DecisionTreeRegressor(max_features=1, max_depth=1, random_state=s).fit(x, y)
        ).feature[0]
        for s in range(60)
    ]
    assert set(chosen) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("name", ["iris", "digits", "random numbers"])
def test_hist_with_few_distinct_values_is_exact(name):
    x, y = DATA[name]()
    if name == "random numbers":
        x = np.round(x, 1)
    kind = DecisionTreeRegressor if name == "random numbers" else DecisionTreeClassifier
    one, other = (kind(splitter=splitter).fit(x[:500], y[:500]) for splitter in ("exact", "hist"))
    assert one.fingerprint() == other.fingerprint()


# --- weights and laws

KINDS = [
    (criterion, splitter)
    for criterion in ("gini", "misclassification", "squared_error", "absolute_error", "poisson")
    for splitter in ("exact", "hist", "random", "midpoint")
]


def grid_rows(seed=0):
    """Values in quarters: all sums are exact. Missing values; a nominal column."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-8, 9, (200, 4)) / 4.0
    x[rng.random((200, 4)) < 0.1] = np.nan
    x[:, 3] = rng.integers(0, 5, 200)
    y = np.digitize(
        np.nan_to_num(x[:, 0]) + (x[:, 3] == 2) + rng.normal(size=200) / 2, [-1, 0, 1, 2]
    )
    return x, y


@pytest.mark.parametrize(("criterion", "splitter"), KINDS)
def test_weights_are_repeated_rows_and_zero_is_absence(criterion, splitter):
    x, y = grid_rows()
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    options = {"categorical_features": [3]} if splitter != "midpoint" else {}
    model = pair(criterion)[0](
        criterion=criterion,
        splitter=splitter,
        max_depth=6,
        max_features=None,
        random_state=3,
        **options,
    )
    test, _ = grid_rows(9)
    weighted = model.fit(x, y, weight).predict(test)
    present = model.fit(x[weight > 0], y[weight > 0], weight[weight > 0])
    fingerprint = present.fingerprint()
    np.testing.assert_array_equal(present.predict(test), weighted)
    repeated = model.fit(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(repeated.predict(test), weighted, rtol=1e-12)
    scaled = model.fit(x, y, 4.0 * weight)
    assert scaled.fingerprint() == fingerprint


@pytest.mark.parametrize(("criterion", "splitter"), KINDS)
def test_laws(criterion, splitter):
    """Counts and weights of children add up; values are what the rows say.

    Children stand side by side behind their parent.
    """
    x, y = grid_rows()
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    options = {"categorical_features": [3]} if splitter != "midpoint" else {}
    model = pair(criterion)[0](criterion=criterion, splitter=splitter, max_depth=7, **options).fit(
        x, y, weight
    )
    tree = tree_of(model)
    inner = np.flatnonzero(tree.left >= 0)
    np.testing.assert_array_equal(tree.right[inner], tree.left[inner] + 1)
    assert (
        (tree.left[inner] > inner).all()
        and tree.count[0] == len(y)
        and tree.cover[0] == weight.sum()
    )
    for what in (tree.count, tree.cover):
        np.testing.assert_allclose(what[inner], what[tree.left[inner]] + what[tree.right[inner]])
    assert (tree.gain >= 0).all() and (tree.impurity >= 0).all() and np.isfinite(tree.value).all()
    for i, own in rows_of_nodes(model, x):
        assert tree.count[i] == own.sum() and tree.cover[i] == pytest.approx(weight[own].sum())
        if criterion in ("gini", "misclassification"):
            wanted = [weight[own][y[own] == k].sum() / weight[own].sum() for k in np.unique(y)]
        elif criterion == "absolute_error":
            halves = [
                weight[own][y[own] < tree.value[i, 0]].sum(),
                weight[own][y[own] > tree.value[i, 0]].sum(),
            ]
            assert max(halves) <= weight[own].sum() / 2
            continue
        else:
            wanted = [np.average(y[own], weights=weight[own])]
        np.testing.assert_allclose(tree.value[i], wanted, rtol=1e-9, atol=1e-12)


def test_threads_change_nothing():
    x, y = load_digits(return_X_y=True)
    assert (
        len(
            {
                DecisionTreeClassifier(n_jobs=n, max_features="sqrt").fit(x, y).fingerprint()
                for n in (1, 2)
            }
        )
        == 1
    )


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("exponent", [-300, -100, -20, 20, 60, 200])
def test_units_of_weights_and_targets_do_not_matter(criterion, exponent):
    x, y = load_diabetes(return_X_y=True)
    model, unit = DecisionTreeRegressor(criterion=criterion, max_depth=4), 2.0**exponent
    wanted, predicted = model.fit(x, y).fingerprint(), model.predict(x)
    assert model.fit(x, y, np.full(len(y), unit)).fingerprint() == wanted
    np.testing.assert_allclose(model.fit(x, y * unit).predict(x) / unit, predicted, rtol=1e-12)


def test_heavy_rows_keep_the_precision_of_their_targets():
    """Weights like amounts of money."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 3)).astype(np.float32)
    y, weight = 1000 + 1e-3 * x[:, 0] + 1e-5 * rng.normal(size=2000), 1e7 * rng.random(2000)
    model = DecisionTreeRegressor(max_depth=3).fit(x, y, weight)
    assert model.score(x, y) > 0.9
    np.testing.assert_allclose(
        tree_of(model).impurity[0], impurity("squared_error", y, weight), rtol=1e-9
    )
    best, _ = fast_best("squared_error", x.astype(float), y - 1000, weight)
    np.testing.assert_allclose(tree_of(model).gain[0], best, rtol=1e-6)


@pytest.mark.parametrize("splitter", ["exact", "hist"])
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_with_missing_values_gains_are_what_the_children_take_off_the_impurity(kind, splitter):
    """In nodes of all sizes.

    Sums of codes are found in one way in small ones, in others in middling and large ones.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 4))
    y = x[:, 0] * x[:, 1] + rng.normal(size=1500)
    x[rng.random(x.shape) < 0.3] = np.nan
    tree = tree_of(kind(splitter=splitter).fit(x, y > 0 if kind is DecisionTreeClassifier else y))
    inner = tree.left >= 0
    loss = tree.cover * tree.impurity
    expected = loss[inner] - loss[tree.left[inner]] - loss[tree.right[inner]]
    np.testing.assert_allclose(tree.gain[inner], expected, rtol=1e-6, atol=1e-6)
