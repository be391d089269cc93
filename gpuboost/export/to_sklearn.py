"""Trees and forests as scikit-learn's own fitted classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import sklearn.ensemble
import sklearn.tree
from sklearn.base import is_classifier

from gpuboost.export.tree_fields import LEAF, UNDEFINED, by_output
from gpuboost.model.ensemble import Ensemble, ensemble_of, votes
from gpuboost.model.tree import Tree

#: Splitters that have another name there.
SPLITTERS = {"exact": "best", "hist": "best", "midpoint": "random"}


def to_sklearn(model: Any) -> Any:
    """What the estimators' ``to_sklearn`` does."""
    ensemble = ensemble_of(model)
    names = ensemble.names()
    if ensemble.features.categories:
        nominal = ", ".join(repr(names[f]) for f in ensemble.features.categories)
        raise ValueError(
            f"to_sklearn cannot write {type(model).__name__} with nominal features ({nominal}): "
            "scikit-learn's trees compare numbers with a threshold, and have no sets of categories"
        )
    if ensemble.features.has_made_columns:
        raise ValueError(
            f"to_sklearn cannot write {type(model).__name__} with date_features: scikit-learn's "
            "trees make no parts of dates"
        )
    if "DecisionTree" in type(model).__name__:
        kind = getattr(sklearn.tree, type(model).__name__)
        return _fitted(_with_parameters(kind, model), model, _native(ensemble.trees[0], ensemble))
    kind = getattr(sklearn.ensemble, type(model).__name__)
    forest = _with_common(_with_parameters(kind, model), model)
    forest.estimator_ = forest.estimator
    forest.estimators_ = [_member(forest, tree, model) for tree in ensemble.trees]
    for name in ("oob_score_", "oob_prediction_", "oob_decision_function_"):
        if hasattr(model, name):
            setattr(forest, name, getattr(model, name))
    return forest


def _with_parameters(kind: Any, model: Any) -> Any:
    """An estimator of scikit-learn with the parameters that it shares with ours."""
    parameters = model.get_params(deep=False)
    known = kind().get_params(deep=False)
    shared = {name: value for name, value in parameters.items() if name in known}
    if "splitter" in shared:
        shared["splitter"] = SPLITTERS.get(parameters["splitter"], parameters["splitter"])
    if "ccp_alpha" in shared:  # which may be "cv"
        shared["ccp_alpha"] = getattr(model, "ccp_alpha_", parameters["ccp_alpha"])
    return kind(**shared)


def _with_common(estimator: Any, model: Any) -> Any:
    """Fitted attributes that trees and forests share."""
    estimator.n_features_in_ = model.n_features_in_
    estimator.n_outputs_ = model.n_outputs_
    if hasattr(model, "feature_names_in_"):
        estimator.feature_names_in_ = model.feature_names_in_
    if is_classifier(model):
        estimator.classes_, estimator.n_classes_ = model.classes_, model.n_classes_
    return estimator


def _fitted(estimator: Any, model: Any, tree: Any) -> Any:
    _with_common(estimator, model)
    estimator.max_features_, estimator.tree_ = model.max_features_, tree
    return estimator


def _member(forest: Any, tree: Tree, model: Any) -> Any:
    """A tree of a forest, which there knows the places of the classes only."""
    member = type(forest.estimator)()
    parameters = {name: getattr(forest, name) for name in forest.estimator_params}
    member.set_params(**parameters | {"random_state": None})
    ensemble = ensemble_of(model)
    member.n_features_in_, member.n_outputs_ = ensemble.n_features, ensemble.n_outputs
    if ensemble.classes is not None:
        sizes = [len(values) for values in ensemble.classes]
        places = [np.arange(size, dtype=np.float64) for size in sizes]
        alone = len(sizes) == 1
        member.classes_ = places[0] if alone else places
        member.n_classes_ = np.int64(sizes[0]) if alone else np.array(sizes)
    member.max_features_ = model[0].max_features_
    if ensemble.vote:
        tree = replace(tree, value=votes(tree.value, ensemble.first_channel))
    member.tree_ = _native(tree, ensemble)
    return member


def _native(tree: Tree, ensemble: Ensemble) -> Any:
    """The tree as scikit-learn's compiled code holds it; its nodes keep their numbers.

    The class and its records are private there: a fitted tree shows what they are.
    """
    inner = tree.left >= 0
    stump = sklearn.tree.DecisionTreeRegressor().fit([[0.0]], [0.0]).tree_
    nodes = np.zeros(len(inner), stump.__getstate__()["nodes"].dtype)
    fields = {
        "left_child": np.where(inner, tree.left, LEAF),
        "right_child": np.where(inner, tree.right, LEAF),
        "feature": np.where(inner, tree.feature, UNDEFINED),
        "threshold": np.where(inner, tree.threshold, UNDEFINED),
        "impurity": tree.impurity,
        "n_node_samples": tree.count,
        "weighted_n_node_samples": tree.cover,
        "missing_go_to_left": tree.missing_left,
    }
    for name, values in fields.items():
        nodes[name] = values
    n_outputs, classes = ensemble.n_outputs, ensemble.classes
    lengths = [1] * n_outputs if classes is None else [len(values) for values in classes]
    sizes = np.array(lengths, np.intp)
    native = type(stump)(ensemble.n_features, sizes, n_outputs)
    native.__setstate__(
        {
            "max_depth": int(tree.depth.max()),
            "node_count": len(inner),
            "nodes": nodes,
            "values": by_output(tree.value, ensemble.first_channel, int(sizes.max())),
        }
    )
    return native
