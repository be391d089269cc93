"""CART: decision trees for classification and regression."""

from __future__ import annotations

from typing import Any

from gpuboost.backend import get_backend
from gpuboost.cart import GrowingTree, TreeGrower, TreeParams, check_choice
from gpuboost.estimators._classical import BaseClassical, Training
from gpuboost.tree import ClassicalForest

#: What the key of a tree is for: the first counter of ``Backend.mix_key``.
TREES = 4


class BaseDecisionTree(BaseClassical):
    """What both decision trees share."""

    def _tree_params(self, criteria: Any) -> TreeParams:
        check_choice("criterion", self.criterion, criteria)
        names = (
            "criterion", "splitter", "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf",
            "min_impurity_decrease", "max_leaf_nodes", "max_features", "categorical_split", "max_bins",
        )  # fmt: skip
        return TreeParams(**{name: getattr(self, name) for name in names})

    def _fit_tree(self, data: Training, params: TreeParams) -> ClassicalForest:
        with get_backend("cpu", self.n_jobs) as backend:
            grower = TreeGrower(data.coded(params, backend), data.targets, params, backend)
            return ClassicalForest([grower.grow(GrowingTree(data.weight, backend.mix_key(self._seed(), TREES)))])
