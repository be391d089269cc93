"""Saving models and loading them again. ``docs/format.md`` describes the files; ``gpuboost.estimators._saving`` knows the estimators."""

from gpuboost.estimators._saving import load_model, save_model
from gpuboost.files import atomic_write
from gpuboost.model_file import ModelFormatError

__all__ = ["ModelFormatError", "atomic_write", "load_model", "save_model"]
