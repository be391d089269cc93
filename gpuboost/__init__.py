"""gpuboost: tree ensembles that train the same model, bit for bit, with any number of threads."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from gpuboost.training.callbacks import Callback, OptunaPruning, RoundState
    from gpuboost.training.checkpoint import Checkpoint

__version__ = "0.1.0"
__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "Callback",
    "Checkpoint",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GPUBoostClassifier",
    "GPUBoostRegressor",
    "ModelFormatError",
    "OptunaPruning",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RoundState",
    "__version__",
    "export_text",
    "importance",
    "load_model",
    "partial_dependence",
    "plot_importance",
    "plot_metric",
    "plot_tree",
]


#: Modules of the public names, which are imported when a name is first used: ``import gpuboost``
#: takes no time, and a command that is interrupted while it begins ends as it should.
_HOMES = {
    "gpuboost.estimators.adaboost": ("AdaBoostClassifier", "AdaBoostRegressor"),
    "gpuboost.estimators.boosting": ("GPUBoostClassifier", "GPUBoostRegressor"),
    "gpuboost.estimators.forest": (
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    ),
    "gpuboost.estimators.saving": ("load_model",),
    "gpuboost.estimators.tree": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
    "gpuboost.explain": ("importance",),
    "gpuboost.explain.partial_dependence": ("partial_dependence",),
    "gpuboost.export.text": ("export_text",),
    "gpuboost.model.file": ("ModelFormatError",),
    "gpuboost.plots.importance": ("plot_importance",),
    "gpuboost.plots.metric": ("plot_metric",),
    "gpuboost.plots.tree": ("plot_tree",),
    "gpuboost.training.callbacks": ("Callback", "OptunaPruning", "RoundState"),
    "gpuboost.training.checkpoint": ("Checkpoint",),
}


def __getattr__(name: str) -> Any:
    """A public name, at its first use."""
    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = value = getattr(__import__(home, fromlist=[name]), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """All public names."""
    return sorted({*globals(), *__all__})
