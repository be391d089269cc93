"""As accurate as the others, on data nobody here made."""

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import KFold, cross_val_predict

from gpuboost import GPUBoostClassifier, GPUBoostRegressor

LIGHTGBM = {
    "num_leaves": 31,
    "min_child_samples": 1,
    "min_child_weight": 1.0,
    "reg_lambda": 1.0,
    "verbose": -1,
    "n_jobs": 1,
}
XGBOOST = {"max_depth": 6, "min_child_weight": 1.0, "tree_method": "hist", "n_jobs": 1}
FOLDS = KFold(5, shuffle=True, random_state=0)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_digits])
def test_classification(load):
    x, y = load(return_X_y=True)
    n = {"n_estimators": 50, "learning_rate": 0.1}
    models = [
        GPUBoostClassifier(**n),
        GPUBoostClassifier(grow_policy="leafwise", **n),
        GPUBoostClassifier(grow_policy="symmetric", **n),
        xgboost.XGBClassifier(**n, **XGBOOST),
        lightgbm.LGBMClassifier(**n, **LIGHTGBM),
    ]
    losses = [
        log_loss(y, cross_val_predict(m, x, y, cv=FOLDS, method="predict_proba")) for m in models
    ]
    for own in losses[:3]:
        assert own < 1.12 * min(losses[3:])


def test_regression():
    x, y = load_diabetes(return_X_y=True)
    n = {"n_estimators": 50, "learning_rate": 0.1}
    models = [
        GPUBoostRegressor(**n),
        GPUBoostRegressor(grow_policy="leafwise", **n),
        xgboost.XGBRegressor(**n, **XGBOOST),
        lightgbm.LGBMRegressor(**n, **LIGHTGBM),
    ]
    losses = [root_mean_squared_error(y, cross_val_predict(m, x, y, cv=FOLDS)) for m in models]
    for own in losses[:2]:
        assert own < 1.05 * min(losses[2:])


def test_the_same_trees_as_scikit_learn_where_cuts_are_the_same():
    """Few distinct values: both libraries see the same cuts.

    And float sums agree with fixed-point ones far beyond any near tie.
    """
    rng = np.random.default_rng(0)
    x = rng.integers(0, 40, (4000, 5)).astype(float)
    x[rng.random(x.shape) < 0.05] = np.nan
    y = np.nan_to_num(x[:, 0]) * np.nan_to_num(x[:, 1]) + 50 * rng.normal(size=4000)
    own = GPUBoostRegressor(
        n_estimators=10, grow_policy="leafwise", max_leaves=15, reg_lambda=0.0, min_samples_leaf=20
    ).fit(x, y)
    other = HistGradientBoostingRegressor(
        max_iter=10, max_leaf_nodes=15, min_samples_leaf=20, early_stopping=False, max_depth=None
    ).fit(x, y)
    np.testing.assert_allclose(own.predict(x), other.predict(x), rtol=1e-6)


def test_heavy_tails():
    """Targets with huge outliers.

    The scale follows the sum of gradients, so the fixed point keeps its precision.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 5))
    y = 3 * x[:, 0] + x[:, 1] * x[:, 2] + rng.standard_t(1.6, size=20_000)
    clean = 3 * x[:, 0] + x[:, 1] * x[:, 2]
    own = GPUBoostRegressor(n_estimators=50, max_depth=4, min_child_weight=50).fit(x, y)
    other = xgboost.XGBRegressor(
        n_estimators=50, max_depth=4, min_child_weight=50, learning_rate=0.1, n_jobs=1
    ).fit(x, y)
    assert root_mean_squared_error(clean, own.predict(x)) < 1.1 * root_mean_squared_error(
        clean, other.predict(x)
    )


@pytest.mark.parametrize(("least", "splits"), [(13.0, True), (24.0, True), (25.0, False)])
def test_least_gain_of_a_split_is_in_the_unit_of_the_others(least, splits):
    """Sums of gradients of -25 and 25 over 50 rows each: a gain of 2 * 25**2 / 51 = 24.5."""
    x, y = np.repeat([0.0, 1.0], 50)[:, None], np.repeat([0.0, 1.0], 50)
    ours = GPUBoostRegressor(n_estimators=1, min_split_gain=least).fit(x, y)
    xgboost_ = xgboost.XGBRegressor(n_estimators=1, gamma=least, base_score=0.5).fit(x, y)
    lightgbm_ = lightgbm.LGBMRegressor(
        n_estimators=1, min_split_gain=least, reg_lambda=1.0, verbose=-1
    ).fit(x, y)
    for model in (ours, xgboost_, lightgbm_):
        assert (len(np.unique(model.predict(x))) == 2) == splits
