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
from gpuboost.estimators.adaboost import AdaBoostRegressor
from gpuboost.estimators.boosting import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.estimators.forest import RandomForestRegressor
from gpuboost.objectives.links import IDENTITY, LOGISTIC, SOFTMAX
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.objectives.metrics import ROW_METRICS, AreaMetric, RowMetric
from gpuboost.objectives.objective import Objective
from gpuboost.training.boosting import Booster

Arrays = dict[str, np.ndarray]
#: Classes of targets of several classes.
N_CLASSES = 4
#: Raw scores of a row, by link; others have one.
N_SCORES = {"softmax": N_CLASSES, "one_vs_rest": N_CLASSES, "normal": 2, "log_normal": 2}


def _rows(n: int, n_features: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    x = rng.normal(size=(n, n_features)).astype(np.float32)
    x[:, 3] = np.round(2 * x[:, 3])
    signal = x[:, 0] + x[:, 1] * x[:, 2]
    x[rng.random(x.shape) < 0.05] = np.nan
    return x, signal.astype(np.float64)


def cuts(weighted: bool) -> Callable[[Any, int], Arrays]:
    """Borders between the bins of each column, from a matrix where the backend has its arrays."""

    def run(backend: Any, n: int) -> Arrays:
        x, _ = _rows(n)
        weight = np.random.default_rng(3).exponential(size=n if weighted else 0)
        learned = FeatureMap.of_numbers(x.shape[1]).with_cuts(
            Summary.of(backend.put(x), weight), 255, backend
        )
        return {f"column {f}": feature.cuts for f, feature in enumerate(learned.features)}

    return run


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


def borders(backend: Any, n: int) -> Arrays:
    """Codes for classical trees, and the lowest and highest value of each."""
    x, _ = _rows(n)
    there, weight = backend.put(x), np.random.default_rng(3).exponential(size=n)
    coded = FeatureMap.of_numbers(x.shape[1]).matrix_with_borders(there, weight, 255, backend)
    return {
        "codes": backend.to_host(coded.columns), "lowest": coded.lower, "highest": coded.upper
    }  # fmt: skip


def taken_rows(backend: Any, n: int) -> Arrays:
    """Some rows of a matrix."""
    x, _ = _rows(n)
    rows = np.arange(n - 1, -1, -3)
    return {"rows": backend.to_host(backend.take_rows(backend.put(x), rows))}


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
            own = sums[:1], sums[:1]
            units = booster.fine_units
            backend.begin_tree(*own, booster.rooms, keys, booster.growth, units)
            rows = backend.put(np.arange(n, dtype=ROW))
            given = rows, booster.g[0], booster.h[0], booster.weight, booster.growth
            rounded = backend.quantize(*given, nearest, rounded)
            out[f"rounded, {'to nearest' if nearest else 'at random'}"] = rounded
        return {name: backend.to_host(array) for name, array in out.items()}

    return run


def metric(one: RowMetric) -> Callable[[Any, int], Arrays]:
    """A metric over all rows."""

    def run(backend: Any, n: int) -> Arrays:
        rng = np.random.default_rng(5)
        n_outputs = N_SCORES.get(one.reads, 1)
        raw, weight = rng.normal(size=(n_outputs, n)), rng.exponential(size=n)
        y = rng.integers(0, max(2, n_outputs), size=n).astype(np.float64)
        put = backend.put
        score = backend.mean_of_rows(one, 1.0, put(y), put(raw), put(weight), put(np.empty((0, n))))
        return {"metric": np.array([score.value()])}

    return run


def area(weighted: bool) -> Callable[[Any, int], Arrays]:
    """The area under the ROC curve, with equal scores among the rows."""

    def run(backend: Any, n: int) -> Arrays:
        rng = np.random.default_rng(5)
        raw, y = np.round(rng.normal(size=(1, n)), 2), rng.integers(0, 2, size=n).astype(np.float64)
        weight = rng.exponential(size=n if weighted else 0)
        score = backend.area_under_curve(AreaMetric(), *map(backend.put, (y, raw, weight)))
        return {"area": np.array([score.value()])}

    return run


def _to_group_mean(
    y: Any, raw: np.ndarray, rows: np.ndarray, g: np.ndarray, h: np.ndarray, slope: float
) -> None:
    """A loss of groups: distances from the mean of the group."""
    mean = 0.0
    for i in range(rows.shape[0]):
        mean += raw[0, rows[i]] - y[rows[i]]
    mean /= rows.shape[0]
    for i in range(rows.shape[0]):
        row = rows[i]
        g[0, row] = slope * (raw[0, row] - y[row] - mean)
        h[0, row] = slope


GROUP_LOSS = Objective(
    "distance from the mean of the group", _to_group_mean, IDENTITY, "rmse",
    lambda y, weight, n_classes, backend, slope: np.zeros(1), {"slope": 0.5}, groups="group",
)  # fmt: skip


def group_gradients(backend: Any, n: int) -> Arrays:
    """Gradients of a loss that sees all rows of a group."""
    rng = np.random.default_rng(3)
    y, raw = rng.normal(size=n), rng.normal(size=(1, n))
    rows, begin = np.arange(n, dtype=ROW), np.append(np.arange(0, n, 10), n)
    g, h = (backend.put(np.zeros((1, n))) for _ in range(2))
    sums = backend.empty((1, 2), np.float64)
    none, no_arrays = np.empty(0), np.empty((0, n))
    put = backend.put
    groups = put(rows), put(begin.astype(np.int64))
    backend.gradients(GROUP_LOSS, put(y), put(raw), put(none), put(no_arrays), groups, g, h, sums)
    return {name: backend.to_host(a) for name, a in {"g": g, "h": h, "sums": sums}.items()}


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
    several = backend.put(np.random.default_rng(3).normal(size=(3, n)))
    out["labels of each row, predicted"] = backend.apply_link(several, LOGISTIC)
    return {name: backend.to_host(array) for name, array in out.items()}


def walks(backend: Any, n: int) -> Arrays:
    """Leaves of many rows, out-of-bag sums and medians of trees, by models of the CPU."""
    x, signal = _rows(n)
    few, there = min(n, 2000), backend.put(x)
    forest = RandomForestRegressor(4, max_depth=5, random_state=1).fit(x[:few], signal[:few])
    boosted = AdaBoostRegressor(n_estimators=4, max_depth=3, random_state=1, splitter="hist")
    rng = np.random.default_rng(3)
    bags = [rng.random(n) < 0.6 for _ in range(4)]
    [(sums, _)] = forest.ensemble_.staged_unseen_raw(there, bags.__getitem__, [4], backend)
    out = {
        "leaves": forest.ensemble_.leaves(there, backend),
        "out-of-bag sums": sums,
        "medians": boosted.fit(x[:few], signal[:few]).ensemble_.raw(there, backend),
    }
    return {name: backend.to_host(array) for name, array in out.items()}


#: Everything that is compared: name, and what computes arrays with a backend.
OPERATIONS: dict[str, Callable[[Any, int], Arrays]] = {
    "cuts of columns": cuts(False),
    "cuts of columns, weighted": cuts(True),
    "bins of values": bins,
    "codes and their borders": borders,
    "rows taken": taken_rows,
    **{f"gradients, {name}": gradients(name, False) for name in OBJECTIVES},
    "gradients, log_loss, weighted": gradients("log_loss", True),
    "gradients of groups": group_gradients,
    **{f"metric {m.name} ({m.reads})": metric(m) for m in ROW_METRICS},
    "metric auc": area(False),
    "metric auc, weighted": area(True),
    "rows drawn": draws,
    "predictions": predictions,
    "leaves, out-of-bag sums and medians": walks,
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


def difference(expected: np.ndarray, actual: np.ndarray, name: str) -> str:
    """In how many values two arrays differ, and in which first; empty if they do not."""
    if expected.shape != actual.shape:
        return f"{name} has the shape {actual.shape} instead of {expected.shape}"
    bits = f"i{expected.dtype.itemsize}"
    equal = np.equal(*(np.ascontiguousarray(a).view(bits).ravel() for a in (expected, actual)))
    if equal.all():
        return ""
    first = int(equal.argmin())
    return (
        f"{name} differs in {np.count_nonzero(~equal):,} of {equal.size:,} values, first in number "
        f"{first}: {actual.flat[first]} instead of {expected.flat[first]}"
    )
