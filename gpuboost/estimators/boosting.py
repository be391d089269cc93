"""Gradient boosting: a regressor and a classifier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from gpuboost.backend import Backend, on_host
from gpuboost.config import BoostParams
from gpuboost.data.checks import (
    check_class_weight,
    check_numbers,
    check_weight,
    class_codes,
    weights_by_class,
)
from gpuboost.data.features import FeatureMap
from gpuboost.estimators.base import BaseBoost, TreesOfClasses, logarithms
from gpuboost.estimators.eval_sets import eval_pairs
from gpuboost.estimators.members import RoundsOfTrees
from gpuboost.objectives.losses import OBJECTIVES

DEFAULT = BoostParams()


class GPUBoostRegressor(RegressorMixin, RoundsOfTrees, BaseBoost):
    """Gradient boosting for regression.

    Parameters
    ----------
    objective : {"squared_error"}, default="squared_error"
        Loss to minimise.
    n_estimators : int, default=100
        Boosting rounds.
    learning_rate : float, default=0.1
        Factor on every leaf value.
    max_depth : int or None, default=None
        Most splits between the root and a leaf. None: 6, or no limit for leaf-wise growth.
    max_leaves : int or None, default=None
        Most leaves of a tree. None: no limit, or 31 for leaf-wise growth.
    leaves_per_step : int, default=1
        Leaves that leaf-wise growth splits at once: the ones with the highest gains. More than 1
        takes fewer steps, which a GPU likes; the last few leaves may then differ from those of
        one-by-one growth.
    grow_policy : {"depthwise", "leafwise", "symmetric"}, default="depthwise"
        Order of growth: level by level, always the leaf with the highest gain, or one split for all
        nodes of a level.
    max_bins : int, default=256
        Most bins for a feature's values, 2 to 256. Missing values have a bin of their own; as a bin
        is one byte, 256 leaves 255 for values.
    min_child_weight : float, default=1.0
        Least sum of hessians in a leaf.
    min_samples_leaf : int, default=1
        Least number of training rows in a leaf.
    min_split_gain : float, default=0.0
        Least gain of a split: G ** 2 / (H + reg_lambda) of both sides, less that of the node. This
        is twice the textbook's loss reduction, so it is 2 * gamma of a formula with a factor 1/2;
        as a parameter it is XGBoost's ``gamma`` and LightGBM's ``min_split_gain``, which leave out
        the 1/2 too. With symmetric growth, least sum of the gains of a level.
    reg_lambda : float, default=1.0
        L2 penalty on leaf values.
    reg_alpha : float, default=0.0
        L1 penalty on leaf values.
    max_delta_step : float, default=0.0
        Largest leaf value before ``learning_rate``; 0 means no limit.
    subsample : float, default=1.0
        Chance of each row to be used in a round.
    colsample_bytree, colsample_bylevel, colsample_bynode : float, default=1.0
        Fractions of the features drawn for a tree, from those for a level, and from those for a
        node.
    monotone_constraints : dict, list or array of shape (n_features,), default=None
        1 for features along which predictions may only rise, -1 for those along which they may only
        fall, 0 for all others. A dict gives them by name or number, and features that it does not
        name are free. The whole model is monotone then: of two rows that differ in such a feature
        alone, both without missing values in it, the raw scores are in order. Where missing values
        go is free. Not for three classes or more.
    early_stopping_rounds : int or None, default=None
        Stop when the last metric on the last eval set has not improved for this many rounds;
        predictions then use the best round.
    eval_metric : str, callable or list, default=None
        Metrics on the eval sets: "rmse", "mae"; a function ``metric(y, prediction)``, of which less
        is better unless its attribute ``greater_is_better`` is True; or a scikit-learn scorer. A
        function that has an argument ``sample_weight`` gets the weights of the eval set, if it has
        some. None: the loss.
    importance_type : {"gain", "split", "cover"}, default="gain"
        What ``feature_importances_`` adds up over a feature's splits.
    device : {"auto", "cpu", "cuda", "cuda:N"}, default="auto"
        Where to train; the model does not depend on it. "auto" takes a GPU if there is one and X
        has 16 million entries or more. "auto" and "cuda" take the device that X is on, if it is on
        one.
    n_jobs : int or None, default=None
        Threads; None or -1 means all cores, and more than there are cores count as all of them.
        The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of row and column sampling and of rounding. None means 0: training is always
        repeatable.
    verbose : int, default=0
        0: quiet. 1: a progress bar with the metrics on a terminal, up to ten lines elsewhere. More:
        a line every this many rounds. On standard error.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Importance of each feature, adding up to 1.
    n_estimators_ : int
        Rounds that were trained.
    estimators_ : ndarray of DecisionTreeRegressor of shape (n_rounds, trees_per_round)
        The trees as fitted regressors: their predictions add up to the raw score.
    evals_result_ : dict
        Metrics of every eval set and round: ``evals_result_["validation_0"]["rmse"]``.
    best_iteration_ : int
        Best round, counted from 0; only with early stopping.
    best_score_ : float
        Its score; only with early stopping.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gpuboost import GPUBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GPUBoostRegressor(n_estimators=50, max_depth=3).fit(X, y)
    >>> bool(model.score(X, y) > 0.6)
    True
    """

    _objectives = ("squared_error",)

    def __init__(
        self,
        *,
        objective: str = "squared_error",
        n_estimators: int = DEFAULT.n_estimators,
        learning_rate: float = DEFAULT.learning_rate,
        max_depth: int | None = DEFAULT.max_depth,
        max_leaves: int | None = DEFAULT.max_leaves,
        leaves_per_step: int = DEFAULT.leaves_per_step,
        grow_policy: str = DEFAULT.grow_policy,
        max_bins: int = DEFAULT.max_bins,
        min_child_weight: float = DEFAULT.min_child_weight,
        min_samples_leaf: int = DEFAULT.min_samples_leaf,
        min_split_gain: float = DEFAULT.min_split_gain,
        reg_lambda: float = DEFAULT.reg_lambda,
        reg_alpha: float = DEFAULT.reg_alpha,
        max_delta_step: float = DEFAULT.max_delta_step,
        subsample: float = DEFAULT.subsample,
        colsample_bytree: float = DEFAULT.colsample_bytree,
        colsample_bylevel: float = DEFAULT.colsample_bylevel,
        colsample_bynode: float = DEFAULT.colsample_bynode,
        monotone_constraints: Any = None,
        early_stopping_rounds: int | None = DEFAULT.early_stopping_rounds,
        eval_metric: Any = None,
        importance_type: str = "gain",
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = DEFAULT.verbose,
    ) -> None:
        self._keep_parameters(locals())

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_sample_weight: Any = None,
        eval_X: Any = None,
        eval_y: Any = None,
    ) -> GPUBoostRegressor:
        """Train on a set of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; NaN means missing. A CuPy array, or anything on a CUDA device that speaks
            ``__cuda_array_interface__`` or DLPack, or a cuDF frame: training is where it is, and X
            is not copied to the host.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a row of weight 0 is as if it were not there.
        eval_set : pair (X, y), or list or tuple of pairs, default=None
            Sets to evaluate on after every round. An empty list is the same as None.
        eval_sample_weight : list of array-like, default=None
            Weights for each eval set.
        eval_X, eval_y : array-like, or tuple of them, default=None
            The same sets as ``eval_set`` would have, X and y apart, so that a pipeline can
            transform X: ``Pipeline(steps, transform_input=["eval_X"])``. A tuple has several sets.

        Returns
        -------
        self
            The fitted estimator.
        """
        params = self._check_params()
        objective = self._named_objective()
        with self._unchanged_on_error():
            X, y = self._check_xy(X, y)
            y = check_numbers("y", y, len(X))
            weight = check_weight(on_host(sample_weight), len(X))
            pairs = eval_pairs(eval_set, eval_X, eval_y)
            evals = self._check_evals(pairs, eval_sample_weight, params)
            features = FeatureMap.of_numbers(X.shape[1])
            fitted = self._fit_boosting(X, features, y, weight, evals, objective, None, params)
            self._set_fitted(*fitted, params)
        return self

    def _check_eval_y(self, name: str, y: Any, n_rows: int) -> np.ndarray:
        return check_numbers(name, y, n_rows)

    def predict(self, X: Any) -> Any:
        """Predict targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        return self._predict(X, self._from_raw)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict targets after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.

        Yields
        ------
        ndarray of shape (n_samples,)
            Predictions after 1, 2, ... rounds.
        """
        yield from self._staged(X, self._from_raw)


class GPUBoostClassifier(TreesOfClasses, RoundsOfTrees, BaseBoost):
    """Gradient boosting for two or more classes; with one class in y it predicts that class.

    Parameters
    ----------
    objective : {"log_loss", "exponential"}, default="log_loss"
        Loss to minimise. "exponential" is the loss of AdaBoost, for two classes only; it gives
        wrong labels much more weight.
    n_estimators : int, default=100
        Boosting rounds.
    learning_rate : float, default=0.1
        Factor on every leaf value.
    max_depth : int or None, default=None
        Most splits between the root and a leaf. None: 6, or no limit for leaf-wise growth.
    max_leaves : int or None, default=None
        Most leaves of a tree. None: no limit, or 31 for leaf-wise growth.
    leaves_per_step : int, default=1
        Leaves that leaf-wise growth splits at once: the ones with the highest gains. More than 1
        takes fewer steps, which a GPU likes; the last few leaves may then differ from those of
        one-by-one growth.
    grow_policy : {"depthwise", "leafwise", "symmetric"}, default="depthwise"
        Order of growth: level by level, always the leaf with the highest gain, or one split for all
        nodes of a level.
    max_bins : int, default=256
        Most bins for a feature's values, 2 to 256. Missing values have a bin of their own; as a bin
        is one byte, 256 leaves 255 for values.
    min_child_weight : float, default=1.0
        Least sum of hessians in a leaf.
    min_samples_leaf : int, default=1
        Least number of training rows in a leaf.
    min_split_gain : float, default=0.0
        Least gain of a split: G ** 2 / (H + reg_lambda) of both sides, less that of the node. This
        is twice the textbook's loss reduction, so it is 2 * gamma of a formula with a factor 1/2;
        as a parameter it is XGBoost's ``gamma`` and LightGBM's ``min_split_gain``, which leave out
        the 1/2 too. With symmetric growth, least sum of the gains of a level.
    reg_lambda : float, default=1.0
        L2 penalty on leaf values.
    reg_alpha : float, default=0.0
        L1 penalty on leaf values.
    max_delta_step : float, default=0.0
        Largest leaf value before ``learning_rate``; 0 means no limit.
    subsample : float, default=1.0
        Chance of each row to be used in a round.
    colsample_bytree, colsample_bylevel, colsample_bynode : float, default=1.0
        Fractions of the features drawn for a tree, from those for a level, and from those for a
        node.
    monotone_constraints : dict, list or array of shape (n_features,), default=None
        1 for features along which predictions may only rise, -1 for those along which they may only
        fall, 0 for all others. A dict gives them by name or number, and features that it does not
        name are free. The whole model is monotone then: of two rows that differ in such a feature
        alone, both without missing values in it, the raw scores are in order. Where missing values
        go is free. Not for three classes or more.
    early_stopping_rounds : int or None, default=None
        Stop when the last metric on the last eval set has not improved for this many rounds;
        predictions then use the best round.
    eval_metric : str, callable or list, default=None
        Metrics on the eval sets: "logloss", "exponential", "error", "auc" for two classes,
        "mlogloss", "merror" for more; a function ``metric(y, probability)``, of which less is
        better unless its attribute ``greater_is_better`` is True; or a scikit-learn scorer. A
        function gets the codes of the classes (their places in ``classes_``) and the probabilities
        of the second of two classes, shape (n_samples,), or of all classes, shape
        (n_samples, n_classes). One that has an argument ``sample_weight`` gets the weights of the
        eval set, if it has some. None: the loss.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``.
    importance_type : {"gain", "split", "cover"}, default="gain"
        What ``feature_importances_`` adds up over a feature's splits.
    device : {"auto", "cpu", "cuda", "cuda:N"}, default="auto"
        Where to train; the model does not depend on it. "auto" takes a GPU if there is one and X
        has 16 million entries or more. "auto" and "cuda" take the device that X is on, if it is on
        one.
    n_jobs : int or None, default=None
        Threads; None or -1 means all cores, and more than there are cores count as all of them.
        The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of row and column sampling and of rounding. None means 0: training is always
        repeatable.
    verbose : int, default=0
        0: quiet. 1: a progress bar with the metrics on a terminal, up to ten lines elsewhere. More:
        a line every this many rounds. On standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Importance of each feature, adding up to 1.
    n_estimators_ : int
        Rounds that were trained.
    estimators_ : ndarray of DecisionTreeRegressor of shape (n_rounds, trees_per_round)
        The trees as fitted regressors: their predictions add up to the raw score.
    evals_result_ : dict
        Metrics of every eval set and round: ``evals_result_["validation_0"]["logloss"]``.
    best_iteration_ : int
        Best round, counted from 0; only with early stopping.
    best_score_ : float
        Its score; only with early stopping.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from gpuboost import GPUBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GPUBoostClassifier(n_estimators=20, max_depth=3).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _objectives = ("log_loss", "exponential")

    def __init__(
        self,
        *,
        objective: str = "log_loss",
        n_estimators: int = DEFAULT.n_estimators,
        learning_rate: float = DEFAULT.learning_rate,
        max_depth: int | None = DEFAULT.max_depth,
        max_leaves: int | None = DEFAULT.max_leaves,
        leaves_per_step: int = DEFAULT.leaves_per_step,
        grow_policy: str = DEFAULT.grow_policy,
        max_bins: int = DEFAULT.max_bins,
        min_child_weight: float = DEFAULT.min_child_weight,
        min_samples_leaf: int = DEFAULT.min_samples_leaf,
        min_split_gain: float = DEFAULT.min_split_gain,
        reg_lambda: float = DEFAULT.reg_lambda,
        reg_alpha: float = DEFAULT.reg_alpha,
        max_delta_step: float = DEFAULT.max_delta_step,
        subsample: float = DEFAULT.subsample,
        colsample_bytree: float = DEFAULT.colsample_bytree,
        colsample_bylevel: float = DEFAULT.colsample_bylevel,
        colsample_bynode: float = DEFAULT.colsample_bynode,
        monotone_constraints: Any = None,
        early_stopping_rounds: int | None = DEFAULT.early_stopping_rounds,
        eval_metric: Any = None,
        class_weight: Any = None,
        importance_type: str = "gain",
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = DEFAULT.verbose,
    ) -> None:
        self._keep_parameters(locals())

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_sample_weight: Any = None,
        eval_X: Any = None,
        eval_y: Any = None,
    ) -> GPUBoostClassifier:
        """Train on a set of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; NaN means missing. A CuPy array, or anything on a CUDA device that speaks
            ``__cuda_array_interface__`` or DLPack, or a cuDF frame: training is where it is, and X
            is not copied to the host.
        y : array-like of shape (n_samples,)
            Classes: numbers or strings.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a row of weight 0 is as if it were not there.
        eval_set : pair (X, y), or list or tuple of pairs, default=None
            Sets to evaluate on after every round. An empty list is the same as None.
        eval_sample_weight : list of array-like, default=None
            Weights for each eval set.
        eval_X, eval_y : array-like, or tuple of them, default=None
            The same sets as ``eval_set`` would have, X and y apart, so that a pipeline can
            transform X: ``Pipeline(steps, transform_input=["eval_X"])``. A tuple has several sets.

        Returns
        -------
        self
            The fitted estimator.
        """
        params = self._check_params()
        check_class_weight(self.class_weight)
        binary = self._named_objective()
        with self._unchanged_on_error():
            X, y = self._check_xy(X, y)
            check_classification_targets(y)
            classes, codes = np.unique(y, return_inverse=True)
            weight = check_weight(on_host(sample_weight), len(X))
            if self.class_weight is not None:
                by_class = weights_by_class(self.class_weight, y)
                weight = check_weight(
                    by_class * weight if weight.size else by_class, len(X), "class_weight"
                )
            if len(classes) > 2 and self.objective == "exponential":
                raise ValueError(
                    f"objective='exponential' is for two classes, y has {len(classes)}; use "
                    "objective='log_loss' or AdaBoostClassifier"
                )
            objective = binary if len(classes) == 2 else OBJECTIVES["multi_log_loss"]
            if len(classes) == 1:
                objective = replace(OBJECTIVES["one_class"], metric=binary.metric)
            pairs = eval_pairs(eval_set, eval_X, eval_y)
            evals = [
                (ex, class_codes(name, ey, classes).astype(np.float64), ew)
                for ex, (name, ey), ew in self._check_evals(pairs, eval_sample_weight, params)
            ]
            features = FeatureMap.of_numbers(X.shape[1])
            ensemble, history = self._fit_boosting(
                X, features, codes.astype(np.float64), weight, evals, objective, classes, params
            )
            self._set_fitted(replace(ensemble, classes=[classes]), history, params)
        return self

    def _check_eval_y(self, name: str, y: Any, n_rows: int) -> tuple[str, np.ndarray]:
        y = np.asarray(y)
        if y.shape != (n_rows,):
            raise ValueError(
                f"{name} must have one entry for each of its {n_rows} rows; got shape {y.shape}"
            )
        return name, y

    def _labels(self, backend: Backend, raw: Any) -> Any:
        return backend.labels(raw, self.classes_)

    def decision_function(self, X: Any) -> Any:
        """Raw scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Log odds of the second of two classes (half of them with the exponential objective), or
            a score for each class.
        """
        return self._predict(X, scores_by_row)

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        return self._predict(X, self._from_raw)

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms of what ``predict_proba`` returns; minus infinity for a probability of 0.
        """
        return self._predict(
            X, lambda backend, raw: logarithms(backend, self._from_raw(backend, raw))
        )

    def predict(self, X: Any) -> Any:
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.

        Returns
        -------
        ndarray of shape (n_samples,)
            The most probable class of each row; for rows on a device a CuPy array, unless the
            classes are not numbers.
        """
        return self._predict(X, self._labels)

    def staged_decision_function(self, X: Any) -> Iterator[Any]:
        """Raw scores after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            What ``decision_function`` returns, after 1, 2, ... rounds.
        """
        yield from self._staged(X, scores_by_row)

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Predict probabilities after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Probabilities after 1, 2, ... rounds.
        """
        yield from self._staged(X, self._from_raw)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict classes after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.

        Yields
        ------
        ndarray of shape (n_samples,)
            Classes after 1, 2, ... rounds.
        """
        yield from self._staged(X, self._labels)


def scores_by_row(_: Backend, raw: Any) -> Any:
    """Raw scores (n_channels, n_rows) as (n_rows,) or (n_rows, n_channels)."""
    return raw[0] if len(raw) == 1 else raw.T.copy()
