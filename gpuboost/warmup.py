"""Small trainings that compile the kernels which users meet first, group by group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuboost import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GPUBoostClassifier,
    GPUBoostRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)


def _data(dtype: type, n_classes: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Enough rows for every branch of prediction; ``n_classes`` of 0 means numbers."""
    x: np.ndarray = np.random.default_rng(0).normal(size=(600, 4)).astype(dtype)
    return x, (np.arange(600) % n_classes if n_classes else x[:, 0].astype(np.float64))


def _boost(model: Any, n_classes: int = 0) -> None:
    """Train with an eval set and predict few and many rows, in both dtypes."""
    for dtype in (np.float64, np.float32):
        x, y = _data(dtype, n_classes)
        model.fit(x, y, eval_set=(x, y))
        predict = model.predict_proba if n_classes else model.predict
        predict(x)
        predict(x[:1])


def _grow(*models: Any) -> None:
    for model in models:
        x, y = _data(np.float64, 2 if hasattr(model, "predict_proba") else 0)
        model.fit(x, y).predict(x)


#: What each step compiles, and the training that does it.
STEPS: dict[str, Callable[[], None]] = {
    "regression": lambda: _boost(GPUBoostRegressor(n_estimators=2)),
    "two classes": lambda: _boost(GPUBoostClassifier(n_estimators=2), 2),
    "several classes": lambda: _boost(GPUBoostClassifier(n_estimators=2), 3),
    "sampling": lambda: _boost(
        GPUBoostRegressor(
            n_estimators=2, subsample=0.5, colsample_bynode=0.5, grow_policy="leafwise"
        )
    ),
    "trees": lambda: _grow(DecisionTreeClassifier(max_depth=3), DecisionTreeRegressor(max_depth=3)),
    "forests": lambda: _grow(
        RandomForestClassifier(n_estimators=2), RandomForestRegressor(n_estimators=2)
    ),
    "AdaBoost": lambda: _grow(
        AdaBoostClassifier(n_estimators=2), AdaBoostRegressor(n_estimators=2)
    ),
}
