"""gpuboost: tree ensembles that train the same model, bit for bit, with any number of threads."""

from gpuboost import importance
from gpuboost.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
from gpuboost.estimators.boosting import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.estimators.forest import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from gpuboost.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from gpuboost.export import export_text, plot_tree
from gpuboost.io import ModelFormatError, load_model
from gpuboost.plots import plot_importance, plot_metric

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
    "plot_importance",
    "plot_metric",
    "plot_tree",
]
