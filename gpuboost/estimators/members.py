"""The trees of a model as estimators of one tree each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from gpuboost.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from gpuboost.model.ensemble import Ensemble, ensemble_of
from gpuboost.objectives.links import IDENTITY

#: Parameters of trees that concern what is grown, and that forests and AdaBoost have, too.
SHARED = (
    "criterion", "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf",
    "max_features", "max_leaf_nodes", "min_impurity_decrease", "categorical_split",
    "min_data_per_category", "cat_smooth", "max_cat_threshold", "unknown_category",
    "date_features", "sparse_missing", "device", "n_jobs",
)  # fmt: skip


class SequenceOfTrees:
    """Forests and AdaBoost as sequences of their trees."""

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted estimators: each predicts what it alone says.

        They know the names of the features and the classes, and predict these, where the trees of
        scikit-learn's forests predict the places of the classes.
        """
        return list(self)

    def __len__(self) -> int:
        """Number of trees."""
        return len(ensemble_of(self).trees)

    def __getitem__(self, index: Any) -> Any:
        """The tree of this number, or for a slice a list of them."""
        trees = range(len(self))[index]
        return self._member(trees) if isinstance(trees, int) else [*map(self._member, trees)]

    def __iter__(self) -> Iterator[Any]:
        """The trees, in order."""
        return map(self._member, range(len(self)))

    def _member(self, i: int) -> Any:
        ensemble = ensemble_of(self)
        one = replace(ensemble.with_trees([ensemble.trees[i]]), combine="mean", vote=False)
        return fitted_tree(self._bare_member(), one)

    def _bare_member(self) -> Any:
        """A tree that is not fitted yet."""
        kind = DecisionTreeClassifier if is_classifier(self) else DecisionTreeRegressor
        every: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        parameters = {name: every[name] for name in SHARED if name in every}
        parameters["splitter"] = splitter = self._splitter_of_trees()
        if splitter == "midpoint":
            parameters["max_features"] = None
        if splitter == "hist":
            parameters["max_bins"] = every["max_bins"]
        return kind(**parameters)

    def _splitter_of_trees(self) -> str:
        raise NotImplementedError


def fitted_tree(model: Any, ensemble: Ensemble) -> Any:
    """An estimator of one tree, with this tree."""
    model.n_features_in_ = ensemble.n_features
    if ensemble.feature_names is not None:
        model.feature_names_in_ = np.array(ensemble.feature_names, dtype=object)
    model.ccp_alpha_, model.ensemble_ = 0.0, ensemble
    return model


class RoundsOfTrees:
    """Gradient boosting as an array of its trees."""

    @property
    def estimators_(self) -> np.ndarray:
        """The trees as fitted regressors of scores, (n_rounds, trees_per_round).

        What they predict has the learning rate in it; their sum and the base score are the raw
        score. A round has a tree for each class or output, and one if there are two classes; or
        one tree that predicts all scores, with ``multi_strategy="vector_leaf"``.
        """
        ensemble = ensemble_of(self)
        members = np.empty(len(ensemble.trees), dtype=object)
        for i, tree in enumerate(ensemble.trees):
            unknown = np.full(len(tree.left), np.nan)  # boosting computes no impurities
            one = replace(
                ensemble.with_trees([replace(tree, impurity=unknown)]),
                base_score=np.zeros(tree.n_channels),
                first_channel=np.arange(tree.n_channels + 1, dtype=np.int32),
                combine="mean",
                link=IDENTITY,
                classes=None,
                n_used=-1,
            )
            sparse_missing: bool = self.sparse_missing  # type: ignore[attr-defined]
            bare = DecisionTreeRegressor(splitter="hist", sparse_missing=sparse_missing)
            members[i] = fitted_tree(bare, one)
        return members.reshape(-1, ensemble.trees_per_round)
