"""Gradient boosting: a regressor and a classifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from gpuboost.backend import Backend, on_host
from gpuboost.config import RANGES, BoostParams
from gpuboost.data.checks import (
    check_class_weight,
    check_labels,
    check_targets,
    check_weight,
    weights_by_class,
)
from gpuboost.estimators.base import TreesOfClasses, logarithms
from gpuboost.estimators.base_boost import BaseBoost
from gpuboost.estimators.eval_sets import eval_pairs
from gpuboost.estimators.members import RoundsOfTrees
from gpuboost.estimators.outputs import (
    eval_codes,
    labels_as_classes,
    labels_of_outputs,
    scores_by_row,
)
from gpuboost.model.ensemble import ensemble_of
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.objectives.regression import REGRESSION

DEFAULT = BoostParams()


class GPUBoostRegressor(RegressorMixin, RoundsOfTrees, BaseBoost):
    """Histogram gradient boosting regressor.

    Parameters
    ----------
    objective : str, default="squared_error"
        Loss to minimize: "squared_error", "absolute_error", "huber", "adaptive_huber",
        "pseudo_huber", "log_cosh", "quantile" or "expectile"; for counts and amounts "poisson",
        "gamma" or "tweedie", whose prediction is e to the raw score; for shares and probabilities
        "cross_entropy", whose raw score is log odds; for the whole distribution of y "normal" or
        "log_normal", by natural gradients.
    alpha : float, list of float or None, default=None
        Level of the quantile or expectile, from 0 to 1; None means 0.5. With
        ``objective="quantile"`` a list of levels in ascending order: predictions are then
        (n_samples, n_levels), and never cross. With
        ``objective="adaptive_huber"``, the share of the rows whose residuals are not cut off in an
        iteration; None means 0.9. Other losses have no alpha.
    delta : float or None, default=None
        Size of the residuals from which ``objective="huber"`` and ``"pseudo_huber"`` grow like the
        absolute error; None means 1. Other losses have no delta.
    power : float or None, default=None
        With ``objective="tweedie"``, the power of the mean that the variance is proportional to,
        between 1 and 2; None means 1.5. Other losses have no power.
    base_score : float or array-like, default=None
        Raw score before the first tree, or one for each output or class: a value of y, or its
        logarithm where the prediction is e to the raw score. None means the constant with the
        lowest loss.
    n_estimators : int, default=100
        Number of boosting iterations. For several classes or outputs, one tree for each is grown
        in each iteration.
    learning_rate : float, list of float, or callable, default=0.1
        Step size: every leaf value is multiplied by it. A list has a number for each iteration; a
        function is called with the number of the iteration, counted from 0.
    max_depth : int or None, default=None
        Maximum depth of a tree. None means 6, or no limit with ``grow_policy="leafwise"``.
    max_leaves : int or None, default=None
        Maximum number of leaves of a tree. None means no limit, or 31 with
        ``grow_policy="leafwise"``.
    leaves_per_step : int, default=1
        Number of leaves that leaf-wise growth splits at once: those with the highest gains. Values
        above 1 need fewer steps, which is faster on a GPU; the last leaves may differ from those of
        one-by-one growth.
    grow_policy : {"auto", "depthwise", "leafwise", "symmetric"}, default="auto"
        "depthwise": level by level. "leafwise": the leaf with the highest gain first. "symmetric":
        the same split for all nodes of a level (oblivious trees). "auto": "symmetric" with early
        stopping if ``n_estimators * learning_rate`` is at least 50 and neither ``max_leaves`` nor
        ``forced_splits`` is given, and "depthwise" otherwise.
    max_bins : int, default=256
        Maximum number of bins per feature, from 2 to 256. One bin is reserved for missing values,
        so 256 means 255 bins for values.
    min_child_weight : float, default=1.0
        Minimum sum of hessians in a leaf.
    min_samples_leaf : int, default=1
        Minimum number of training rows in a leaf.
    min_split_gain : float, default=0.0
        Minimum gain of a split. The gain is G ** 2 / (H + reg_lambda), summed over both children,
        minus that of the node, without the factor 1/2 of some textbooks: this is XGBoost's
        ``gamma`` and LightGBM's ``min_split_gain``. With symmetric growth, the minimum of the
        summed gains of a level.
    prune : bool, default=False
        Whether ``min_split_gain`` prunes grown trees from the bottom, as in the XGBoost paper,
        instead of ending their growth: a split with a low gain then stays if one below it has a
        higher one. Not for symmetric growth.
    reg_lambda : float, default=1.0
        L2 regularization of leaf values.
    reg_alpha : float, default=0.0
        L1 regularization of leaf values.
    max_delta_step : float, default=0.0
        Maximum absolute leaf value before ``learning_rate`` is applied; 0 means no limit.
    subsample : float, default=1.0
        Share of the rows that are drawn in an iteration, on average.
    sampling_method : {"uniform", "goss", "mvs"}, default="uniform"
        How rows are drawn if ``subsample`` is below 1. "uniform": all with the same probability.
        "mvs" (minimal variance sampling): with probabilities that grow with the size of the
        gradients. "goss" (gradient-based one-side sampling): those with the largest gradients, and
        a random choice of the others. With "mvs" and "goss" a row that is drawn with probability p
        counts 1 / p times, so that sums over the rows are right on average.
    top_rate : float or None, default=None
        Share of all rows that ``sampling_method="goss"`` keeps for their large gradients; the rest
        of ``subsample`` is drawn from the other rows. None means a third of ``subsample``.
    oob_score : bool, default=False
        Whether to estimate the metrics of new rows from the rows that are not drawn:
        ``evals_result_["out_of_bag"]`` begins with the metrics before the first iteration and adds
        up how much each iteration changes those of the rows that it has not seen. Needs sampling.
        Early stopping uses this curve if there is no evaluation set.
    colsample_bytree, colsample_bylevel, colsample_bynode : float, default=1.0
        Fraction of the features that are sampled for each tree; of these for each level; and of
        these for each node.
    multi_strategy : {"one_tree_per_output", "vector_leaf"}, default="one_tree_per_output"
        How several outputs, or more than two classes, are predicted. "one_tree_per_output": by a
        tree for each in every iteration. "vector_leaf": by one tree with a value for each in its
        leaves, whose splits are found from a random projection of their gradients, so that training
        is several times as fast; more iterations may be needed. The same for one output.
    categorical_features : "auto", None, or array-like of int, str or bool, default="auto"
        Columns of categories: their numbers, names or a mask; None for no column. "auto": columns
        of a frame that hold text or have a dtype of categories, and columns of text of other
        tables. Categories are text or numbers.
    unknown_category : {"missing", "error", "prior"}, default="missing"
        What a category is in rows to predict that training has not seen: a missing value, or an
        error. With "prior" its mean target is that of all training rows, in columns of which trees
        see mean targets (``categorical_encoding``); in others it is a missing value.
    cat_smooth : float, default=10.0
        Smoothing of the order in which categories are put into sets, gradient / (hessian +
        cat_smooth): higher values move categories with few rows to the middle.
    max_cat_to_onehot : int, default=4
        Maximum number of categories in a node of which each one is split from all others. With more
        categories, sets of them are tried.
    max_cat_threshold : int, default=32
        Maximum number of categories in the set of a split; all others go the other way.
    min_data_per_category : int, default=10
        Minimum number of training rows that a category needs in a node to be put into a set. They
        are counted by the category's share of the hessians.
    categorical_encoding : {"auto", "partition", "target", "both"}, default="auto"
        How categorical columns reach the trees. "partition": they are split into sets of
        categories. "target": trees see the mean target of each category, for each class if there
        are three or more, and how many rows it has; training rows get the mean of the rows of their
        category that come before them in a random order, so that none sees its own target. All
        categories have means, and pairs of columns with many categories have them, too. "both":
        trees see the categories and the means. "auto": "target" for columns with more than 64
        categories, "partition" for others.
    monotone_constraints : dict, list or array of shape (n_features,), default=None
        1 for features with which predictions may only increase, -1 for those with which they may
        only decrease, 0 for no constraint. A dict maps feature names or numbers to these values;
        features that are not listed have no constraint. The constraint holds for the raw score of
        the whole model, between rows that differ in one such feature only and have no missing value
        in it. Not available for three or more classes.
    interaction_constraints : {"pairwise", "no_interactions"} or list of lists, default=None
        Groups of features, by name or number, that may interact: the features that split the rows
        on the way to a leaf are all in one group. A feature may be in several groups; features that
        are in none are one more group, as in scikit-learn's HistGradientBoosting: what is not
        mentioned is as free as it can be without interacting with what is. "pairwise": at most two
        features on each way, "no_interactions": one.
    feature_weights : dict, list or array of shape (n_features,), default=None
        Weights by which ``colsample_bytree``, ``colsample_bylevel`` and ``colsample_bynode`` draw
        features: one after another, each with a probability in proportion to its weight among those
        that are left. Features that a dict does not mention have weight 1. A feature of weight 0 is
        never used, and fractions are of the features above 0.
    feature_penalties : dict, list or array of shape (n_features,), default=None
        What the model pays for a feature when it first uses it: this is subtracted from the gains
        of its splits until a split on it has been made, in this tree or one before. Nodes that are
        searched at the same time pay each, and gains that were found before stay; with symmetric
        growth a level pays once. Features that a dict does not mention cost nothing.
    forced_splits : dict, list, str or path-like, default=None
        Splits at the top of every tree, as LightGBM takes them: a dict with "feature" (name or
        number), "threshold" and, if wanted, "left" and "right", which are such dicts again, or the
        name of a JSON file with it. With symmetric growth, a list with a dict for each level.
        A threshold becomes the nearest cut of the feature. Forced splits are made first, whatever
        their gain; one that would leave a side with too few rows or too little weight, or break a
        monotonic constraint, is left out, with those below it. Their features are in every tree.
    early_stopping_rounds : int or None, default=None
        Stop training when a metric has not improved for this many iterations: by default the last
        metric on the last evaluation set. Predictions then use the best iteration. None means no
        early stopping.
    min_delta : float, default=0.0
        How much better than the best one so far a score must be to count as an improvement, for
        early stopping.
    stopping_metric, stopping_set : str or None, default=None
        Names of the metric and of the evaluation set that decide on early stopping, as in
        ``evals_result_``. None means the last one.
    validation_fraction : float or None, default=None
        Share of the training rows that is held out and takes the place of an evaluation set, with
        the name "validation". None means that all rows are trained on.
    validation_split : {"random", "last"}, default="random"
        Which rows ``validation_fraction`` holds out. "random": a random choice, of classes the same
        share of each, or whole groups if ``fit`` is given ``groups``. "last": those behind all
        others, for rows in the order of time.
    refit : bool, default=False
        Whether to train again on all rows after early stopping with ``validation_fraction``, for as
        many iterations as were best, times the ratio of the numbers of rows. ``evals_result_`` and
        ``best_score_`` are those of the first training.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the model that is there, if there is one, until it has
        ``n_estimators`` iterations. With the same data and parameters the model is the one that
        all iterations at once give, bit for bit.
    max_time : float or None, default=None
        Seconds after which no further iteration begins; there is one at least. The number of
        iterations, ``n_estimators_``, then depends on the machine.
    boosting : {"gbtree", "dart"}, default="gbtree"
        "gbtree": every tree follows all earlier ones. "dart": every iteration leaves some earlier
        ones out, which share their weight with the new trees afterwards (dropouts). Without early
        stopping and ``oob_score``, as the trees of an iteration change later.
    rate_drop : float, default=0.1
        With "dart", the probability with which each earlier iteration is left out.
    skip_drop : float, default=0.5
        With "dart", the probability with which an iteration leaves none out.
    normalize_type : {"tree", "forest"}, default="tree"
        With "dart", the weight of the new trees when k iterations were left out. "tree":
        1 / (k + learning_rate), the others are multiplied by k / (k + learning_rate). "forest":
        1 / (1 + learning_rate) for all of them.
    callbacks : list of Callback or None, default=None
        Objects that are called before and after each iteration: ``gpuboost.Checkpoint``,
        ``gpuboost.OptunaPruning`` or classes derived from ``gpuboost.Callback``.
    eval_metric : str, callable or list, default=None
        Metrics that are computed on the evaluation sets: "rmse", "mae", "mape", "rmsle", the one of
        the objective (such as "quantile" or "poisson_deviance"), functions, scikit-learn scorers,
        or a list of these. A function is called as ``metric(y, prediction)``; lower is better
        unless it has an attribute ``greater_is_better`` that is True, or is a score of
        ``sklearn.metrics``. If it has an argument ``sample_weight``, it gets the weights of the
        evaluation set. None means the objective.
    importance_type : {"gain", "split", "cover"}, default="gain"
        What ``feature_importances_`` sums over the splits on a feature: their gains, their number,
        or the weight of the rows that they split.
    date_features : list of str, dict of lists, or None, default=None
        Parts of dates that trees see as further columns: "year", "month", "day", "dayofyear",
        "weekday" (0 is Monday), "hour" and "minute". A list is for all columns of dates, a dict
        maps names or numbers of columns to lists.
    sparse_missing : bool, default=False
        Whether values that a sparse matrix does not store are missing values instead of zeros.
    device : {"auto", "cpu", "cuda", "cuda:N"}, default="auto"
        Device for training; the model does not depend on it. "auto" uses a GPU if there is one and
        X has 16 million values or more. If X is on a GPU, "auto" and "cuda" use that GPU.
    n_jobs : int or None, default=None
        Number of threads. None and -1 mean all cores, and so does any number above the number of
        cores. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed for row and column sampling and for stochastic rounding. None means 0, so training is
        always repeatable.
    verbose : int, default=0
        0 prints nothing. 1 shows a progress bar with the metrics on a terminal, and up to ten lines
        elsewhere. Higher values print a line every that many iterations. Output goes to standard
        error.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Importance of each feature; the values sum to 1.
    n_estimators_ : int
        Number of iterations that were trained.
    estimators_ : ndarray of DecisionTreeRegressor of shape (n_rounds, trees_per_round)
        The trees as fitted regressors: their predictions add up to the raw score.
    evals_result_ : dict
        Metrics of each evaluation set and iteration:
        ``evals_result_["validation_0"]["rmse"]``.
    best_iteration_ : int
        Best iteration, counted from 0. Only with early stopping.
    best_score_ : float
        Score of the best iteration. Only with early stopping.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gpuboost import GPUBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GPUBoostRegressor(n_estimators=50, max_depth=3).fit(X, y)
    >>> bool(model.score(X, y) > 0.6)
    True
    """

    _objectives = tuple(objective.name for objective in REGRESSION)
    _loss_parameters = ("alpha", "delta", "power")

    def __init__(
        self,
        *,
        objective: str = "squared_error",
        alpha: Any = None,
        delta: float | None = None,
        power: float | None = None,
        base_score: Any = None,
        n_estimators: int = DEFAULT.n_estimators,
        learning_rate: Any = DEFAULT.learning_rate,
        max_depth: int | None = DEFAULT.max_depth,
        max_leaves: int | None = DEFAULT.max_leaves,
        leaves_per_step: int = DEFAULT.leaves_per_step,
        grow_policy: str = DEFAULT.grow_policy,
        max_bins: int = DEFAULT.max_bins,
        min_child_weight: float = DEFAULT.min_child_weight,
        min_samples_leaf: int = DEFAULT.min_samples_leaf,
        min_split_gain: float = DEFAULT.min_split_gain,
        prune: bool = DEFAULT.prune,
        reg_lambda: float = DEFAULT.reg_lambda,
        reg_alpha: float = DEFAULT.reg_alpha,
        max_delta_step: float = DEFAULT.max_delta_step,
        subsample: float = DEFAULT.subsample,
        sampling_method: str = DEFAULT.sampling_method,
        top_rate: float | None = DEFAULT.top_rate,
        oob_score: bool = False,
        colsample_bytree: float = DEFAULT.colsample_bytree,
        colsample_bylevel: float = DEFAULT.colsample_bylevel,
        colsample_bynode: float = DEFAULT.colsample_bynode,
        multi_strategy: str = DEFAULT.multi_strategy,
        categorical_features: Any = "auto",
        unknown_category: str = "missing",
        cat_smooth: float = DEFAULT.cat_smooth,
        max_cat_to_onehot: int = DEFAULT.max_cat_to_onehot,
        max_cat_threshold: int = DEFAULT.max_cat_threshold,
        min_data_per_category: int = DEFAULT.min_data_per_category,
        categorical_encoding: str = "auto",
        monotone_constraints: Any = None,
        interaction_constraints: Any = None,
        feature_weights: Any = None,
        feature_penalties: Any = None,
        forced_splits: Any = None,
        early_stopping_rounds: int | None = DEFAULT.early_stopping_rounds,
        min_delta: float = DEFAULT.min_delta,
        stopping_metric: str | None = DEFAULT.stopping_metric,
        stopping_set: str | None = DEFAULT.stopping_set,
        validation_fraction: float | None = DEFAULT.validation_fraction,
        validation_split: str = DEFAULT.validation_split,
        refit: bool = DEFAULT.refit,
        warm_start: bool = False,
        max_time: float | None = DEFAULT.max_time,
        boosting: str = DEFAULT.boosting,
        rate_drop: float = DEFAULT.rate_drop,
        skip_drop: float = DEFAULT.skip_drop,
        normalize_type: str = DEFAULT.normalize_type,
        callbacks: Any = None,
        eval_metric: Any = None,
        importance_type: str = "gain",
        date_features: Any = None,
        sparse_missing: bool = False,
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
        groups: Any = None,
        eval_names: Any = None,
        base_margin: Any = None,
        eval_base_margin: Any = None,
        init_model: Any = None,
    ) -> GPUBoostRegressor:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, or categories in ``categorical_features``; NaN means missing. A CuPy array, or
            anything on a CUDA device that speaks ``__cuda_array_interface__`` or DLPack, or a cuDF
            frame: training is where it is, and X is not copied to the host unless there are
            categories.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; several columns are predicted together.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. Rows with weight 0 are ignored.
        eval_set : pair (X, y), or list or tuple of pairs, default=None
            Evaluation sets, on which the metrics are computed after every iteration. An empty
            list is the same as None.
        eval_sample_weight : list of array-like, default=None
            Sample weights for each evaluation set.
        eval_X, eval_y : array-like, or tuple of them, default=None
            The same sets as ``eval_set`` would have, X and y apart, so that a pipeline can
            transform X: ``Pipeline(steps, transform_input=["eval_X"])``. A tuple has several sets.
        groups : array-like of shape (n_samples,), default=None
            Group of each row. With ``subsample`` below 1, the rows of a group are drawn together;
            with ``validation_fraction``, they are held out together.
        eval_names : list of str, default=None
            Names of the evaluation sets in ``evals_result_``; None means "validation_0", ...
        base_margin : array-like of shape (n_samples,) or (n_samples, n_scores), default=None
            Raw scores that training begins with, instead of a constant. Predictions need those of
            their rows, too.
        eval_base_margin : list of array-like, default=None
            The same for each evaluation set.
        init_model : estimator, Ensemble, str or path-like, default=None
            A model whose iterations come before those of this training, which adds
            ``n_estimators`` to them: a fitted estimator, its ``ensemble_``, or a model file.

        Returns
        -------
        self
            The fitted estimator.
        """
        params = self._check_params()
        objective = self._named_objective()
        with self._unchanged_on_error():
            X, y, weight, features = self._read_training(
                X, y, lambda y: check_weight(on_host(sample_weight), len(y))
            )
            y = check_targets("y", y, len(X))
            objective.check_targets("y", y)
            pairs = eval_pairs(eval_set, eval_X, eval_y)
            n_outputs = len(np.atleast_2d(y))
            evals = self._check_evals(pairs, eval_sample_weight, features, params, n_outputs)
            units = self._row_units(groups, len(X), params)
            control, params = self._fit_control(
                params,
                y,
                weight,
                None,
                n_outputs * (objective.n_scores or 1),
                evals,
                groups,
                eval_names,
                base_margin,
                eval_base_margin,
                init_model,
            )
            fitted = self._fit_and_refit(
                X, features, y, weight, evals, objective, None, params, units, control
            )
            self._set_fitted(*fitted, params)
        return self

    def _check_eval_y(self, name: str, y: Any, n_rows: int, n_outputs: int) -> np.ndarray:
        y = check_targets(name, y, n_rows, n_outputs)
        self._named_objective().check_targets(name, y)
        return y

    def predict(
        self, X: Any, *, base_margin: Any = None, iteration_range: tuple[int, int] | None = None
    ) -> Any:
        """Predict targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.
        base_margin : array-like of shape (n_samples,) or (n_samples, n_scores), default=None
            Raw scores of the rows that are added to those of the model, as in ``fit``.
        iteration_range : tuple (begin, end), default=None
            Use the iterations from ``begin`` up to but not including ``end``, counted from 0. None
            means all, or up to the best one after early stopping.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_outputs) or (n_samples, n_quantiles)
            Predictions.
        """
        return self._predict_rounds(X, self._from_raw, base_margin, iteration_range)

    def predict_dist(self, X: Any) -> Any:
        """Predict the distribution of the target, with ``objective="normal"`` or ``"log_normal"``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``.

        Returns
        -------
        scipy.stats distribution
            A frozen distribution of n_samples targets: ``mean()``, ``std()``, ``ppf(0.9)`` (the
            quantile), ``pdf(y)``, ``cdf(y)``, ``interval(0.8)`` and more.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from gpuboost import GPUBoostRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = GPUBoostRegressor(objective="normal", n_estimators=20, max_depth=3).fit(X, y)
        >>> low, high = model.predict_dist(X).interval(0.8)
        >>> bool(0.7 < ((low < y) & (y < high)).mean() < 0.95)
        True
        """
        check_is_fitted(self)
        name = ensemble_of(self).link.name
        if name not in ("normal", "log_normal"):
            raise AttributeError(
                "predict_dist is there for objective='normal' and 'log_normal', not for "
                f"{self.objective!r}"
            )
        from scipy import stats  # takes a while, and nothing else needs it

        mean, log_scale = on_host(self._predict(X, scores_by_row)).T
        if name == "normal":
            return stats.norm(loc=mean, scale=np.exp(log_scale))
        return stats.lognorm(s=np.exp(log_scale), scale=np.exp(mean))

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict targets after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions after 1, 2, ... rounds.
        """
        yield from self._staged(X, self._from_raw)


class GPUBoostClassifier(TreesOfClasses, RoundsOfTrees, BaseBoost):
    """Histogram gradient boosting classifier.

    Multiclass problems are detected automatically. With a single class in y, that class is
    predicted.

    Parameters
    ----------
    objective : {"log_loss", "one_vs_rest", "focal", "exponential"}, default="log_loss"
        Loss to minimize. "one_vs_rest": log loss of each class against all others, whose
        probabilities are then divided by their sum; the same as "log_loss" for two classes. For
        two classes only: "focal", log loss that rows with a clear answer count less in, and
        "exponential", the loss of AdaBoost, which is more sensitive to wrong labels.
    gamma : float or None, default=None
        With ``objective="focal"``, the power of the probability of the wrong class that the log
        loss is multiplied by; 0 is log loss, None means 2. Other losses have no gamma. What XGBoost
        calls ``gamma`` is ``min_split_gain``.
    base_score : float or array-like, default=None
        Raw score before the first tree, or one for each class or label: log odds of the second
        of two classes. None means the constant with the lowest loss.
    n_estimators : int, default=100
        Number of boosting iterations. For several classes or outputs, one tree for each is grown
        in each iteration.
    learning_rate : float, list of float, or callable, default=0.1
        Step size: every leaf value is multiplied by it. A list has a number for each iteration; a
        function is called with the number of the iteration, counted from 0.
    max_depth : int or None, default=None
        Maximum depth of a tree. None means 6, or no limit with ``grow_policy="leafwise"``.
    max_leaves : int or None, default=None
        Maximum number of leaves of a tree. None means no limit, or 31 with
        ``grow_policy="leafwise"``.
    leaves_per_step : int, default=1
        Number of leaves that leaf-wise growth splits at once: those with the highest gains. Values
        above 1 need fewer steps, which is faster on a GPU; the last leaves may differ from those of
        one-by-one growth.
    grow_policy : {"auto", "depthwise", "leafwise", "symmetric"}, default="auto"
        "depthwise": level by level. "leafwise": the leaf with the highest gain first. "symmetric":
        the same split for all nodes of a level (oblivious trees). "auto": "symmetric" with early
        stopping if ``n_estimators * learning_rate`` is at least 50 and neither ``max_leaves`` nor
        ``forced_splits`` is given, and "depthwise" otherwise.
    max_bins : int, default=256
        Maximum number of bins per feature, from 2 to 256. One bin is reserved for missing values,
        so 256 means 255 bins for values.
    min_child_weight : float, default=1.0
        Minimum sum of hessians in a leaf.
    min_samples_leaf : int, default=1
        Minimum number of training rows in a leaf.
    min_split_gain : float, default=0.0
        Minimum gain of a split. The gain is G ** 2 / (H + reg_lambda), summed over both children,
        minus that of the node, without the factor 1/2 of some textbooks: this is XGBoost's
        ``gamma`` and LightGBM's ``min_split_gain``. With symmetric growth, the minimum of the
        summed gains of a level.
    prune : bool, default=False
        Whether ``min_split_gain`` prunes grown trees from the bottom, as in the XGBoost paper,
        instead of ending their growth: a split with a low gain then stays if one below it has a
        higher one. Not for symmetric growth.
    reg_lambda : float, default=1.0
        L2 regularization of leaf values.
    reg_alpha : float, default=0.0
        L1 regularization of leaf values.
    max_delta_step : float, default=0.0
        Maximum absolute leaf value before ``learning_rate`` is applied; 0 means no limit.
    subsample : float or dict, default=1.0
        Share of the rows that are drawn in an iteration, on average. A dict has a share for each
        class, such as ``{0: 0.1, 1: 1.0}``; classes that are not listed keep all their rows.
    sampling_method : {"uniform", "goss", "mvs"}, default="uniform"
        How rows are drawn if ``subsample`` is below 1. "uniform": all with the same probability.
        "mvs" (minimal variance sampling): with probabilities that grow with the size of the
        gradients. "goss" (gradient-based one-side sampling): those with the largest gradients, and
        a random choice of the others. With "mvs" and "goss" a row that is drawn with probability p
        counts 1 / p times, so that sums over the rows are right on average.
    top_rate : float or None, default=None
        Share of all rows that ``sampling_method="goss"`` keeps for their large gradients; the rest
        of ``subsample`` is drawn from the other rows. None means a third of ``subsample``.
    oob_score : bool, default=False
        Whether to estimate the metrics of new rows from the rows that are not drawn:
        ``evals_result_["out_of_bag"]`` begins with the metrics before the first iteration and adds
        up how much each iteration changes those of the rows that it has not seen. Needs sampling.
        Early stopping uses this curve if there is no evaluation set.
    colsample_bytree, colsample_bylevel, colsample_bynode : float, default=1.0
        Fraction of the features that are sampled for each tree; of these for each level; and of
        these for each node.
    multi_strategy : {"one_tree_per_output", "vector_leaf"}, default="one_tree_per_output"
        How several outputs, or more than two classes, are predicted. "one_tree_per_output": by a
        tree for each in every iteration. "vector_leaf": by one tree with a value for each in its
        leaves, whose splits are found from a random projection of their gradients, so that training
        is several times as fast; more iterations may be needed. The same for one output.
    categorical_features : "auto", None, or array-like of int, str or bool, default="auto"
        Columns of categories: their numbers, names or a mask; None for no column. "auto": columns
        of a frame that hold text or have a dtype of categories, and columns of text of other
        tables. Categories are text or numbers.
    unknown_category : {"missing", "error", "prior"}, default="missing"
        What a category is in rows to predict that training has not seen: a missing value, or an
        error. With "prior" its mean target is that of all training rows, in columns of which trees
        see mean targets (``categorical_encoding``); in others it is a missing value.
    cat_smooth : float, default=10.0
        Smoothing of the order in which categories are put into sets, gradient / (hessian +
        cat_smooth): higher values move categories with few rows to the middle.
    max_cat_to_onehot : int, default=4
        Maximum number of categories in a node of which each one is split from all others. With more
        categories, sets of them are tried.
    max_cat_threshold : int, default=32
        Maximum number of categories in the set of a split; all others go the other way.
    min_data_per_category : int, default=10
        Minimum number of training rows that a category needs in a node to be put into a set. They
        are counted by the category's share of the hessians.
    categorical_encoding : {"auto", "partition", "target", "both"}, default="auto"
        How categorical columns reach the trees. "partition": they are split into sets of
        categories. "target": trees see the mean target of each category, for each class if there
        are three or more, and how many rows it has; training rows get the mean of the rows of their
        category that come before them in a random order, so that none sees its own target. All
        categories have means, and pairs of columns with many categories have them, too. "both":
        trees see the categories and the means. "auto": "target" for columns with more than 64
        categories, "partition" for others.
    monotone_constraints : dict, list or array of shape (n_features,), default=None
        1 for features with which predictions may only increase, -1 for those with which they may
        only decrease, 0 for no constraint. A dict maps feature names or numbers to these values;
        features that are not listed have no constraint. The constraint holds for the raw score of
        the whole model, between rows that differ in one such feature only and have no missing value
        in it. Not available for three or more classes.
    interaction_constraints : {"pairwise", "no_interactions"} or list of lists, default=None
        Groups of features, by name or number, that may interact: the features that split the rows
        on the way to a leaf are all in one group. A feature may be in several groups; features that
        are in none are one more group, as in scikit-learn's HistGradientBoosting: what is not
        mentioned is as free as it can be without interacting with what is. "pairwise": at most two
        features on each way, "no_interactions": one.
    feature_weights : dict, list or array of shape (n_features,), default=None
        Weights by which ``colsample_bytree``, ``colsample_bylevel`` and ``colsample_bynode`` draw
        features: one after another, each with a probability in proportion to its weight among those
        that are left. Features that a dict does not mention have weight 1. A feature of weight 0 is
        never used, and fractions are of the features above 0.
    feature_penalties : dict, list or array of shape (n_features,), default=None
        What the model pays for a feature when it first uses it: this is subtracted from the gains
        of its splits until a split on it has been made, in this tree or one before. Nodes that are
        searched at the same time pay each, and gains that were found before stay; with symmetric
        growth a level pays once. Features that a dict does not mention cost nothing.
    forced_splits : dict, list, str or path-like, default=None
        Splits at the top of every tree, as LightGBM takes them: a dict with "feature" (name or
        number), "threshold" and, if wanted, "left" and "right", which are such dicts again, or the
        name of a JSON file with it. With symmetric growth, a list with a dict for each level.
        A threshold becomes the nearest cut of the feature. Forced splits are made first, whatever
        their gain; one that would leave a side with too few rows or too little weight, or break a
        monotonic constraint, is left out, with those below it. Their features are in every tree.
    early_stopping_rounds : int or None, default=None
        Stop training when a metric has not improved for this many iterations: by default the last
        metric on the last evaluation set. Predictions then use the best iteration. None means no
        early stopping.
    min_delta : float, default=0.0
        How much better than the best one so far a score must be to count as an improvement, for
        early stopping.
    stopping_metric, stopping_set : str or None, default=None
        Names of the metric and of the evaluation set that decide on early stopping, as in
        ``evals_result_``. None means the last one.
    validation_fraction : float or None, default=None
        Share of the training rows that is held out and takes the place of an evaluation set, with
        the name "validation". None means that all rows are trained on.
    validation_split : {"random", "last"}, default="random"
        Which rows ``validation_fraction`` holds out. "random": a random choice, of classes the same
        share of each, or whole groups if ``fit`` is given ``groups``. "last": those behind all
        others, for rows in the order of time.
    refit : bool, default=False
        Whether to train again on all rows after early stopping with ``validation_fraction``, for as
        many iterations as were best, times the ratio of the numbers of rows. ``evals_result_`` and
        ``best_score_`` are those of the first training.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the model that is there, if there is one, until it has
        ``n_estimators`` iterations. With the same data and parameters the model is the one that
        all iterations at once give, bit for bit.
    max_time : float or None, default=None
        Seconds after which no further iteration begins; there is one at least. The number of
        iterations, ``n_estimators_``, then depends on the machine.
    boosting : {"gbtree", "dart"}, default="gbtree"
        "gbtree": every tree follows all earlier ones. "dart": every iteration leaves some earlier
        ones out, which share their weight with the new trees afterwards (dropouts). Without early
        stopping and ``oob_score``, as the trees of an iteration change later.
    rate_drop : float, default=0.1
        With "dart", the probability with which each earlier iteration is left out.
    skip_drop : float, default=0.5
        With "dart", the probability with which an iteration leaves none out.
    normalize_type : {"tree", "forest"}, default="tree"
        With "dart", the weight of the new trees when k iterations were left out. "tree":
        1 / (k + learning_rate), the others are multiplied by k / (k + learning_rate). "forest":
        1 / (1 + learning_rate) for all of them.
    callbacks : list of Callback or None, default=None
        Objects that are called before and after each iteration: ``gpuboost.Checkpoint``,
        ``gpuboost.OptunaPruning`` or classes derived from ``gpuboost.Callback``.
    eval_metric : str, callable or list, default=None
        Metrics that are computed on the evaluation sets: "logloss", "exponential", "error", "auc"
        and, with its objective, "focal" for two classes, "mlogloss" and "merror" for more,
        functions, scikit-learn scorers, or a list of these. A function is called as
        ``metric(y, probability)``, where y contains positions in ``classes_``, and the
        probabilities are those of the second of two classes, shape (n_samples,), or of all classes,
        shape (n_samples, n_classes). Lower is better unless it has an attribute
        ``greater_is_better`` that is True, or is a score of ``sklearn.metrics``. If it has an
        argument ``sample_weight``, it gets the weights of the evaluation set. None means the
        objective.
    class_weight : dict, list of dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``; a list has one entry for each
        output.
    importance_type : {"gain", "split", "cover"}, default="gain"
        What ``feature_importances_`` sums over the splits on a feature: their gains, their number,
        or the weight of the rows that they split.
    date_features : list of str, dict of lists, or None, default=None
        Parts of dates that trees see as further columns: "year", "month", "day", "dayofyear",
        "weekday" (0 is Monday), "hour" and "minute". A list is for all columns of dates, a dict
        maps names or numbers of columns to lists.
    sparse_missing : bool, default=False
        Whether values that a sparse matrix does not store are missing values instead of zeros.
    device : {"auto", "cpu", "cuda", "cuda:N"}, default="auto"
        Device for training; the model does not depend on it. "auto" uses a GPU if there is one and
        X has 16 million values or more. If X is on a GPU, "auto" and "cuda" use that GPU.
    n_jobs : int or None, default=None
        Number of threads. None and -1 mean all cores, and so does any number above the number of
        cores. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed for row and column sampling and for stochastic rounding. None means 0, so training is
        always repeatable.
    verbose : int, default=0
        0 prints nothing. 1 shows a progress bar with the metrics on a terminal, and up to ten lines
        elsewhere. Higher values print a line every that many iterations. Output goes to standard
        error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or (n_labels,)
        The classes, sorted; with several labels their numbers 0, 1, ...
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Importance of each feature; the values sum to 1.
    n_estimators_ : int
        Number of iterations that were trained.
    estimators_ : ndarray of DecisionTreeRegressor of shape (n_rounds, trees_per_round)
        The trees as fitted regressors: their predictions add up to the raw score.
    evals_result_ : dict
        Metrics of each evaluation set and iteration:
        ``evals_result_["validation_0"]["logloss"]``.
    best_iteration_ : int
        Best iteration, counted from 0. Only with early stopping.
    best_score_ : float
        Score of the best iteration. Only with early stopping.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from gpuboost import GPUBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GPUBoostClassifier(n_estimators=20, max_depth=3).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _objectives = ("log_loss", "one_vs_rest", "focal", "exponential")
    _loss_parameters = ("gamma",)

    def __init__(
        self,
        *,
        objective: str = "log_loss",
        gamma: float | None = None,
        base_score: Any = None,
        n_estimators: int = DEFAULT.n_estimators,
        learning_rate: Any = DEFAULT.learning_rate,
        max_depth: int | None = DEFAULT.max_depth,
        max_leaves: int | None = DEFAULT.max_leaves,
        leaves_per_step: int = DEFAULT.leaves_per_step,
        grow_policy: str = DEFAULT.grow_policy,
        max_bins: int = DEFAULT.max_bins,
        min_child_weight: float = DEFAULT.min_child_weight,
        min_samples_leaf: int = DEFAULT.min_samples_leaf,
        min_split_gain: float = DEFAULT.min_split_gain,
        prune: bool = DEFAULT.prune,
        reg_lambda: float = DEFAULT.reg_lambda,
        reg_alpha: float = DEFAULT.reg_alpha,
        max_delta_step: float = DEFAULT.max_delta_step,
        subsample: Any = DEFAULT.subsample,
        sampling_method: str = DEFAULT.sampling_method,
        top_rate: float | None = DEFAULT.top_rate,
        oob_score: bool = False,
        colsample_bytree: float = DEFAULT.colsample_bytree,
        colsample_bylevel: float = DEFAULT.colsample_bylevel,
        colsample_bynode: float = DEFAULT.colsample_bynode,
        multi_strategy: str = DEFAULT.multi_strategy,
        categorical_features: Any = "auto",
        unknown_category: str = "missing",
        cat_smooth: float = DEFAULT.cat_smooth,
        max_cat_to_onehot: int = DEFAULT.max_cat_to_onehot,
        max_cat_threshold: int = DEFAULT.max_cat_threshold,
        min_data_per_category: int = DEFAULT.min_data_per_category,
        categorical_encoding: str = "auto",
        monotone_constraints: Any = None,
        interaction_constraints: Any = None,
        feature_weights: Any = None,
        feature_penalties: Any = None,
        forced_splits: Any = None,
        early_stopping_rounds: int | None = DEFAULT.early_stopping_rounds,
        min_delta: float = DEFAULT.min_delta,
        stopping_metric: str | None = DEFAULT.stopping_metric,
        stopping_set: str | None = DEFAULT.stopping_set,
        validation_fraction: float | None = DEFAULT.validation_fraction,
        validation_split: str = DEFAULT.validation_split,
        refit: bool = DEFAULT.refit,
        warm_start: bool = False,
        max_time: float | None = DEFAULT.max_time,
        boosting: str = DEFAULT.boosting,
        rate_drop: float = DEFAULT.rate_drop,
        skip_drop: float = DEFAULT.skip_drop,
        normalize_type: str = DEFAULT.normalize_type,
        callbacks: Any = None,
        eval_metric: Any = None,
        class_weight: Any = None,
        importance_type: str = "gain",
        date_features: Any = None,
        sparse_missing: bool = False,
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
        groups: Any = None,
        eval_names: Any = None,
        base_margin: Any = None,
        eval_base_margin: Any = None,
        init_model: Any = None,
    ) -> GPUBoostClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, or categories in ``categorical_features``; NaN means missing. A CuPy array, or
            anything on a CUDA device that speaks ``__cuda_array_interface__`` or DLPack, or a cuDF
            frame: training is where it is, and X is not copied to the host unless there are
            categories.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Classes: numbers or strings. Or several labels: a column for each, with 1 in the rows
            that have it and 0 in the others.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. Rows with weight 0 are ignored.
        eval_set : pair (X, y), or list or tuple of pairs, default=None
            Evaluation sets, on which the metrics are computed after every iteration. An empty
            list is the same as None.
        eval_sample_weight : list of array-like, default=None
            Sample weights for each evaluation set.
        eval_X, eval_y : array-like, or tuple of them, default=None
            The same sets as ``eval_set`` would have, X and y apart, so that a pipeline can
            transform X: ``Pipeline(steps, transform_input=["eval_X"])``. A tuple has several sets.
        groups : array-like of shape (n_samples,), default=None
            Group of each row. With ``subsample`` below 1, the rows of a group are drawn together;
            with ``validation_fraction``, they are held out together.
        eval_names : list of str, default=None
            Names of the evaluation sets in ``evals_result_``; None means "validation_0", ...
        base_margin : array-like of shape (n_samples,) or (n_samples, n_scores), default=None
            Raw scores that training begins with, instead of a constant. Predictions need those of
            their rows, too.
        eval_base_margin : list of array-like, default=None
            The same for each evaluation set.
        init_model : estimator, Ensemble, str or path-like, default=None
            A model whose iterations come before those of this training, which adds
            ``n_estimators`` to them: a fitted estimator, its ``ensemble_``, or a model file.

        Returns
        -------
        self
            The fitted estimator.
        """
        params = self._check_params()
        check_class_weight(self.class_weight)
        binary = self._named_objective()
        with self._unchanged_on_error():
            X, y, weight, features = self._read_training(
                X, y, lambda y: self._weight_of(y, sample_weight)
            )
            if y.ndim == 1:
                values, codes = np.unique(y, return_inverse=True)
                classes = [values]
            else:
                codes, classes = check_labels("y", y, len(X)), labels_as_classes(y)
            n_classes = len(classes[0])
            if n_classes > 2 and self.objective in ("exponential", "focal"):
                others = " or AdaBoostClassifier" if self.objective == "exponential" else ""
                raise ValueError(
                    f"objective={self.objective!r} is for two classes, y has {n_classes}; use "
                    f"objective='log_loss'{others}"
                )
            objective = binary
            if n_classes > 2:
                objective = OBJECTIVES[f"multi_{self.objective}"]
            elif n_classes == 1:
                objective = replace(OBJECTIVES["one_class"], metric=binary.metric)
            pairs = eval_pairs(eval_set, eval_X, eval_y)
            checked = self._check_evals(pairs, eval_sample_weight, features, params, len(classes))
            evals = [(ex, eval_codes(name, ey, classes), ew) for ex, (name, ey), ew in checked]
            shares = self._shares_by_class(classes)
            units = self._row_units(
                groups, len(X), params, None if shares is None else shares[codes]
            )
            control, params = self._fit_control(
                params,
                codes,
                weight,
                codes if len(classes) == 1 else None,
                len(classes) if len(classes) > 1 else objective.n_outputs(n_classes),
                evals,
                groups,
                eval_names,
                base_margin,
                eval_base_margin,
                init_model,
            )
            ensemble, history = self._fit_and_refit(
                X,
                features,
                codes.astype(np.float64),
                weight,
                evals,
                objective,
                classes,
                params,
                units,
                control,
            )
            self._set_fitted(replace(ensemble, classes=classes), history, params)
        return self

    def _weight_of(self, y: np.ndarray, sample_weight: Any) -> np.ndarray:
        """Checked weights of the rows, those of their classes included."""
        if y.ndim == 1:
            check_classification_targets(y)
        weight = check_weight(on_host(sample_weight), len(y))
        if self.class_weight is None:
            return weight
        by_class = weights_by_class(self.class_weight, y)
        return check_weight(by_class * weight if weight.size else by_class, len(y), "class_weight")

    def _check_eval_y(
        self, name: str, y: Any, n_rows: int, n_outputs: int
    ) -> tuple[str, np.ndarray]:
        if n_outputs > 1:
            return name, check_labels(name, y, n_rows, n_outputs)
        y = np.asarray(y)
        if y.shape != (n_rows,):
            raise ValueError(
                f"{name} must have one entry for each of its {n_rows} rows; got shape {y.shape}"
            )
        return name, y

    def _share_of_rows(self) -> dict[str, Any]:
        if not isinstance(self.subsample, Mapping):
            return {}
        for label, value in self.subsample.items():
            RANGES["subsample"].check(f"subsample of class {label!r}", value)
        return {"subsample": 1.0}

    def _shares_by_class(self, classes: list[np.ndarray]) -> np.ndarray | None:
        """The share of the rows of each class that is drawn; None if it is that of all rows."""
        if not isinstance(self.subsample, Mapping):
            return None
        if len(classes) > 1:
            raise ValueError(
                f"subsample must be a number for several labels, which are no classes of rows; got "
                f"{self.subsample!r}"
            )
        known = classes[0].tolist()
        shares = np.ones(len(known))
        for label, value in self.subsample.items():
            if label not in known:
                raise ValueError(f"subsample has a class that y does not have: {label!r}")
            shares[known.index(label)] = value
        return shares

    def _labels(self, backend: Backend, raw: Any) -> Any:
        ensemble = ensemble_of(self)
        return labels_of_outputs(backend, raw, ensemble.first_channel, ensemble.classes or [])

    @property
    def classes_(self) -> Any:
        """The classes, sorted; with several labels their numbers, as scikit-learn has it."""
        classes = ensemble_of(self).classes or []
        return classes[0] if len(classes) == 1 else np.arange(len(classes))

    def decision_function(
        self, X: Any, *, base_margin: Any = None, iteration_range: tuple[int, int] | None = None
    ) -> Any:
        """Raw scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.
        base_margin : array-like of shape (n_samples,) or (n_samples, n_scores), default=None
            Raw scores of the rows that are added to those of the model, as in ``fit``.
        iteration_range : tuple (begin, end), default=None
            Use the iterations from ``begin`` up to but not including ``end``, counted from 0. None
            means all, or up to the best one after early stopping.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
            Log odds of the second of two classes (half of them with the exponential objective), a
            score for each class, or the log odds of each label.
        """
        return self._predict_rounds(X, scores_by_row, base_margin, iteration_range)

    def predict_proba(
        self, X: Any, *, base_margin: Any = None, iteration_range: tuple[int, int] | None = None
    ) -> Any:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.
        base_margin : array-like of shape (n_samples,) or (n_samples, n_scores), default=None
            Raw scores of the rows that are added to those of the model, as in ``fit``.
        iteration_range : tuple (begin, end), default=None
            Use the iterations from ``begin`` up to but not including ``end``, counted from 0. None
            means all, or up to the best one after early stopping.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            Probabilities, in the order of ``classes_``; or of each label, that a row has it.
        """
        return self._predict_rounds(X, self._from_raw, base_margin, iteration_range)

    def predict_log_proba(
        self, X: Any, *, base_margin: Any = None, iteration_range: tuple[int, int] | None = None
    ) -> Any:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.
        base_margin : array-like of shape (n_samples,) or (n_samples, n_scores), default=None
            Raw scores of the rows that are added to those of the model, as in ``fit``.
        iteration_range : tuple (begin, end), default=None
            Use the iterations from ``begin`` up to but not including ``end``, counted from 0. None
            means all, or up to the best one after early stopping.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            Logarithms of what ``predict_proba`` returns; minus infinity for a probability of 0.
        """
        return self._predict_rounds(
            X,
            lambda backend, raw: logarithms(backend, self._from_raw(backend, raw)),
            base_margin,
            iteration_range,
        )

    def predict(
        self, X: Any, *, base_margin: Any = None, iteration_range: tuple[int, int] | None = None
    ) -> Any:
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.
        base_margin : array-like of shape (n_samples,) or (n_samples, n_scores), default=None
            Raw scores of the rows that are added to those of the model, as in ``fit``.
        iteration_range : tuple (begin, end), default=None
            Use the iterations from ``begin`` up to but not including ``end``, counted from 0. None
            means all, or up to the best one after early stopping.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            The most probable class of each row, or 1 for each label that it rather has than not;
            for rows on a device a CuPy array, unless the classes are not numbers.
        """
        return self._predict_rounds(X, self._labels, base_margin, iteration_range)

    def staged_decision_function(self, X: Any) -> Iterator[Any]:
        """Raw scores after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.

        Yields
        ------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
            What ``decision_function`` returns, after 1, 2, ... rounds.
        """
        yield from self._staged(X, scores_by_row)

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Predict class probabilities after each boosting iteration.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.

        Yields
        ------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            Probabilities after 1, 2, ... iterations.
        """
        yield from self._staged(X, self._from_raw)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict classes after each boosting iteration.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, as in ``fit``; the result is where they are.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Classes after 1, 2, ... iterations.
        """
        yield from self._staged(X, self._labels)
