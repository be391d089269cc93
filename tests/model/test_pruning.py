"""Pruning against scikit-learn, and against a look at every subtree."""

import numpy as np
import pytest
from cart_oracle import impurity
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier as SklearnClassifier
from sklearn.tree import DecisionTreeRegressor as SklearnRegressor

from gpuboost import DecisionTreeClassifier, DecisionTreeRegressor
from gpuboost.model.pruning import CLASS_RISKS, class_risk, cut_back, prune, weakest_links


def continuous_rows(classes, n_rows=400, seed=0):
    """Splits of nodes that are not small have no ties here."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 4)).astype(np.float32).astype(float)
    signal = x[:, 0] * x[:, 1] + x[:, 2] + 0.5 * rng.normal(size=n_rows)
    return x, np.digitize(signal, [-1, 1]) if classes else signal


def tree_of(model):
    return model.ensemble_.trees[0]


def subtrees(tree, node=0):
    """All prunings of a subtree, each as the set of its leaves."""
    yield frozenset([node])
    if tree.left[node] >= 0:
        for left in subtrees(tree, tree.left[node]):
            for right in subtrees(tree, tree.right[node]):
                yield left | right


CRITERIA = [
    (DecisionTreeClassifier, SklearnClassifier, "gini"),
    (DecisionTreeClassifier, SklearnClassifier, "entropy"),
    (DecisionTreeRegressor, SklearnRegressor, "squared_error"),
    (DecisionTreeRegressor, SklearnRegressor, "absolute_error"),
]


@pytest.mark.parametrize(
    ("ours", "theirs", "criterion"), CRITERIA, ids=lambda v: v if isinstance(v, str) else ""
)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_path_and_trees_are_scikit_learns(ours, theirs, criterion, weighted):
    x, y = continuous_rows(ours is DecisionTreeClassifier, seed=5)  # no ties in any of these trees
    weight = np.random.default_rng(1).integers(500, 1500, len(y)) / 1024 if weighted else None
    options = {"criterion": criterion, "min_samples_leaf": 10}
    path, wanted = (
        kind(**options, **more).cost_complexity_pruning_path(x, y, weight)
        for kind, more in ((ours, {}), (theirs, {"random_state": 0}))
    )
    np.testing.assert_allclose(path.ccp_alphas, wanted.ccp_alphas, rtol=0, atol=1e-9)
    np.testing.assert_allclose(path.impurities, wanted.impurities, rtol=0, atol=1e-9)
    assert (
        len(path.ccp_alphas) > 8
        and path.ccp_alphas[0] == 0
        and (np.diff(path.ccp_alphas) >= 0).all()
    )
    for alpha in (path.ccp_alphas[1:-1] + path.ccp_alphas[2:])[::4] / 2:
        one, other = (
            ours(ccp_alpha=alpha, **options).fit(x, y, weight),
            theirs(ccp_alpha=alpha, random_state=0, **options).fit(x, y, weight),
        )
        assert (
            one.get_n_leaves() == other.get_n_leaves()
            and one.get_depth() == other.get_depth()
            and one.ccp_alpha_ == alpha
        )
        np.testing.assert_allclose(one.predict(x), other.predict(x))
        if weighted:  # else two features may divide a small node equally well
            np.testing.assert_allclose(
                one.feature_importances_, other.feature_importances_, atol=1e-9
            )
    assert ours(ccp_alpha=path.ccp_alphas[-1] * 2, **options).fit(x, y, weight).get_n_leaves() == 1


def test_no_subtree_is_cheaper():
    """impurity + alpha * leaves of all subtrees; the smallest of the cheapest is the one."""
    tree = tree_of(
        DecisionTreeRegressor(max_depth=4, min_samples_leaf=5).fit(*continuous_rows(False))
    )
    impurity = tree.cover * tree.impurity / tree.cover[0]
    everything = list(subtrees(tree))
    assert len(everything) > 100
    path = weakest_links(tree)
    for alpha in np.concatenate([path.alphas[1:], np.geomspace(1e-3, 1, 20)]):
        cost = min(
            (sum(impurity[i] for i in leaves) + alpha * len(leaves), len(leaves))
            for leaves in everything
        )[0]
        pruned = prune(tree, alpha)
        leaves = pruned.left < 0
        own = (pruned.cover * pruned.impurity)[leaves].sum() / pruned.cover[
            0
        ] + alpha * leaves.sum()
        assert own == pytest.approx(cost, rel=1e-12)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("risk", CLASS_RISKS)
def test_no_subtree_is_cheaper_by_another_risk(criterion, risk):
    """All subtrees, their risk counted from the rows; the smallest of the cheapest is the one."""
    x, y = continuous_rows(True, 160)
    weight = np.random.default_rng(3).integers(1, 4, len(y)).astype(float)
    options = {"criterion": criterion, "max_depth": 4, "min_samples_leaf": 2, "pruning_risk": risk}
    full = DecisionTreeClassifier(**options).fit(x, y, weight)
    passed = full.decision_path(x).toarray().astype(bool)
    cost_of = np.array(
        [weight[p].sum() * impurity(risk, y[p], weight[p]) for p in passed.T]
    ) / weight.sum()  # fmt: skip
    everything = list(subtrees(tree_of(full)))
    path = full.cost_complexity_pruning_path(x, y, weight)
    assert len(everything) > 20 and path.impurities[-1] == pytest.approx(cost_of[0])
    assert path.impurities[0] == pytest.approx(cost_of[tree_of(full).left < 0].sum())
    alphas = np.unique(path.ccp_alphas)
    for alpha in np.append((alphas[1:] + alphas[:-1]) / 2, alphas[-1] * 2):
        wanted = min(
            (round(sum(cost_of[i] for i in leaves) + alpha * len(leaves), 10), len(leaves))
            for leaves in everything
        )
        model = DecisionTreeClassifier(ccp_alpha=alpha, **options).fit(x, y, weight)
        leaves = model.decision_path(x).toarray()[:, tree_of(model).left < 0].astype(bool)
        own = sum(weight[p].sum() * impurity(risk, y[p], weight[p]) for p in leaves.T)
        assert model.get_n_leaves() == wanted[1]
        assert own / weight.sum() + alpha * wanted[1] == pytest.approx(wanted[0], abs=1e-9)


@pytest.mark.parametrize("criterion", CLASS_RISKS)
@pytest.mark.filterwarnings("ignore:criterion='misclassification'")
def test_the_criterion_as_the_risk_changes_nothing(criterion):
    x, y = continuous_rows(True)
    both = np.column_stack([y, x[:, 3] > 0])
    for target in (y, both):
        model = DecisionTreeClassifier(criterion=criterion, max_depth=6).fit(x, target)
        tree = tree_of(model)
        np.testing.assert_allclose(
            class_risk(tree, criterion, model.ensemble_.first_channel), tree.impurity, atol=1e-12
        )


def test_cross_validation_by_another_risk():
    x, y = continuous_rows(True, 200, seed=2)
    options = {"ccp_alpha": "cv", "min_samples_leaf": 5}
    model = DecisionTreeClassifier(pruning_risk="misclassification", **options).fit(x, y)
    path = DecisionTreeClassifier(
        pruning_risk="misclassification", min_samples_leaf=5
    ).cost_complexity_pruning_path(x, y)
    assert model.ccp_alpha_ in path.ccp_alphas
    assert model.ccp_alpha_ != DecisionTreeClassifier(**options).fit(x, y).ccp_alpha_
    tree = tree_of(DecisionTreeClassifier(min_samples_leaf=5).fit(x, y))
    risk = class_risk(tree, "misclassification", model.ensemble_.first_channel)
    assert model.get_n_leaves() == prune(tree, model.ccp_alpha_, risk).n_leaves


def test_other_risks_are_refused():
    with pytest.raises(ValueError, match="pruning_risk must be one of .*; got 'squared_error'"):
        DecisionTreeClassifier(pruning_risk="squared_error").fit(*continuous_rows(True))


def test_path_is_nested_and_ends_at_the_root():
    tree = tree_of(DecisionTreeClassifier().fit(*load_breast_cancer(return_X_y=True)))
    path = weakest_links(tree)
    assert len(path.alphas) == len(path.impurities) == len(path.nodes) + 1
    assert (
        path.nodes[-1] == 0
        and path.impurities[-1] == pytest.approx(tree.impurity[0])
        and path.step(0) == 0
    )
    sizes = [cut_back(tree, path.nodes[:k]).n_leaves for k in range(len(path.alphas))]
    assert sizes[0] == tree.n_leaves and sizes[-1] == 1 and (np.diff(sizes) < 0).all()
    assert (np.diff(path.impurities) >= -1e-15).all()


def test_a_pruned_tree_is_a_tree():
    """Children side by side behind their parents; what is left says what it said."""
    rng = np.random.default_rng(0)
    x, y = continuous_rows(True)
    x[:, 3] = rng.integers(0, 6, len(x))
    x[rng.random(x.shape) < 0.05] = np.nan
    model = DecisionTreeClassifier(categorical_features=[3]).fit(x, y + 3 * (x[:, 3] == 2))
    before, passed = tree_of(model), model.decision_path(x).toarray()
    nodes = rng.choice(np.flatnonzero(before.left >= 0), 10)
    after = cut_back(before, nodes)
    inner = np.flatnonzero(after.left >= 0)
    np.testing.assert_array_equal(after.right[inner], after.left[inner] + 1)
    assert (
        (after.left[inner] > inner).all()
        and (after.feature[after.left < 0] == -1).all()
        and (after.gain[after.left < 0] == 0).all()
    )
    assert sorted(np.concatenate([after.left[inner], after.right[inner]])) == list(
        range(1, len(after.left))
    )
    stops = np.array(
        [
            next((i for i in np.flatnonzero(row) if i in nodes), np.flatnonzero(row)[-1])
            for row in passed
        ]
    )
    model.ensemble_.trees[0] = after
    model.ensemble_.__dict__.pop("walk_arrays", None)
    np.testing.assert_array_equal(model.predict_proba(x), before.value[stops])


@pytest.mark.parametrize(
    ("kind", "absolute"),
    [
        (DecisionTreeClassifier, False),
        (DecisionTreeRegressor, False),
        (DecisionTreeRegressor, True),
    ],
)
def test_alpha_by_cross_validation(kind, absolute):
    """Against trees that are fitted and pruned one by one."""
    x, y = continuous_rows(kind is DecisionTreeClassifier, 200, seed=2)
    weight = np.random.default_rng(3).integers(0, 3, len(y)).astype(float)
    options = {"min_samples_leaf": 10, **({"criterion": "absolute_error"} if absolute else {})}
    model = kind(ccp_alpha="cv", cv=KFold(4), **options).fit(x, y, weight)
    alphas = np.unique(kind(**options).cost_complexity_pruning_path(x, y, weight).ccp_alphas)
    losses = []
    for k, alpha in enumerate(alphas):
        price = np.sqrt(alpha * alphas[k + 1]) if k + 1 < len(alphas) else 1e9
        total = 0.0
        for rest, rows in KFold(4).split(x):
            said = (
                kind(ccp_alpha=max(price, 1e-300), **options)
                .fit(x[rest], y[rest], weight[rest])
                .predict(x[rows])
            )
            wrong = (
                said != y[rows]
                if kind is DecisionTreeClassifier
                else np.abs(said - y[rows])
                if absolute
                else (said - y[rows]) ** 2
            )
            total += (weight[rows] * wrong).sum()
        losses.append(total)
    best = np.flatnonzero(np.array(losses) <= min(losses) * (1 + 1e-9))[-1]
    assert model.ccp_alpha_ == alphas[best] and best > 0
    assert (
        model.fingerprint()
        == kind(ccp_alpha=alphas[best], **options).fit(x, y, weight).fingerprint()
    )


def test_cross_validation_takes_the_simplest_among_equals():
    """A target that has nothing to do with the features: the root is as good as anything."""
    x = np.random.default_rng(0).normal(size=(100, 3))
    assert DecisionTreeClassifier(ccp_alpha="cv").fit(x, np.zeros(100)).get_n_leaves() == 1
    noise = np.random.default_rng(1).random(100) < 0.2
    assert DecisionTreeClassifier(ccp_alpha="cv").fit(x, noise).get_n_leaves() == 1
    x, y = load_diabetes(return_X_y=True)
    full, chosen = (
        DecisionTreeRegressor().fit(x[:300], y[:300]),
        DecisionTreeRegressor(ccp_alpha="cv").fit(x[:300], y[:300]),
    )
    assert (
        chosen.get_n_leaves() < 30
        and chosen.score(x[300:], y[300:]) > full.score(x[300:], y[300:]) + 0.2
    )


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_reduced_error_is_the_best_subtree_for_the_validation_rows(kind):
    x, y = continuous_rows(kind is DecisionTreeClassifier)
    weight = np.random.default_rng(3).integers(0, 3, 200).astype(float)
    model = kind(max_depth=4).fit(x[:200], y[:200])
    tree, passed = tree_of(model), model.decision_path(x[200:]).toarray().astype(bool)
    if kind is DecisionTreeClassifier:
        loss = np.array(
            [
                (weight[p] * (tree.value[i].argmax() != y[200:][p])).sum()
                for i, p in enumerate(passed.T)
            ]
        )
    else:
        loss = np.array(
            [
                (weight[p] * (tree.value[i, 0] - y[200:][p]) ** 2).sum()
                for i, p in enumerate(passed.T)
            ]
        )
    wanted = min((round(sum(loss[i] for i in leaves), 9), len(leaves)) for leaves in subtrees(tree))
    pruned = model.prune_reduced_error(x[200:], y[200:], weight)
    assert pruned is model and model.get_n_leaves() == wanted[1] < tree.n_leaves
    said = model.predict(x[200:])
    own = (
        weight * ((said != y[200:]) if kind is DecisionTreeClassifier else (said - y[200:]) ** 2)
    ).sum()
    assert own == pytest.approx(wanted[0])
    again = model.fingerprint()
    assert model.prune_reduced_error(x[200:], y[200:], weight).fingerprint() == again


def test_reduced_error_prunes_ties_and_what_no_row_reaches():
    x = np.arange(8.0)[:, None]
    model = DecisionTreeClassifier().fit(x, [0, 0, 0, 1, 1, 1, 0, 1])
    assert model.get_n_leaves() == 4
    model.prune_reduced_error([[0.0], [4.0]], [0, 1])
    assert model.get_n_leaves() == 2 and model.get_depth() == 1
    with pytest.raises(
        ValueError, match="y_val has a class that the training data does not have: 7"
    ):
        model.prune_reduced_error([[0.0]], [7])
    assert model.prune_reduced_error([[0.0]], [0]).get_n_leaves() == 1


def test_reduced_error_of_several_outputs():
    x, y = continuous_rows(True)
    both = np.column_stack([y, np.array(["a", "b"])[(x[:, 3] > 0).astype(int)]]).astype(object)
    model = DecisionTreeClassifier().fit(x[:200], both[:200])
    before = (model.predict(x[200:]) == both[200:]).mean()
    n_leaves = model.get_n_leaves()
    model.prune_reduced_error(x[200:], both[200:])
    assert (
        model.get_n_leaves() < n_leaves and (model.predict(x[200:]) == both[200:]).mean() >= before
    )
    with pytest.raises(ValueError, match="y_val must have 2 outputs"):
        model.prune_reduced_error(x[200:], y[200:])
