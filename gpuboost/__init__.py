"""gpuboost: tree ensembles that train the same model, bit for bit, with any number of threads."""

from gpuboost.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
from gpuboost.estimators.boosting import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.estimators.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from gpuboost.estimators.saving import load_model
from gpuboost.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from gpuboost.explain import importance
from gpuboost.explain.partial_dependence import partial_dependence
from gpuboost.export.text import export_text
from gpuboost.model.file import ModelFormatError
from gpuboost.plots.importance import plot_importance
from gpuboost.plots.metric import plot_metric
from gpuboost.plots.tree import plot_tree

__version__ = "0.1.0"
__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GPUBoostClassifier",
    "GPUBoostRegressor",
    "ModelFormatError",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "__version__",
    "export_text",
    "importance",
    "load_model",
    "partial_dependence",
    "plot_importance",
    "plot_metric",
    "plot_tree",
]
