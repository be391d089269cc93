"""Training as a whole: options do what they say, alone and together."""

import numpy as np
import pytest
import reference
from invariants import check_model

from gpuboost import GPUBoostClassifier, GPUBoostRegressor

POLICIES = ["depthwise", "leafwise", "symmetric"]


def make(seed=0, n=800, n_features=6, classes=0, missing=True):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features))
    signal = x[:, 0] + 2 * (x[:, 1] > 0.3) * x[:, 2] + 0.3 * rng.normal(size=n)
    if missing:
        x[rng.random(x.shape) < 0.1] = np.nan
    if not classes:
        return x, signal
    return x, np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes))


def trees(model):
    return model.ensemble_.trees


def depth_of(tree):
    depth = np.zeros(len(tree.left), int)
    for i in np.flatnonzero(tree.left >= 0):
        depth[[tree.left[i], tree.right[i]]] = depth[i] + 1
    return depth.max()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("classes", [0, 2, 4])
def test_predictions_are_the_sum_of_the_trees(policy, classes):
    x, y = make(classes=classes)
    kind = GPUBoostClassifier if classes else GPUBoostRegressor
    model = check_model(kind(n_estimators=4, grow_policy=policy).fit(x, y), len(x))
    k = model.ensemble_.n_channels
    raw = np.repeat(model.ensemble_.base_score[:, None], len(x), axis=1)
    for t, tree in enumerate(trees(model)):
        raw[t % k] += reference.predict_tree(tree, x)
    predicted = model.predict(x) if not classes else model.decision_function(x).T.reshape(k, -1)
    np.testing.assert_array_equal(np.atleast_2d(predicted), raw)
    one_by_one = [model.predict(x[i : i + 1])[0] for i in range(100)]
    np.testing.assert_array_equal(one_by_one, model.predict(x)[:100])
    np.testing.assert_array_equal(model.predict(np.asfortranarray(x)), model.predict(x))


def test_large_trees_predict_alike():
    """More leaves than a byte can count: rows walk instead of being labelled."""
    x, y = make(n=3000)
    model = GPUBoostRegressor(
        n_estimators=2, grow_policy="leafwise", max_leaves=700, min_child_weight=1
    ).fit(x, y)
    assert trees(model)[0].n_leaves > 256
    expected = sum(
        (reference.predict_tree(tree, x) for tree in trees(model)),
        start=model.ensemble_.base_score[0],
    )
    np.testing.assert_array_equal(model.predict(x), expected)


@pytest.mark.parametrize("policy", POLICIES)
def test_leaf_values_are_newton_steps(policy):
    x, y = make(missing=False)
    model = GPUBoostRegressor(
        n_estimators=1, grow_policy=policy, learning_rate=0.3, reg_lambda=2.0, reg_alpha=1.0
    ).fit(x, y)
    (tree,) = trees(model)
    leaf = reference.predict_tree(tree, x)
    for v in np.unique(leaf):
        g = (y.mean() - y[leaf == v]).sum()
        t = np.sign(g) * max(abs(g) - 1.0, 0)
        assert v == pytest.approx(-0.3 * t / ((leaf == v).sum() + 2.0), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
def test_limits(policy):
    x, y = make(n=2000)
    model = GPUBoostRegressor(n_estimators=3, grow_policy=policy, max_depth=3).fit(x, y)
    assert max(depth_of(t) for t in trees(model)) == 3
    model = GPUBoostRegressor(n_estimators=3, grow_policy=policy, min_samples_leaf=50).fit(x, y)
    assert min(t.count.min() for t in trees(model)) >= 50
    x, label = make(n=2000, classes=2)
    model = GPUBoostClassifier(
        n_estimators=3, grow_policy=policy, min_samples_leaf=50, min_child_weight=0
    ).fit(x, label)
    assert 50 <= min(t.count.min() for t in trees(model)) < 100
    model = GPUBoostClassifier(n_estimators=3, grow_policy=policy, min_child_weight=20).fit(
        x, label
    )
    assert min(t.cover.min() for t in trees(model)) >= 20 * 0.999
    model = GPUBoostRegressor(n_estimators=3, grow_policy=policy, min_split_gain=50.0).fit(x, y)
    if policy != "symmetric":
        assert min(t.gain[t.left >= 0].min() for t in trees(model) if t.n_leaves > 1) > 50
    model = GPUBoostRegressor(
        n_estimators=3, grow_policy=policy, max_delta_step=0.1, learning_rate=0.5
    ).fit(x, y)
    assert max(abs(t.value[t.left < 0]).max() for t in trees(model)) <= 0.05
    if policy != "symmetric":
        model = GPUBoostRegressor(n_estimators=3, grow_policy=policy, max_leaves=5).fit(x, y)
        assert {t.n_leaves for t in trees(model)} == {5}


def test_symmetric_trees_ask_one_question_a_level():
    x, y = make(n=2000, missing=False)
    model = GPUBoostRegressor(
        n_estimators=5, grow_policy="symmetric", max_depth=4, min_child_weight=0
    ).fit(x, y)
    for tree in trees(model):
        level = np.zeros(len(tree.left), int)
        for i in np.flatnonzero(tree.left >= 0):
            level[[tree.left[i], tree.right[i]]] = level[i] + 1
        for d in range(4):
            asked = {
                (tree.feature[i], tree.threshold[i])
                for i in np.flatnonzero((tree.left >= 0) & (level == d))
            }
            assert len(asked) <= 2  # a node too small for a level's question waits for the next


@pytest.mark.parametrize("policy", POLICIES)
def test_column_sampling_by_tree_level_and_node(policy):
    x, y = make(n=1500, n_features=20)
    model = GPUBoostRegressor(
        n_estimators=30, max_depth=4, grow_policy=policy, colsample_bytree=0.25
    ).fit(x, y)
    used = [set(t.feature[t.left >= 0]) for t in trees(model)]
    assert max(map(len, used)) <= 5
    assert len(set.union(*used)) > 15  # not the same five each time
    one = GPUBoostRegressor(
        n_estimators=10, max_depth=4, grow_policy=policy, colsample_bylevel=0.05
    ).fit(x, y)
    for tree in trees(one):
        assert len(set(tree.feature[tree.left >= 0])) <= 4  # one feature for each level
    everything = GPUBoostRegressor(
        n_estimators=10,
        max_depth=4,
        grow_policy=policy,
        colsample_bytree=0.5,
        colsample_bylevel=0.5,
        colsample_bynode=0.5,
    ).fit(x, y)
    check_model(everything)
    for tree in trees(everything):
        assert len(set(tree.feature[tree.left >= 0])) <= 10


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_everything_together(policy, classes):
    """Weights, missing values, row and column sampling, small hessians.

    Eval sets and early stopping at once.
    """
    x, y = make(n=1200, n_features=8, classes=classes)
    weight = np.random.default_rng(1).exponential(size=len(y)) * (np.arange(len(y)) % 7 > 0)
    kind = GPUBoostClassifier if classes else GPUBoostRegressor
    model = kind(
        n_estimators=60, learning_rate=0.3, grow_policy=policy, max_depth=4, subsample=0.7,
        colsample_bytree=0.8, colsample_bylevel=0.8, colsample_bynode=0.8, reg_alpha=0.1,
        min_child_weight=0.01, min_samples_leaf=3, early_stopping_rounds=5, random_state=3,
    )  # fmt: skip
    model.fit(
        x[:900],
        y[:900],
        sample_weight=weight[:900],
        eval_set=[(x[:900], y[:900]), (x[900:], y[900:])],
    )
    check_model(model)
    curve = next(iter(model.evals_result_["validation_1"].values()))
    assert model.best_score_ == min(curve) == curve[model.best_iteration_]
    assert len(curve) == model.n_estimators_ == min(60, model.best_iteration_ + 6)
    metric = next(iter(model.evals_result_["validation_0"].values()))
    assert metric[-1] < 0.7 * metric[0]
    staged = list(model.staged_predict(x[900:]))
    np.testing.assert_array_equal(staged[model.best_iteration_], model.predict(x[900:]))
    assert min(t.count.min() for t in trees(model)) >= 3


def test_eval_sets_give_what_predictions_give():
    x, y = make(classes=2)
    model = GPUBoostClassifier(n_estimators=5, eval_metric=["auc", "logloss"], verbose=0)
    model.fit(
        x[:600], y[:600], eval_set=(x[600:], y[600:]), eval_sample_weight=[np.arange(200) + 1.0]
    )
    from sklearn.metrics import log_loss, roc_auc_score

    p = model.predict_proba(x[600:])[:, 1]
    weight = np.arange(200) + 1.0
    result = model.evals_result_["validation_0"]
    assert result["logloss"][-1] == pytest.approx(log_loss(y[600:], p, sample_weight=weight))
    assert result["auc"][-1] == pytest.approx(roc_auc_score(y[600:], p, sample_weight=weight))


def test_custom_metrics_and_verbose(capsys):
    x, y = make()

    def largest_error(truth, prediction):
        return abs(truth - prediction).max()

    model = GPUBoostRegressor(n_estimators=4, eval_metric=largest_error, verbose=2).fit(
        x, y, eval_set=[(x, y)]
    )
    assert model.evals_result_["validation_0"]["largest_error"][-1] == pytest.approx(
        abs(y - model.predict(x)).max()
    )
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" rounds")[0] for line in lines] == ["training: 2/4", "training: 4/4"]
    assert "validation_0-largest_error: " in lines[0]


def test_subsample_changes_trees_and_is_seeded():
    x, y = make()
    a, b, c = (
        GPUBoostRegressor(n_estimators=5, subsample=0.5, random_state=s).fit(x, y).fingerprint()
        for s in (1, 1, 2)
    )
    assert a == b != c
    model = GPUBoostRegressor(n_estimators=20, subsample=0.5).fit(x, y)
    shares = np.array([t.count[0] for t in trees(model)]) / len(x)
    assert abs(shares.mean() - 0.5) < 0.03 and len(set(shares)) > 5


def test_class_weight_is_sample_weight():
    x, y = make(classes=3)
    by_class = {0: 1.0, 1: 2.0, 2: 0.5}
    a = GPUBoostClassifier(n_estimators=5, class_weight=by_class).fit(x, y)
    b = GPUBoostClassifier(n_estimators=5).fit(x, y, sample_weight=[by_class[c] for c in y])
    assert (
        a.fingerprint()
        == b.fingerprint()
        != GPUBoostClassifier(n_estimators=5).fit(x, y).fingerprint()
    )
    GPUBoostClassifier(n_estimators=5, class_weight="balanced").fit(x, y)


def test_importances_find_the_features_that_matter():
    x, y = make(n=3000, missing=False)
    for kind in ("gain", "split", "cover"):
        model = GPUBoostRegressor(n_estimators=30, max_depth=3, importance_type=kind).fit(x, y)
        assert model.feature_importances_.sum() == pytest.approx(1)
        assert set(np.argsort(model.feature_importances_)[-3:]) == {0, 1, 2}
    model = GPUBoostRegressor(n_estimators=3).fit(np.ones((10, 2)), np.arange(10.0))
    np.testing.assert_array_equal(model.feature_importances_, [0, 0])


def test_missing_values_unseen_in_training_go_with_the_majority():
    x = np.arange(100.0)[:, None]
    y = (x[:, 0] > 79).astype(float)
    model = GPUBoostRegressor(n_estimators=1, max_depth=1, learning_rate=1.0).fit(x, y)
    assert model.predict([[np.nan]]) == model.predict([[0.0]])


def test_missingness_alone_can_be_split_on():
    x = np.where(np.arange(200) % 2 == 0, np.nan, 3.0)[:, None]
    y = np.isnan(x[:, 0]).astype(float)
    for policy in POLICIES:
        model = GPUBoostRegressor(n_estimators=40, learning_rate=0.5, grow_policy=policy).fit(x, y)
        np.testing.assert_allclose(
            model.predict([[np.nan], [3.0], [np.inf], [-5.0]]), [1, 0, 0, 0], atol=1e-4
        )


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1.0, 1e8, 1e30])
def test_targets_of_any_magnitude(scale):
    x, y = make()
    model = GPUBoostRegressor(n_estimators=20, reg_lambda=0.0).fit(x, y * scale)
    assert model.score(x, y * scale) > 0.8


def test_constant_targets():
    x, _ = make()
    model = GPUBoostRegressor(n_estimators=3).fit(x, np.full(len(x), 0.1))
    np.testing.assert_allclose(model.predict(x), 0.1, rtol=1e-12)
    assert all(t.n_leaves == 1 for t in trees(model))


def test_foreign_byte_order():
    x, y = make(n=60)
    model = GPUBoostRegressor(n_estimators=2).fit(x.astype(">f8"), y)
    np.testing.assert_array_equal(model.predict(x.astype(">f8")), model.predict(x))


def test_deep_symmetric_trees_of_few_rows():
    x, y = make(n=60, missing=False)
    model = check_model(
        GPUBoostRegressor(
            n_estimators=2, grow_policy="symmetric", max_depth=16, min_child_weight=0
        ).fit(x, y),
        60,
    )
    assert model.score(x, y) > 0.1


def test_odd_shapes():
    GPUBoostRegressor(n_estimators=2).fit([[1.0]], [2.0])
    GPUBoostRegressor(n_estimators=2).fit(np.full((5, 3), np.nan), np.arange(5.0))
    x, y = make(n=50)
    model = GPUBoostRegressor(n_estimators=2, max_bins=2).fit(x, y)
    assert max(len(np.unique(t.threshold[t.feature == 0])) for t in trees(model)) <= 2
