"""The promise: same data, parameters and seed give the same model, bit for bit."""

import numpy as np
import pytest

from gpuboost import GPUBoostClassifier, GPUBoostRegressor

POLICIES = ["depthwise", "leafwise", "symmetric"]
SAMPLED = {
    "subsample": 0.8,
    "colsample_bytree": 0.9,
    "colsample_bylevel": 0.9,
    "colsample_bynode": 0.9,
}


def make(n=60_000, n_features=12, classes=0):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, n_features)).astype(np.float32)
    x[:, 3] = np.round(x[:, 3])
    signal = x[:, 0] + x[:, 1] * x[:, 2] + 0.5 * rng.normal(size=n)
    x[rng.random(x.shape) < 0.1] = np.nan
    weight = rng.exponential(size=n)
    y = (
        signal
        if not classes
        else np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes))
    )
    return x, y, weight


def fingerprint(x, y, weight, classes, **options):
    kind = GPUBoostClassifier if classes else GPUBoostRegressor
    return (
        kind(n_estimators=4, random_state=7, **options)
        .fit(x, y, sample_weight=weight)
        .fingerprint()
    )


@pytest.mark.parametrize("sampled", [{}, SAMPLED], ids=["plain", "sampled"])
@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("policy", POLICIES)
def test_threads_layouts_precisions_and_repetition(policy, classes, sampled):
    x, y, weight = make(classes=classes)
    options = {"grow_policy": policy, **sampled}
    expected = fingerprint(x, y, weight, classes, n_jobs=1, **options)
    assert fingerprint(x, y, weight, classes, n_jobs=1, **options) == expected
    assert fingerprint(x, y, weight, classes, n_jobs=2, **options) == expected
    assert fingerprint(x, y, weight, classes, n_jobs=4, **options) == expected
    assert fingerprint(x.astype(np.float64), y, weight, classes, n_jobs=2, **options) == expected
    assert fingerprint(np.asfortranarray(x), y, weight, classes, n_jobs=2, **options) == expected


def test_the_fingerprint_sees_every_part_of_the_model():
    x, y, weight = make(n=500)
    model = GPUBoostRegressor(n_estimators=2).fit(x, y)
    before = model.fingerprint()
    tree = model.ensemble_.trees[0]
    for name in ("threshold", "value", "missing_left", "feature"):
        array = getattr(tree, name)
        original = array[0].copy()
        array[0] = original + 1
        assert model.fingerprint() != before
        array[0] = original
    assert model.fingerprint() == before


def test_predictions_do_not_depend_on_threads_or_batches():
    x, y, weight = make(n=70_000, classes=2)
    model = GPUBoostClassifier(n_estimators=5, n_jobs=1).fit(x, y)
    expected = model.predict_proba(x)
    model.n_jobs = 3
    np.testing.assert_array_equal(model.predict_proba(x), expected)
    np.testing.assert_array_equal(model.predict_proba(x[:40]), expected[:40])
    np.testing.assert_array_equal(model.predict_proba(x[:5000].astype(np.float64)), expected[:5000])
