"""gpuboost: gradient boosting that trains the same model, bit for bit, with any number of threads."""

from gpuboost.estimators.boosting import GPUBoostClassifier, GPUBoostRegressor

__version__ = "0.1.0"
__all__ = ["GPUBoostClassifier", "GPUBoostRegressor", "__version__"]
