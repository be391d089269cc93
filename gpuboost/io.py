"""Loading saved models. ``docs/format.md`` describes the files; ``gpuboost.estimators._saving`` knows the estimators."""

from gpuboost.estimators._saving import load_model
from gpuboost.model_file import ModelFormatError

__all__ = ["ModelFormatError", "load_model"]
