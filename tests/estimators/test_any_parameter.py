"""Any value of any type for any parameter: it works, or an error names the parameter."""

import fractions
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpuboost as gb

ESTIMATORS = [
    gb.GPUBoostRegressor,
    gb.GPUBoostClassifier,
    gb.DecisionTreeRegressor,
    gb.DecisionTreeClassifier,
    gb.RandomForestRegressor,
    gb.RandomForestClassifier,
    gb.ExtraTreesRegressor,
    gb.ExtraTreesClassifier,
    gb.AdaBoostRegressor,
    gb.AdaBoostClassifier,
]
RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, (16, 3)).astype(float)
Y = (X[:, 0] + X[:, 1] > 3).astype(int)

NUMBERS = [
    -(2**31), -1, 0, 1, 2, 3, 2**31, 2**31 - 1, 10**30, 10**400, -0.5, -0.0, 5e-324, 1e-300, 1e-9,
    0.1, 0.5, 1.0, 1.5, 1e9, 1e154, 1e300, 1.7e308, float("inf"), float("-inf"), float("nan"), 1j,
    fractions.Fraction(1, 3), fractions.Fraction(10**400), np.int8(2), np.uint64(2**64 - 1),
    np.float32(0.5), np.float64("nan"), np.longdouble(2), np.bool_(True), True, False,
]  # fmt: skip
TEXTS = ["", "auto", "cpu", "gpu", "sqrt", "log2", "cv", "balanced", "balanced_subsample", "gini",
         "entropy", "squared_error", "absolute_error", "poisson", "misclassification", "exact",
         "hist", "random", "midpoint", "leafwise", "symmetric", "hard", "auc", "mae", "from_dtype",
         "log_loss", "exponential", "square", "é\n", b"bytes"]  # fmt: skip
OTHERS = [
    None, object(), (), [], {}, [0], [0, 0], [True, False, True], ["x"], [None], [np.nan], {0: 1.0},
    {0: 1.0, 1: 2.0}, {0: float("nan"), 1: 1.0}, {0: "a", 1: "b"}, {0: -1, 1: 0}, {0}, range(2),
    [0.5, 0.25, 0.25], [1, 0, 0], [1e308, 1e308, 1e308], np.array([]), np.array([1]), np.array(2),
    np.zeros((2, 2)), np.random.RandomState(0), np.random.default_rng(0), lambda *args, **kw: 0.5,
    Ellipsis, slice(None),
]  # fmt: skip


def is_finite(model):
    ensemble = model.ensemble_
    arrays = [ensemble.base_score, ensemble.tree_weights]
    arrays += [tree.value for tree in ensemble.trees]
    predicted = [model.predict(X)]
    predicted += [model.predict_proba(X)] if hasattr(model, "predict_proba") else []
    return all(np.isfinite(array).all() for array in [*arrays, *predicted])


SCALARS = (
    st.sampled_from(NUMBERS)
    | st.sampled_from(TEXTS)
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.booleans()
)
VALUES = SCALARS | st.sampled_from(OTHERS) | st.lists(SCALARS, max_size=4)
PARAMETERS = [(kind, name) for kind in ESTIMATORS for name in kind().get_params(deep=False)]


@pytest.mark.parametrize(
    ("kind", "name"), PARAMETERS, ids=lambda v: v if isinstance(v, str) else v.__name__
)
@settings(max_examples=30, derandomize=True, deadline=None, database=None)
@given(value=VALUES)
def test_it_works_or_an_error_names_the_parameter(kind, name, value):
    if name == "n_estimators" and isinstance(value, int) and 100 < value < 2**31:
        return  # allowed, but nobody waits for so many trees
    options = {"n_estimators": 2} if hasattr(kind(), "n_estimators") else {}
    fit = {"eval_set": (X, Y)} if hasattr(kind(), "eval_metric") else {}
    model = kind(**{**options, name: value})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, Y, **fit)
        except (ValueError, TypeError) as error:
            assert name in str(error), f"{name}={value!r}: {error}"
        else:
            assert is_finite(model), f"{name}={value!r}"
