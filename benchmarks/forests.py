"""Adapters of forests and single trees, for every library that grows them.

All grow the same number of trees to the same depth and look at the same number of features in a
node. Bags differ by what a library can do: drawn with replacement, or without replacement with as
many different rows as a bag with replacement has."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from gpuboost.benchmarks.peers import OURS, FitTime, Peer

#: Forests of trees with a limit of depth, and without one.
FOREST_ORDERS = ("forest", "deep forest")
#: Part of the rows that a bag of as many draws as rows has.
BAG = 1.0 - math.exp(-1.0)


class GPUBoostForest(Peer):
    """This library's histogram forest."""

    package = "gpuboost"
    growth = {order: "histogram, bags with replacement" for order in FOREST_ORDERS}

    def estimator(self) -> Any:
        from gpuboost import RandomForestClassifier

        s = self.settings
        return RandomForestClassifier(
            s.trees,
            max_depth=s.depth,
            max_features=s.features,
            max_bins=s.bins,
            n_jobs=self.threads,
            random_state=s.seed,
        )


class SklearnForest(Peer):
    """scikit-learn's random forest."""

    package = "sklearn"
    growth = {order: "exact, bags with replacement" for order in FOREST_ORDERS}

    def estimator(self) -> Any:
        from sklearn.ensemble import RandomForestClassifier

        s = self.settings
        return RandomForestClassifier(
            s.trees,
            max_depth=s.depth,
            max_features=s.features,
            n_jobs=self.threads,
            random_state=s.seed,
        )


class XGBoostForest(Peer):
    """XGBoost's forest: one round of parallel trees.

    A row has a hessian of 1/4, so a child weight of 1/4 is one row.
    """

    package = "xgboost"
    growth = {order: "histogram, rows without replacement" for order in FOREST_ORDERS}

    def fit(self, x: np.ndarray, y: np.ndarray) -> FitTime:
        import xgboost

        s = self.settings
        params = {
            "objective": "binary:logistic",
            "tree_method": "hist",
            "num_parallel_tree": s.trees,
            "learning_rate": 1.0,
            "max_depth": s.depth or 0,
            "max_bin": s.bins,
            "subsample": BAG,
            "colsample_bynode": (s.features + 0.01) / x.shape[1],  # it rounds down
            "reg_lambda": 1e-5,
            "min_child_weight": 0.25,
            "base_score": 0.5,
            "nthread": self.threads,
            "seed": s.seed,
            "verbosity": 0,
        }
        start = time.perf_counter()
        data = xgboost.QuantileDMatrix(x, label=y, max_bin=s.bins, nthread=self.threads)
        binned = time.perf_counter()
        self.model = xgboost.train(params, data, num_boost_round=1)
        return FitTime(time.perf_counter() - start, binned - start)

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.model.inplace_predict(x)


class LightGBMForest(Peer):
    """LightGBM's forest, for a limited depth only.

    Without one it needs gigabytes for the histograms of all leaves that could be.
    """

    package = "lightgbm"
    growth = {"forest": "histogram, leaf-wise, rows without replacement"}

    def fit(self, x: np.ndarray, y: np.ndarray) -> FitTime:
        import lightgbm

        s = self.settings
        params = {
            "objective": "binary",
            "boosting": "rf",
            "bagging_freq": 1,
            "bagging_fraction": BAG,
            "feature_fraction_bynode": s.features / x.shape[1],
            "num_leaves": 2**s.depth,
            "max_depth": s.depth,
            "max_bin": s.bins - 1,
            "min_data_in_leaf": 1,
            "min_sum_hessian_in_leaf": 0.0,
            "num_threads": self.threads,
            "seed": s.seed,
            "verbosity": -1,
        }
        start = time.perf_counter()
        data = lightgbm.Dataset(x, label=y, params=params).construct()
        binned = time.perf_counter()
        self.model = lightgbm.train(params, data, num_boost_round=s.trees)
        return FitTime(time.perf_counter() - start, binned - start)

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.model.predict(x, num_threads=self.threads)


class GPUBoostTree(Peer):
    """This library's exact tree."""

    package = "gpuboost"
    growth = {"tree": "exact"}

    def estimator(self) -> Any:
        from gpuboost import DecisionTreeClassifier

        s = self.settings
        return DecisionTreeClassifier(
            splitter="exact", max_depth=s.depth, max_features=s.features, n_jobs=self.threads
        )


class SklearnTree(Peer):
    """scikit-learn's decision tree, which has one thread."""

    package = "sklearn"
    growth = {"tree": "exact"}

    def estimator(self) -> Any:
        from sklearn.tree import DecisionTreeClassifier

        s = self.settings
        return DecisionTreeClassifier(
            max_depth=s.depth, max_features=s.features, random_state=s.seed
        )


FORESTS: dict[str, type[Peer]] = {
    OURS: GPUBoostForest,
    "xgboost": XGBoostForest,
    "lightgbm": LightGBMForest,
    "sklearn": SklearnForest,
}
TREES: dict[str, type[Peer]] = {OURS: GPUBoostTree, "sklearn": SklearnTree}
