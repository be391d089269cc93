"""gpuboost: gradient boosting that trains the same model, bit for bit, with any number of threads."""

from gpuboost.estimators.boosting import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from gpuboost.export import export_text, plot_tree

__version__ = "0.1.0"
__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "GPUBoostClassifier",
    "GPUBoostRegressor",
    "__version__",
    "export_text",
    "plot_tree",
]
