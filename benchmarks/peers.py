"""One small adapter for each library.

The same settings in its own words, its own fastest way to fit and predict, and its times.

Libraries are imported when an adapter is made, so that a process that measures one of them does not
load the thread pools of the others."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class Settings:
    """What is the same for all libraries."""

    trees: int  # rounds; with several classes each has one tree per class
    # of boosted trees "depthwise", "leafwise" or "symmetric", else see forests.py
    order: str
    depth: int | None = None  # for depthwise, symmetric and "forest"
    leaves: int | None = None  # for leafwise
    bins: int = 256
    features: int | None = None  # of a node, in forests; None: all
    learning_rate: float = 0.1
    reg_lambda: float = 1.0
    min_child_weight: float = 1.0
    seed: int = 0

    @property
    def most_leaves(self) -> int:
        """Most leaves of a tree."""
        return self.leaves if self.leaves is not None else 2 ** (self.depth or 6)


@dataclass(frozen=True)
class FitTime:
    """Seconds of a fit; binning is None where it cannot be told apart."""

    total: float
    binning: float | None = None


class Peer:
    """A library set up for a task.

    ``fit``, ``predict``, and ``estimator`` for its scikit-learn interface.

    ``predict`` returns the probability of class 1, the probabilities of all classes (n, n_classes),
    or values."""

    package: ClassVar[str]
    #: Growth orders it is run for, and what it does then.
    growth: ClassVar[dict[str, str]]
    #: Whether it takes arrays that are on a GPU.
    takes_device_input: ClassVar[bool] = False

    def __init__(self, task: str, settings: Settings, threads: int, device: str = "cpu") -> None:
        self.task, self.settings, self.threads, self.device = task, settings, threads, device

    @classmethod
    def cuda_problem(cls) -> str | None:
        """Why it cannot train on a GPU here, or None."""
        return "it has no GPU version"

    def fit(self, x: np.ndarray, y: np.ndarray) -> FitTime:
        """Train, and say how long it took. By default through the scikit-learn interface."""
        self.model = self.estimator()
        start = time.perf_counter()
        self.model.fit(x, y)
        return FitTime(time.perf_counter() - start)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Predict many rows."""
        if self.task == "regression":
            return self.model.predict(x)
        p = self.model.predict_proba(x)
        return p[:, 1] if self.task == "binary" else p

    def estimator(self) -> Any:
        """An estimator of its scikit-learn interface with the same settings, not fitted."""
        raise NotImplementedError

    def single(self, model: Any) -> Callable[[np.ndarray], Any]:
        """The call whose latency is measured: the estimator's own method, numpy in."""
        return model.predict if self.task == "regression" else model.predict_proba


# --- gpuboost


@contextmanager
def _stopwatch(owner: type, names: tuple[str, ...]) -> Iterator[list[float]]:
    """Time all calls of some methods of a class; yields a list that the seconds are appended to."""
    seconds: list[float] = []
    originals = {name: owner.__dict__[name] for name in names}

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                seconds.append(time.perf_counter() - start)

        return call

    for name, original in originals.items():
        is_class_method = isinstance(original, classmethod)
        setattr(
            owner,
            name,
            classmethod(timed(original.__func__)) if is_class_method else timed(original),
        )
    try:
        yield seconds
    finally:
        for name, original in originals.items():
            setattr(owner, name, original)


class GPUBoost(Peer):
    """This library, by its public estimators: their input checks are part of the time."""

    package = "gpuboost"
    growth = {"depthwise": "depth-wise", "leafwise": "leaf-wise", "symmetric": "symmetric"}
    takes_device_input = True

    @classmethod
    def cuda_problem(cls) -> str | None:
        from gpuboost.kernels.cuda.device import missing

        return missing(0)

    def fit(self, x: np.ndarray, y: np.ndarray) -> FitTime:
        from gpuboost.data.features import FeatureMap

        with _stopwatch(FeatureMap, ("with_cuts", "matrix")) as binning:
            time_ = super().fit(x, y)
        return FitTime(time_.total, sum(binning))

    def estimator(self) -> Any:
        from gpuboost import GPUBoostClassifier, GPUBoostRegressor

        s = self.settings
        return (GPUBoostRegressor if self.task == "regression" else GPUBoostClassifier)(
            n_estimators=s.trees,
            learning_rate=s.learning_rate,
            grow_policy=s.order,
            max_depth=s.depth,
            max_leaves=s.leaves,
            max_bins=s.bins,
            min_child_weight=s.min_child_weight,
            min_samples_leaf=1,
            reg_lambda=s.reg_lambda,
            device=self.device,
            n_jobs=self.threads,
            random_state=s.seed,
        )


# --- XGBoost


class XGBoost(Peer):
    """XGBoost's ``hist`` through its native interface: building the QuantileDMatrix is binning."""

    package = "xgboost"
    growth = {"depthwise": "depth-wise", "leafwise": "leaf-wise"}
    takes_device_input = True

    @classmethod
    def cuda_problem(cls) -> str | None:
        import xgboost

        return None if xgboost.build_info().get("USE_CUDA") else "its build has no CUDA"

    def _params(self) -> dict[str, Any]:
        s = self.settings
        leafwise = s.order == "leafwise"
        return {
            "tree_method": "hist",
            "device": self.device,
            "grow_policy": "lossguide" if leafwise else "depthwise",
            "max_depth": 0 if leafwise else s.depth,
            "max_leaves": s.leaves if leafwise else 0,
            "max_bin": s.bins,
            "learning_rate": s.learning_rate,
            "reg_lambda": s.reg_lambda,
            "min_child_weight": s.min_child_weight,
            "verbosity": 0,
            "seed": s.seed,
        }

    def fit(self, x: np.ndarray, y: np.ndarray) -> FitTime:
        import xgboost

        objective = {
            "binary": "binary:logistic",
            "multiclass": "multi:softprob",
            "regression": "reg:squarederror",
        }[self.task]
        params = self._params() | {"objective": objective, "nthread": self.threads}
        if self.task == "multiclass":
            params["num_class"] = int(y.max()) + 1
        start = time.perf_counter()
        data = xgboost.QuantileDMatrix(x, label=y, max_bin=self.settings.bins, nthread=self.threads)
        binned = time.perf_counter()
        self.model = xgboost.train(params, data, num_boost_round=self.settings.trees)
        return FitTime(time.perf_counter() - start, binned - start)

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.model.inplace_predict(x)

    def estimator(self) -> Any:
        import xgboost

        kind = xgboost.XGBRegressor if self.task == "regression" else xgboost.XGBClassifier
        return kind(n_estimators=self.settings.trees, n_jobs=self.threads, **self._params())


# --- LightGBM


class LightGBM(Peer):
    """LightGBM through its native interface: constructing the Dataset is binning."""

    package = "lightgbm"
    growth = {"depthwise": "leaf-wise, depth limited", "leafwise": "leaf-wise"}
    quantised = False

    @classmethod
    def cuda_problem(cls) -> str | None:
        import lightgbm

        rows = np.arange(100.0)
        try:  # a build does not say what it can do
            lightgbm.train(
                {"device_type": "cuda", "verbosity": -1},
                lightgbm.Dataset(rows[:, None], label=rows),
                num_boost_round=1,
            )
        except lightgbm.basic.LightGBMError as error:
            return f"its build has no CUDA ({error})"
        return None

    def _params(self) -> dict[str, Any]:
        s = self.settings
        return {
            "device_type": self.device,
            "num_leaves": s.most_leaves,
            "max_depth": -1 if s.order == "leafwise" else s.depth,
            "max_bin": s.bins - 1,
            "learning_rate": s.learning_rate,
            "reg_lambda": s.reg_lambda,
            "min_child_weight": s.min_child_weight,
            "min_child_samples": 1,
            "use_quantized_grad": self.quantised,
            "n_jobs": self.threads,
            "random_state": s.seed,
            "verbosity": -1,
        }

    def fit(self, x: np.ndarray, y: np.ndarray) -> FitTime:
        import lightgbm

        params = self._params() | {"objective": self.task}
        if self.task == "multiclass":
            params["num_class"] = int(y.max()) + 1
        start = time.perf_counter()
        data = lightgbm.Dataset(x, label=y, params=params).construct()
        binned = time.perf_counter()
        self.model = lightgbm.train(params, data, num_boost_round=self.settings.trees)
        return FitTime(time.perf_counter() - start, binned - start)

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.model.predict(x, num_threads=self.threads)

    def estimator(self) -> Any:
        import lightgbm

        kind = lightgbm.LGBMRegressor if self.task == "regression" else lightgbm.LGBMClassifier
        return kind(n_estimators=self.settings.trees, **self._params())


class LightGBMQuantised(LightGBM):
    """LightGBM with gradients of a few bits (its own default number of them)."""

    growth = {order: f"{how}, quantised" for order, how in LightGBM.growth.items()}
    quantised = True


# --- CatBoost


@contextmanager
def _on_cores(n: int) -> Iterator[None]:
    """Keep this thread, and those it starts, on n cores.

    For calls that take all cores and have no setting.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[:n])
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


class CatBoost(Peer):
    """CatBoost in plain mode without any sampling: making and quantising the Pool is binning."""

    package = "catboost"
    growth = {"depthwise": "depth-wise", "leafwise": "leaf-wise", "symmetric": "symmetric"}

    @classmethod
    def cuda_problem(cls) -> str | None:
        from catboost.utils import get_gpu_device_count

        return None if get_gpu_device_count() > 0 else "it finds no GPU"

    def _params(self) -> dict[str, Any]:
        s = self.settings
        params: dict[str, Any] = {
            "iterations": s.trees,
            "task_type": "GPU" if self.device == "cuda" else "CPU",
            "learning_rate": s.learning_rate,
            "l2_leaf_reg": s.reg_lambda,
            "border_count": s.bins - 2,  # borders, not bins
            "boosting_type": "Plain",
            "bootstrap_type": "No",
            "random_strength": 0,
            "leaf_estimation_method": "Newton",
            "leaf_estimation_iterations": 1,
            "grow_policy": {
                "depthwise": "Depthwise",
                "leafwise": "Lossguide",
                "symmetric": "SymmetricTree",
            }[s.order],
            "depth": s.depth if s.order != "leafwise" else 16,  # the most it can do
            "loss_function": {
                "binary": "Logloss",
                "multiclass": "MultiClass",
                "regression": "RMSE",
            }[self.task],
            "thread_count": self.threads,
            "random_seed": s.seed,
            "allow_writing_files": False,
            "logging_level": "Silent",
        }
        if s.order == "leafwise":
            params["max_leaves"] = s.leaves
        if s.order != "symmetric":
            params["min_data_in_leaf"] = 1
        if self.task == "binary":
            params["boost_from_average"] = True
        return params

    def fit(self, x: np.ndarray, y: np.ndarray) -> FitTime:
        import catboost

        params = self._params()
        start = time.perf_counter()
        pool = catboost.Pool(x, label=y, thread_count=self.threads)
        with _on_cores(self.threads):
            pool.quantize(border_count=params["border_count"])
        binned = time.perf_counter()
        self.model = catboost.CatBoost(params).fit(pool)
        return FitTime(time.perf_counter() - start, binned - start)

    def predict(self, x: np.ndarray) -> np.ndarray:
        kind = "RawFormulaVal" if self.task == "regression" else "Probability"
        p = self.model.predict(x, prediction_type=kind, thread_count=self.threads)
        return p[:, 1] if self.task == "binary" else p

    def estimator(self) -> Any:
        import catboost

        return (
            catboost.CatBoostRegressor if self.task == "regression" else catboost.CatBoostClassifier
        )(**self._params())

    def single(self, model: Any) -> Callable[[np.ndarray], Any]:
        method = super().single(model)
        # its predict does not follow the estimator's setting
        return lambda x: method(x, thread_count=self.threads)


# --- scikit-learn


class SklearnHist(Peer):
    """scikit-learn's HistGradientBoosting; its threads follow OMP_NUM_THREADS."""

    package = "sklearn"
    growth = {"depthwise": "leaf-wise, depth limited", "leafwise": "leaf-wise"}

    def estimator(self) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        s = self.settings
        return (
            HistGradientBoostingRegressor
            if self.task == "regression"
            else HistGradientBoostingClassifier
        )(
            max_iter=s.trees,
            learning_rate=s.learning_rate,
            max_leaf_nodes=s.most_leaves,
            max_depth=s.depth,
            max_bins=s.bins - 1,
            min_samples_leaf=1,
            l2_regularization=s.reg_lambda,
            early_stopping=False,
            random_state=s.seed,
        )


# --- ChimeraBoost


class ChimeraBoost(Peer):
    """ChimeraBoost as plain symmetric boosting.

    Its extras (linear leaves, crossed features, refits, early stopping) are off.
    """

    package = "chimeraboost"
    growth = {"symmetric": "symmetric"}

    def estimator(self) -> Any:
        import chimeraboost

        s = self.settings
        return (
            chimeraboost.ChimeraBoostRegressor
            if self.task == "regression"
            else chimeraboost.ChimeraBoostClassifier
        )(
            n_estimators=s.trees,
            learning_rate=s.learning_rate,
            depth=s.depth,
            l2_leaf_reg=s.reg_lambda,
            max_bins=s.bins - 1,
            min_child_weight=s.min_child_weight,
            early_stopping=False,
            refit_full=False,
            linear_leaves=False,
            cross_features=False,
            leaf_estimation_iterations=1,
            thread_count=self.threads,
            random_state=s.seed,
        )


OURS = "gpuboost"
PEERS: dict[str, type[Peer]] = {
    OURS: GPUBoost,
    "xgboost": XGBoost,
    "lightgbm": LightGBM,
    "lightgbm-quantised": LightGBMQuantised,
    "catboost": CatBoost,
    "sklearn": SklearnHist,
    "chimeraboost": ChimeraBoost,
}


def available(name: str) -> bool:
    """Whether the library is installed."""
    return importlib.util.find_spec(PEERS[name].package) is not None
