"""A model that was trained on a device is saved as the very file of the CPU's.

And loads where there is no device.
"""

import numpy as np
import pytest

import gpuboost as gb

TREES = {"max_depth": 4, "n_jobs": 1}


@pytest.mark.parametrize(
    "model",
    [
        gb.GPUBoostClassifier(n_estimators=3, **TREES),
        gb.RandomForestRegressor(
            n_estimators=3, keep_targets=True, oob_score=True, max_samples=0.5, **TREES
        ),
        gb.DecisionTreeClassifier(splitter="hist", **TREES),
        gb.AdaBoostClassifier(splitter="hist", n_estimators=3, **TREES),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_file_of_a_device_is_the_file_of_the_cpu(model, device, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4))
    y = (x[:, 0] * x[:, 1] > 0).astype(np.int64)
    for name in ("cuda", "auto"):
        model.set_params(device=name).fit(x, y).save_model(tmp_path / name)
    assert (tmp_path / "cuda").read_bytes() == (tmp_path / "auto").read_bytes()
    monkeypatch.delenv("GPUBOOST_EMULATE_CUDA", raising=False)
    np.testing.assert_array_equal(gb.load_model(tmp_path / "cuda").predict(x), model.predict(x))
