"""Outputs of a model in the forms of users: columns of y, labels, scores by row."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from gpuboost.backend import Backend, device_of, on_host
from gpuboost.data.checks import class_codes


def labels_of_outputs(
    backend: Backend, raw: Any, first_channel: np.ndarray, classes: list[np.ndarray]
) -> Any:
    """Classes (n_rows,), or of several outputs (n_rows, n_outputs), from scores by channel."""
    edges = pairwise(first_channel)
    labels = [
        backend.labels(raw[a:b], values) for (a, b), values in zip(edges, classes, strict=True)
    ]
    if len(labels) == 1:
        return labels[0]
    if any(device_of(of_output) is None for of_output in labels):
        return np.stack([on_host(of_output) for of_output in labels], axis=1)
    dtype = np.result_type(*(of_output.dtype for of_output in labels))
    out = backend.empty((len(labels[0]), len(labels)), dtype)
    for o, of_output in enumerate(labels):
        out[:, o] = of_output
    return out


def labels_as_classes(y: np.ndarray) -> list[np.ndarray]:
    """The classes of each column of labels: 0 and 1 as y writes them."""
    dtype = np.dtype(np.int64) if y.dtype == object else y.dtype
    return [np.array([0, 1], dtype)] * y.shape[1]


def eval_codes(name: str, y: np.ndarray, classes: list[np.ndarray]) -> np.ndarray:
    """Classes of an eval set as codes; labels are codes already."""
    return y if len(classes) > 1 else class_codes(name, y, classes[0]).astype(np.float64)


def scores_by_row(_: Backend, raw: Any) -> Any:
    """Raw scores (n_channels, n_rows) as (n_rows,) or (n_rows, n_channels)."""
    return raw[0] if len(raw) == 1 else raw.T.copy()
