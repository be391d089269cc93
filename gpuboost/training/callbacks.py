"""What users run between the rounds: they see where training is, and may steer or stop it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuboost.optional import load


@dataclass(frozen=True)
class RoundState:
    """Where training is, for callbacks; nothing in it can be changed.

    Attributes
    ----------
    round : int
        Number of the round that begins or has ended, counted from 0.
    n_rounds : int
        Rounds that there will be at most.
    learning_rate : float
        That of the round.
    scores : mapping
        The latest metrics: ``scores["validation_0"]["rmse"]``; empty before there are any.
    best_round : int or None
        With early stopping, the best round so far.
    best_score : float or None
        Its score.
    seconds : float
        Time since ``fit`` began to train.
    """

    round: int
    n_rounds: int
    learning_rate: float
    scores: Mapping[str, Mapping[str, float]]
    best_round: int | None
    best_score: float | None
    seconds: float


class Callback:
    """What is called before and after each round of gradient boosting.

    Derive from it, and override what is needed.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import gpuboost as gb
    >>> X, y = load_diabetes(return_X_y=True)
    >>> class Halving(gb.Callback):
    ...     def before_round(self, state):
    ...         return 0.5 ** (1 + state.round)
    ...
    ...     def after_round(self, state):
    ...         return state.scores["train"]["rmse"] < 50
    >>> model = gb.GPUBoostRegressor(callbacks=[Halving()])
    >>> model = model.fit(X, y, eval_set=(X, y), eval_names=["train"])
    >>> model.evals_result_["train"]["rmse"][-1] < 50, model.n_estimators_ < 100
    (True, True)
    """

    def before_round(self, state: RoundState) -> float | None:
        """Return the learning rate of the round; None leaves it as it is.

        Parameters
        ----------
        state : RoundState
            Where training is.

        Returns
        -------
        float or None
            The learning rate.
        """

    def after_round(self, state: RoundState) -> bool | None:
        """Return True to end training with this round.

        Parameters
        ----------
        state : RoundState
            Where training is, with the metrics of the round.

        Returns
        -------
        bool or None
            Whether to stop.
        """


class OptunaPruning(Callback):
    """Reports a metric of each round to a trial of Optuna, and ends trials that it prunes.

    Parameters
    ----------
    trial : optuna.trial.Trial
        The trial.
    eval_set, metric : str or None, default=None
        Names as in ``evals_result_``; None means the last one.

    Examples
    --------
    >>> import gpuboost as gb
    >>> def objective(trial):  # for optuna.create_study().optimize(objective)
    ...     depth = trial.suggest_int("max_depth", 2, 8)
    ...     model = gb.GPUBoostRegressor(
    ...         max_depth=depth, callbacks=[gb.OptunaPruning(trial)], validation_fraction=0.2
    ...     )
    ...     return model.fit(X, y).evals_result_["validation"]["rmse"][-1]
    """

    def __init__(self, trial: Any, eval_set: str | None = None, metric: str | None = None) -> None:
        self.trial, self.eval_set, self.metric = trial, eval_set, metric

    def after_round(self, state: RoundState) -> None:
        """Report, and raise ``optuna.TrialPruned`` if the trial is to end."""
        by_metric = _named("eval_set", self.eval_set, state.scores)
        self.trial.report(_named("metric", self.metric, by_metric), state.round)
        if self.trial.should_prune():
            raise load("optuna", "OptunaPruning").TrialPruned(f"pruned at round {state.round}")


def _named(what: str, name: str | None, known: Mapping[str, Any]) -> Any:
    """An entry by its name, or the last one."""
    if not known or (name is not None and name not in known):
        names = ", ".join(map(repr, known)) or "those of fit, which has none"
        raise ValueError(f"{what} of OptunaPruning must be one of {names}, or None; got {name!r}")
    return known[name] if name is not None else list(known.values())[-1]


def check_callbacks(callbacks: Any) -> list[Callback]:
    """The callbacks of a fit."""
    if callbacks is None:
        return []
    many = isinstance(callbacks, (list, tuple))
    if not many or not all(isinstance(one, Callback) for one in callbacks):
        raise TypeError(
            f"callbacks must be a list of gpuboost.Callback objects, or None; got {callbacks!r}"
        )
    return list(callbacks)
