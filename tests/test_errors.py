"""Bad input: an error that names the culprit, before any work is done, and the old model stays."""

import numpy as np
import pandas as pd
import pytest

from gpuboost import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.kernels.cuda import device as cuda_device

X = np.arange(40.0).reshape(20, 2)
Y = np.arange(20.0)
C = np.arange(20) % 2


def broken(array, value, at=3):
    out = np.array(array, float)
    out.reshape(-1)[at] = value
    return out


FIT = {
    "NaN in y": (
        GPUBoostRegressor,
        (X, broken(Y, np.nan)),
        {},
        "y contains NaN.*row 3|Input y contains NaN",
    ),
    "inf in y": (GPUBoostRegressor, (X, broken(Y, np.inf)), {}, "y contains.*inf"),
    "NaN in classes": (GPUBoostClassifier, (X, broken(C, np.nan)), {}, "y.*NaN"),
    "negative weight": (
        GPUBoostRegressor,
        (X, Y),
        {"sample_weight": broken(np.ones(20), -1)},
        "sample_weight must not be negative: -1.0 at row 3",
    ),
    "NaN weight": (
        GPUBoostRegressor,
        (X, Y),
        {"sample_weight": broken(np.ones(20), np.nan)},
        "sample_weight contains NaN",
    ),
    "zero weights": (
        GPUBoostRegressor,
        (X, Y),
        {"sample_weight": np.zeros(20)},
        "sample_weight must not be all zero",
    ),
    "weights of wrong length": (
        GPUBoostRegressor,
        (X, Y),
        {"sample_weight": np.ones(19)},
        r"sample_weight must have one entry .*20.*\(19,\)",
    ),
    "weights of text": (
        GPUBoostRegressor,
        (X, Y),
        {"sample_weight": ["a"] * 20},
        "sample_weight must hold numbers",
    ),
    "complex weights": (
        GPUBoostRegressor,
        (X, Y),
        {"sample_weight": np.ones(20) + 1j},
        "sample_weight must hold real numbers; got dtype complex128",
    ),
    "large weights": (
        GPUBoostRegressor,
        (X, Y),
        {"sample_weight": np.full(20, 1e300)},
        "largest sample_weight must be between 6e-61 and 2e\\+60.*got 1e\\+300",
    ),
    "small weights": (
        GPUBoostClassifier,
        (X, C),
        {"sample_weight": np.full(20, 1e-300)},
        "largest sample_weight must be between .* got 1e-300",
    ),
    "masked y": (
        GPUBoostRegressor,
        (X, np.ma.masked_greater(Y, 15)),
        {},
        "y must not have masked entries, as only X may; 4 are masked",
    ),
    "masked weights": (
        GPUBoostRegressor,
        (X, Y),
        {"sample_weight": np.ma.masked_less(np.ones(20), 2)},
        "sample_weight must not have masked entries",
    ),
    "continuous classes": (GPUBoostClassifier, (X, Y + 0.5), {}, "continuous"),
    "lengths": (GPUBoostRegressor, (X, Y[:-1]), {}, r"inconsistent numbers of samples.*20.*19"),
    "no rows": (GPUBoostRegressor, (np.empty((0, 2)), np.empty(0)), {}, "0 sample"),
    "no columns": (GPUBoostRegressor, (np.empty((20, 0)), Y), {}, "0 feature"),
    "one dimension": (GPUBoostRegressor, (Y, Y), {}, "Expected 2D array"),
    "complex": (GPUBoostRegressor, (X + 1j, Y), {}, "Complex data not supported"),
    "eval_set shape": (
        GPUBoostRegressor,
        (X, Y),
        {"eval_set": [(X[:, :1], Y)]},
        "1 features.*expecting 2",
    ),
    "eval_set kind": (GPUBoostRegressor, (X, Y), {"eval_set": [X]}, "eval_set must be a pair"),
    "eval y": (
        GPUBoostRegressor,
        (X, Y),
        {"eval_set": [(X, broken(Y, np.nan))]},
        r"y of eval_set\[0\] contains NaN",
    ),
    "eval length": (GPUBoostClassifier, (X, C), {"eval_set": [(X, C[1:])]}, r"y of eval_set\[0\]"),
    "eval class": (
        GPUBoostClassifier,
        (X, C),
        {"eval_set": [(X, C + 1)]},
        r"eval_set\[0\].*class.*2",
    ),
    "eval weights": (
        GPUBoostRegressor,
        (X, Y),
        {"eval_set": (X, Y), "eval_sample_weight": []},
        "eval_sample_weight",
    ),
    "weights, no eval set": (
        GPUBoostRegressor,
        (X, Y),
        {"eval_sample_weight": [Y]},
        "without an eval_set",
    ),
}


@pytest.mark.parametrize("case", FIT)
def test_fit(case):
    kind, args, options, message = FIT[case]
    model = kind(n_estimators=2).fit(X[:, :1], C)
    before = model.fingerprint()
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(*args, **options)
    assert model.fingerprint() == before and model.n_features_in_ == 1
    model.predict(X[:, :1])


@pytest.mark.parametrize("x", [np.full((20, 1), "abc"), pd.DataFrame({"a": ["abc"] * 20})])
def test_text_that_may_be_no_category(x):
    model = GPUBoostRegressor(n_estimators=2, categorical_features=None).fit(X[:, :1], Y)
    before = model.fingerprint()
    with pytest.raises(ValueError, match="must hold numbers"):
        model.fit(x, Y)
    assert model.fingerprint() == before


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("objective", "mse", "objective must be one of 'squared_error', .*; got 'mse'"),
        ("device", "tpu", "device must be 'auto', 'cpu', 'cuda' or 'cuda:N'; got 'tpu'"),
        (
            "importance_type",
            "weight",
            "importance_type must be one of 'gain', 'split', 'cover'; got 'weight'",
        ),
        ("n_jobs", 0, "n_jobs must be"),
        ("eval_metric", "ndcg", "eval_metric must be one of .*'ndcg'"),
        ("early_stopping_rounds", 5, "early_stopping_rounds=5 needs an eval_set"),
        ("max_bins", 1000, "max_bins must be an integer at least 2 and at most 256; got 1000"),
        ("learning_rate", -1, "learning_rate must be a number above 0; got -1"),
        ("grow_policy", "best", "grow_policy must be one of"),
        ("learning_rate", 1e300, "round 1 .*the training diverges; try a lower learning_rate"),
        ("eval_metric", [], "eval_metric must be a name, a function or a list of some"),
    ],
)
def test_parameters(name, value, message):
    with pytest.raises(ValueError, match=message):
        GPUBoostRegressor(**{name: value}).fit(X, Y)


def test_cuda_without_a_device_says_what_is_missing(monkeypatch):
    monkeypatch.delenv("GPUBOOST_EMULATE_CUDA", raising=False)
    if cuda_device.missing(0) is None:
        pytest.skip("there is a GPU here")
    with pytest.raises(RuntimeError, match="device='cuda' cannot be used: .*(install|driver)"):
        GPUBoostRegressor(device="cuda").fit(X, Y)


def test_no_such_device(monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    with pytest.raises(RuntimeError, match="no device number 7"):
        GPUBoostRegressor(device="cuda:7").fit(X, Y)


def test_predict():
    model = GPUBoostRegressor(n_estimators=2).fit(X, Y)
    with pytest.raises(ValueError, match="3 features, but GPUBoostRegressor is expecting 2"):
        model.predict(np.ones((4, 3)))
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X[:0])
    frame = pd.DataFrame(X, columns=["a", "b"])
    model.fit(frame, Y)
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b"])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"a": "c"}))
    with pytest.warns(UserWarning, match="in another order than in training"):
        model.predict(frame[["b", "a"]])
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(X)


def test_unfitted():
    from sklearn.exceptions import NotFittedError

    for call in (
        lambda m: m.predict(X),
        lambda m: m.fingerprint(),
        lambda m: m.feature_importances_,
        lambda m: list(m.staged_predict(X)),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call(GPUBoostClassifier())
