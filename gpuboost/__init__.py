"""gpuboost: gradient boosting that trains the same model, bit for bit, with any number of threads."""

from gpuboost import importance
from gpuboost.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
from gpuboost.estimators.boosting import GPUBoostClassifier, GPUBoostRegressor

__version__ = "0.1.0"
__all__ = ["AdaBoostClassifier", "AdaBoostRegressor", "GPUBoostClassifier", "GPUBoostRegressor", "__version__", "importance"]
