"""Single steps of training and prediction, on the CPU and on CUDA: they must give the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuboost.backend import get_backend
from gpuboost.config import BoostParams
from gpuboost.data.features import FeatureMap
from gpuboost.data.summary import Summary
from gpuboost.doctor.checks import Check, Sizes, outcome
from gpuboost.dtypes import PACKED, ROW
from gpuboost.estimators.boosting import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.objectives.links import IDENTITY, LOGISTIC, SOFTMAX
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.objectives.metrics import ROW_METRICS
from gpuboost.training.boosting import Booster

Arrays = dict[str, np.ndarray]
#: Classes of targets of several classes.
N_CLASSES = 4


def _rows(n: int, n_features: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    x = rng.normal(size=(n, n_features)).astype(np.float32)
    x[:, 3] = np.round(2 * x[:, 3])
    signal = x[:, 0] + x[:, 1] * x[:, 2]
    x[rng.random(x.shape) < 0.05] = np.nan
    return x, signal.astype(np.float64)


def cuts(backend: Any, n: int) -> Arrays:
    """Borders between the bins of each column, from a matrix where the backend has its arrays."""
    x, _ = _rows(n)
    there = backend.put(x)
    found = FeatureMap.of_numbers(x.shape[1]).with_cuts(
        Summary.of(there, np.empty(0)), 255, backend
    )
    return {f"column {f}": feature.cuts for f, feature in enumerate(found.features)}


def bins(backend: Any, n: int) -> Arrays:
    """The bin of every value, by rows."""
    x, _ = _rows(n)
    features = _features(x, backend)
    matrix = features.matrix(x, backend, by_rows=True)
    coded = backend.to_host(matrix.by_rows)
    if backend.name == "cpu":
        return {"bins": coded[: x.size].reshape(x.shape)}
    group = backend.group_features
    by_group = coded.reshape(-1, n, group).transpose(1, 0, 2).reshape(n, -1)
    return {"bins": by_group[:, : x.shape[1]]}


def _features(x: np.ndarray, backend: Any) -> FeatureMap:
    """Cuts that are found on the host: their own check is another one."""
    return FeatureMap.of_numbers(x.shape[1]).with_cuts(
        Summary.of(x, np.empty(0)), 255, backend.host
    )


def _targets(objective: str, signal: np.ndarray) -> np.ndarray:
    if objective == "multi_log_loss":
        return np.digitize(signal, [-1.0, 0.0, 1.0]).astype(np.float64)
    return signal if objective == "squared_error" else (signal > 0).astype(np.float64)


def gradients(objective: str, weighted: bool) -> Callable[[Any, int], Arrays]:
    """Gradients and hessians of a loss, their sums, and what they are rounded to."""

    def run(backend: Any, n: int) -> Arrays:
        x, signal = _rows(n, 4)
        y, rng = _targets(objective, signal), np.random.default_rng(3)
        weight = rng.exponential(size=n) if weighted else np.empty(0)
        base = np.zeros(N_CLASSES if objective == "multi_log_loss" else 1)
        features = _features(x, backend)
        binned = features.matrix(x, backend, by_rows=True)
        booster = Booster(
            features, binned, y, weight, base, OBJECTIVES[objective], BoostParams(max_depth=2), 0,
            backend,
        )  # fmt: skip
        booster.raw = backend.put(rng.normal(size=(len(base), n)))
        sums = booster.sums[0]
        backend.gradients(
            booster.objective, booster.y, booster.raw, booster.weight, booster.arrays,
            booster.groups, booster.g, booster.h, sums,
        )  # fmt: skip
        out = {"g": booster.g, "h": booster.h, "sums": sums}
        keys = backend.mix_key(1, 2, 3), backend.mix_key(1, 2, 4)
        for nearest in (True, False):
            rounded = backend.empty((n,), PACKED)
            backend.begin_tree(sums, 0, booster.rooms, keys, booster.growth)
            backend.quantize(
                booster.g[0], booster.h[0], booster.weight, booster.growth, nearest, rounded
            )
            out[f"rounded, {'to nearest' if nearest else 'at random'}"] = rounded
        return {name: backend.to_host(array) for name, array in out.items()}

    return run


def metric(name: str) -> Callable[[Any, int], Arrays]:
    """A metric over all rows."""
    [one] = [m for m in ROW_METRICS if m.name == name]

    def run(backend: Any, n: int) -> Arrays:
        rng = np.random.default_rng(5)
        n_outputs = N_CLASSES if one.reads == "softmax" else 1
        raw, weight = rng.normal(size=(n_outputs, n)), rng.exponential(size=n)
        y = rng.integers(0, max(2, n_outputs), size=n).astype(np.float64)
        put = backend.put
        score = backend.mean_of_rows(one, 1.0, put(y), put(raw), put(weight), put(np.empty((0, n))))
        return {"metric": np.array([score.value()])}

    return run


def draws(backend: Any, n: int) -> Arrays:
    """Rows of a round."""
    usable, key = backend.put(np.arange(n, dtype=ROW)), backend.mix_key(1, 2, 3)
    drawn = backend.draw_rows(usable, 0.6, key, backend.empty((n,), ROW))
    if isinstance(drawn, tuple):  # the device does not cut them: it knows how many there are
        rows, count = (backend.to_host(array) for array in drawn)
        return {"rows": rows[: int(count[0])]}
    return {"rows": backend.to_host(drawn)}


def predictions(backend: Any, n: int) -> Arrays:
    """Raw scores, probabilities and classes of many rows, by a model of the CPU."""
    x, signal = _rows(n)
    few, out = min(n, 2000), {}
    there = backend.put(x)
    for name, link, model in (
        ("values", IDENTITY, GPUBoostRegressor(n_estimators=3, max_depth=5)),
        ("two classes", LOGISTIC, GPUBoostClassifier(n_estimators=3, max_depth=5)),
        ("classes", SOFTMAX, GPUBoostClassifier(n_estimators=3, max_depth=4)),
    ):
        y = {"values": signal, "two classes": signal > 0}.get(name, np.digitize(signal, [-1, 1]))
        ensemble = model.fit(x[:few], y[:few]).ensemble_
        raw = ensemble.raw(there, backend)
        out[f"{name}, raw"] = raw
        out[f"{name}, predicted"] = backend.apply_link(raw, link)
        if link is not IDENTITY:
            out[f"{name}, labels"] = backend.labels(raw, np.arange(len(set(y[:few]))))
    return {name: backend.to_host(array) for name, array in out.items()}


#: Everything that is compared: name, and what computes arrays with a backend.
OPERATIONS: dict[str, Callable[[Any, int], Arrays]] = {
    "cuts of columns": cuts,
    "bins of values": bins,
    **{f"gradients, {name}": gradients(name, False) for name in OBJECTIVES},
    "gradients, log_loss, weighted": gradients("log_loss", True),
    **{f"metric {m.name}": metric(m.name) for m in ROW_METRICS},
    "rows drawn": draws,
    "predictions": predictions,
}


def run_operation(name: str, sizes: Sizes) -> Check:
    """Run it on both devices and compare all arrays."""
    results = []
    for device in ("cpu", "cuda"):
        with get_backend(device, None) as backend:
            results.append(OPERATIONS[name](backend, sizes.large))
    cpu, cuda = results
    differences = [text for key in cpu if (text := difference(cpu[key], cuda[key], key))]
    n_values = sum(array.size for array in cpu.values())
    return outcome(
        "operations", name, "; ".join(differences), f"{n_values:,} values, the same bits"
    )


def difference(expected: np.ndarray, found: np.ndarray, name: str) -> str:
    """In how many values two arrays differ, and in which first; empty if they do not."""
    if expected.shape != found.shape:
        return f"{name} has the shape {found.shape} instead of {expected.shape}"
    bits = f"i{expected.dtype.itemsize}"
    equal = np.equal(*(np.ascontiguousarray(a).view(bits).ravel() for a in (expected, found)))
    if equal.all():
        return ""
    first = int(equal.argmin())
    return (
        f"{name} differs in {np.count_nonzero(~equal):,} of {equal.size:,} values, first in number "
        f"{first}: {found.flat[first]} instead of {expected.flat[first]}"
    )
