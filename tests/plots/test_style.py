"""What all plots share."""

import sys

import pytest
from sklearn.datasets import load_diabetes

import gpuboost as gb
from gpuboost.plots.style import shortened


def test_names_lose_their_middle():
    assert shortened("short", 5) == "short"
    assert shortened("0123456789", 5) == "01…89" and shortened("0123456789", 6) == "012…89"
    assert len(shortened("x" * 300, 40)) == 40


def test_without_matplotlib(monkeypatch):
    model = gb.GPUBoostRegressor(n_estimators=1).fit(*load_diabetes(return_X_y=True))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        ImportError, match="plot_importance needs matplotlib: pip install matplotlib"
    ):
        gb.plot_importance(model)
    with pytest.raises(ImportError, match="plot_metric needs matplotlib: pip install matplotlib"):
        gb.plot_metric({"v": {"rmse": [1.0]}})
