"""How good a model is on some rows, in a few numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuboost.objectives.metrics import auc


def scores(model: Any, x: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> dict[str, float]:
    """Metrics by name; ``y`` holds places in ``model.classes_``, or numbers."""
    w = np.ones(len(y)) if weight is None else weight
    if not hasattr(model, "classes_"):
        error = model.predict(x) - y
        squares = float(np.average(error**2, weights=w))
        spread = float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
        found = {
            "rmse": float(np.sqrt(squares)),
            "mae": float(np.average(np.abs(error), weights=w)),
        }
        return found | ({"r2": 1.0 - squares / spread} if spread > 0 else {})
    shares = model.predict_proba(x)
    p = np.clip(shares[np.arange(len(y)), y], np.finfo(np.float64).eps, 1.0)
    wrong = float(np.average(shares.argmax(axis=1) != y, weights=w))
    found = {"logloss": float(np.average(-np.log(p), weights=w)), "error": wrong}
    if shares.shape[1] > 2:
        return {f"m{name}": value for name, value in found.items()}
    area = auc(y.astype(np.float64), shares[:, 1][None], w)
    return found | ({"auc": area} if np.isfinite(area) else {})
