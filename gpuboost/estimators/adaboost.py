"""AdaBoost: a classifier (SAMME) and a regressor (AdaBoost.R2)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import cache
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin, clone, is_classifier
from sklearn.utils.validation import column_or_1d

from gpuboost.backend import Backend, device_of, get_backend, on_host
from gpuboost.config import Number, check_choice
from gpuboost.data.array_math import exact_sum
from gpuboost.data.checks import check_class_weight, refuse_mask, refuse_sparse
from gpuboost.estimators.base import TrainedInRounds, TreesOfClasses, logarithms
from gpuboost.estimators.classical import BaseClassical, Training
from gpuboost.estimators.leaves import LeavesOfTrees
from gpuboost.estimators.members import SequenceOfTrees
from gpuboost.estimators.tree import BaseDecisionTree
from gpuboost.model.ensemble import ensemble_of
from gpuboost.model.tree import Tree
from gpuboost.scalar.rows import samme_decision, samme_probabilities
from gpuboost.training.adaboost import (
    AdaBoostParams,
    Boosted,
    Learner,
    TreeLearner,
    boost_classes,
    boost_values,
)
from gpuboost.training.any_estimator import EstimatorLearner, check_estimator, votes_of
from gpuboost.training.trees import TreeGrower, TreeParams

DEFAULT = AdaBoostParams()
log = logging.getLogger("gpuboost")


class BaseAdaBoost(SequenceOfTrees, LeavesOfTrees, TrainedInRounds, BaseClassical):
    """What both AdaBoost estimators share."""

    estimator_errors_: Annotated[np.ndarray, np.float64, "trees", Number(0)]
    _criteria: ClassVar[tuple[str, ...]]
    _others = list[Any]()  # fitted copies of ``estimator``, if they are no trees of this library

    def _check_params(self) -> tuple[AdaBoostParams, TreeParams]:
        """Parameters of the loop and of the trees; raises before any work is done."""
        check_choice("criterion", self.criterion, self._criteria)
        check_choice("splitter", self.splitter, ("exact", "best", "hist"))
        names = (
            "criterion", "max_depth", "max_bins", "min_samples_leaf",
            "min_weight_fraction_leaf", "max_features", "categorical_split",
            "min_data_per_category", "cat_smooth", "max_cat_threshold",
        )  # fmt: skip
        params = AdaBoostParams(
            self.n_estimators, self.learning_rate, getattr(self, "loss", DEFAULT.loss)
        )
        tree_params = TreeParams(
            splitter=self._splitter, **{name: getattr(self, name) for name in names}
        )
        self._check_bins()
        check_class_weight(getattr(self, "class_weight", None))
        if self.estimator is not None:
            of_columns = ("categorical_features", "unknown_category", "date_features")
            self._check_estimator((*names, "splitter", *of_columns))
        self._check_device()
        self._check_input_parameters()
        return params, tree_params

    def _check_estimator(self, of_trees: tuple[str, ...]) -> None:
        """Raise unless ``estimator`` can be boosted, and nothing is said of trees beside it."""
        check_estimator(self.estimator, is_classifier(self))
        default = type(self)().get_params(deep=False)
        for name in of_trees:
            value = getattr(self, name)
            if value is not default[name] and value != default[name]:
                raise ValueError(
                    f"{name} is a parameter of the trees and must be {default[name]!r}, its "
                    f"default, if there is an estimator, which has its own; got {value!r}"
                )

    def _fit_boosted(self, X: Any, y: Any, sample_weight: Any) -> None:
        params, tree_params = self._check_params()
        with self._unchanged_on_error():
            if y is not None:
                refuse_mask("y", y)
                refuse_sparse("y", y)
                y = column_or_1d(on_host(y), warn=True)
            data = self._prepare(X, y, sample_weight)
            if self.estimator is not None and data.features.categories:
                raise ValueError(
                    f"estimator={self.estimator!r} takes numbers, and columns "
                    f"{list(data.features.categories)} of X hold categories: encode them first, in "
                    "a pipeline, or use the trees (estimator=None)"
                )
            boost = boost_values if data.classes is None else boost_classes
            with self._training_backend(data.x) as backend:
                learner = self._learner(data, tree_params, backend)
                boosted = boost(learner, data.y[:, 0], data.weight, params)
            self._keep(data, boosted)

    def _training_backend(self, x: Any) -> Backend:
        if self.estimator is None or self.device in ("auto", "cpu"):
            return super()._training_backend(x)
        say_that_an_estimator_trains_where_it_does()
        return get_backend("cpu", self.n_jobs)

    def _learner(self, data: Training, params: TreeParams, backend: Backend) -> Learner:
        """What is boosted: trees, or copies of ``estimator``."""
        seed = self._seed()
        if self.estimator is None:
            grower = TreeGrower(self._coded(data, backend), data.targets, params, backend)
            return TreeLearner(grower, data.x, seed, backend)
        classes = None if data.classes is None else data.classes[0]
        host = backend.host
        return EstimatorLearner(
            self.estimator, data.x, data.labels, data.weight, classes, seed, host
        )

    def _keep(self, data: Training, boosted: Boosted) -> None:
        """Fitted attributes. Decision trees of this library are kept as trees."""
        others: list[Any] = []
        trees = boosted.members
        if self.estimator is not None:
            trees = own_trees(trees, data.targets.n_channels)
            others = [] if trees else boosted.members
        classification = data.classes is not None
        self._set_trained(
            data,
            trees,
            boosted.weights,
            combine="sum" if classification else "median",
            vote=classification,
        )
        self.estimator_errors_ = boosted.errors
        self.__dict__.pop("_others", None)
        if others:
            self._others = others

    # --- the members

    def __len__(self) -> int:
        """Number of trees, or of copies of ``estimator``."""
        return len(self._others) or super().__len__()

    def _member(self, i: int) -> Any:
        return self._others[i] if self._others else super()._member(i)

    def _bare_member(self) -> Any:
        return super()._bare_member() if self.estimator is None else clone(self.estimator)

    @property
    def n_estimators_(self) -> int:
        """Rounds that were trained."""
        return len(self)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importance of each feature: the mean over the members, by their weights."""
        if not self._others:
            return super().feature_importances_
        by_member = [member.feature_importances_ for member in self._others]
        return np.asarray(np.average(by_member, axis=0, weights=self.estimator_weights_))

    def _votes(self, x: Any) -> list[np.ndarray]:
        """Raw scores of checked rows after each round, if members are no trees."""
        classes = ensemble_of(self, trees=False).classes
        only = None if classes is None else classes[0]
        return votes_of(self._others, self.estimator_weights_, on_host(x), only)

    def _predict(self, x: Any, finish: Callable[[Backend, Any], Any]) -> Any:
        if not self._others:
            return super()._predict(x, finish)
        x = self.check_rows(x)
        with self._backend(x) as backend:
            return finish(backend, beside(x, self._votes(x)[-1], backend))

    def _staged(self, x: Any, finish: Callable[[Backend, Any], Any]) -> Iterator[Any]:
        if not self._others:
            yield from super()._staged(x, finish)
            return
        x = self.check_rows(x)
        with self._backend(x) as backend:
            for raw in self._votes(x):
                yield finish(backend, beside(x, raw, backend))

    def _splitter_of_trees(self) -> str:
        return self._splitter

    @property
    def estimator_weights_(self) -> np.ndarray:
        """Weights of the trees."""
        return ensemble_of(self, trees=False).tree_weights

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Accuracy of a classifier, or R squared of a regressor, after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict; the result is where they are.
        y : array-like of shape (n_samples,)
            Their classes or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Yields
        ------
        float
            Score of the first 1, 2, ... trees.
        """
        from sklearn.metrics import accuracy_score, r2_score  # importing them takes long

        score = accuracy_score if is_classifier(self) else r2_score
        y, sample_weight = on_host(y), on_host(sample_weight)
        for predictions in self.staged_predict(X):
            yield float(score(y, on_host(predictions), sample_weight=sample_weight))


def own_trees(members: list[Any], n_channels: int) -> list[Tree]:
    """The trees of decision trees of this library; none if a member is something else."""
    trees = []
    for member in members:
        if not isinstance(member, BaseDecisionTree):
            return []
        ensemble = ensemble_of(member)
        if ensemble.n_channels != n_channels or ensemble.features.categories:
            return []
        trees.append(ensemble.trees[0])
    return trees


def beside(x: Any, raw: np.ndarray, backend: Backend) -> Any:
    """Scores of the host, where the rows are that they are about."""
    return raw if device_of(x) is None else backend.put(raw)


@cache
def say_that_an_estimator_trains_where_it_does() -> None:
    """Log it, once in a process."""
    log.info(
        "the estimator that AdaBoost boosts trains where it does, and its weights are computed on "
        "the CPU, whatever device says: the model is the same"
    )


class AdaBoostClassifier(TreesOfClasses, BaseAdaBoost):
    """AdaBoost classifier.

    Small trees are trained one after another, and each gives more weight to the rows that the
    previous ones misclassified. Multiclass problems are detected automatically. With a single class
    in y, that class is predicted.

    The algorithm is SAMME, which is the AdaBoost of Freund and Schapire for two classes. A tree
    with the weighted error r gets the weight
    ``a = learning_rate * (log((1 - r) / r) + log(n_classes - 1))`` in the vote, and the weights of
    the rows that it misclassifies are multiplied by ``exp(a)``.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What to boost: a classifier of scikit-learn's API whose ``fit`` takes ``sample_weight``.
        None: trees, which parameters below are about; they must have their defaults if there is an
        estimator. A decision tree of this library gives a model like any other. Of everything else
        there are no trees to save, draw or explain; pickle can store such a model.
    n_estimators : int, default=50
        Most rounds. Training ends before if a tree makes no error, or is no better than chance:
        with a warning, or with an error if it is the first.
    learning_rate : float, default=1.0
        Factor on the weight of each tree.
    max_depth : int or None, default=1
        Maximum depth of a tree. None means no limit.
    criterion : {"gini", "entropy", "misclassification"}, default="gini"
        Impurity that splits decrease. "misclassification" gives the textbook's stump, which has
        the lowest weighted error.
    splitter : {"exact", "best", "hist"}, default="exact"
        Cuts between all distinct values, or between at most ``max_bins`` bins. "best" is
        scikit-learn's name for "exact".
    max_bins : int, default=256
        Maximum number of bins per feature, from 2 to 256, for ``splitter="hist"``. One bin is
        reserved for missing values, so 256 means 255 bins for values.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf. A float is a fraction of the training rows.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total weight in a leaf, from 0 to 0.5.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that are considered for a split, drawn at random. A float is a fraction
        of the features; None means all.
    categorical_features : "auto", None, or array-like of int, str or bool, default="auto"
        Columns of categories: their numbers, names or a mask; None for no column. "auto": columns
        of a frame that hold text or have a dtype of categories, and columns of text of other
        tables. Categories are text or numbers.
    unknown_category : {"missing", "error"}, default="missing"
        What a category is in rows to predict that training has not seen: a missing value, or an
        error.
    categorical_split : {"auto", "fisher", "one_vs_rest", "exhaustive"}, default="auto"
        How "exact" and "hist" divide categories: in the order of their shares of a class (Fisher;
        the best division for two classes), one against the others, or in every way (up to 10
        categories in a node, else as "fisher"). "auto" takes every way where the order is not known
        to be best: with three classes or more, for features with up to 10 categories.
    min_data_per_category : int, default=5
        For features with more than 10 categories: number of rows that a category must have in a
        node to be divided on its own. Those with fewer rows stay together.
    cat_smooth : float, default=10.0
        For features with more than 10 categories: number of rows with the mean of the node that are
        added to each category before categories are ordered.
    max_cat_threshold : int or None, default=None
        For features with more than 10 categories: maximum number of categories on the smaller side
        of a split in their order.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``.
    date_features : list of str, dict of lists, or None, default=None
        Parts of dates that trees see as further columns: "year", "month", "day", "dayofyear",
        "weekday" (0 is Monday), "hour" and "minute". A list is for all columns of dates, a dict
        maps names or numbers of columns to lists.
    sparse_missing : bool, default=False
        Whether values that a sparse matrix does not store are missing values instead of zeros.
    device : {"auto", "cpu", "cuda", "cuda:N"}, default="auto"
        Device for training; the model does not depend on it. "auto" means the CPU. With "cuda",
        trees with ``splitter="exact"`` are still grown on the CPU, and an ``estimator`` trains
        where it does.
    n_jobs : int or None, default=None
        Number of threads. None and -1 mean all cores, and so does any number above the number of
        cores. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of all random choices. None means 0, so training is always repeatable.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    n_classes_ : int
        How many there are.
    n_estimators_ : int
        Trees that were trained.
    estimators_ : list of DecisionTreeClassifier
        The trees as fitted estimators; they are also ``model[i]`` and ``list(model)``.
    estimator_weights_ : ndarray of shape (n_trees,)
        Weight of each tree in the vote.
    estimator_errors_ : ndarray of shape (n_trees,)
        Weighted error of each tree on the weights it was grown on.
    feature_importances_ : ndarray of shape (n_features,)
        Importance of each feature, adding up to 1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had string column names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from gpuboost import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _criteria = ("gini", "entropy", "misclassification")
    _combines = (("sum", True, True),)

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = DEFAULT.n_estimators,
        learning_rate: float = DEFAULT.learning_rate,
        max_depth: int | None = 1,
        criterion: str = "gini",
        splitter: str = "exact",
        max_bins: int = 256,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        categorical_features: Any = "auto",
        unknown_category: str = "missing",
        categorical_split: str = "auto",
        min_data_per_category: int = TreeParams.min_data_per_category,
        cat_smooth: float = TreeParams.cat_smooth,
        max_cat_threshold: int | None = TreeParams.max_cat_threshold,
        class_weight: Any = None,
        date_features: Any = None,
        sparse_missing: bool = False,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self._keep_parameters(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdaBoostClassifier:
        """Train on a set of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, or categories in nominal columns; NaN means missing. An array on a CUDA device,
            or a cuDF frame: it stays there with ``device="cuda"``, ``splitter="hist"`` and no
            nominal features, else it is copied to the host once.
        y : array-like of shape (n_samples,)
            Classes: numbers or strings.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. Rows with weight 0 are ignored.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit_boosted(X, y, sample_weight)
        return self

    def _decide(self, backend: Backend, votes: Any, weight: float) -> Any:
        """Decisions from the votes (n_classes, n_rows) of trees of this total weight.

        A column for each class; of two classes one column.
        """
        n_classes, n_rows = votes.shape
        shape = n_rows, 1 if n_classes == 2 else n_classes
        return backend.each_row(samme_decision, shape, votes.T, weight)

    def _probabilities(self, backend: Backend, decision: Any) -> Any:
        shape = len(decision), self.n_classes_
        return backend.each_row(samme_probabilities, shape, decision)

    def _labels(self, backend: Backend, decision: Any) -> Any:
        return backend.labels(decision.T, self.classes_)

    def _numbers(self, backend: Backend, decision: Any) -> Any:
        return decision[:, 0] if self.n_classes_ == 2 else decision

    def _decided(self, X: Any, finish: Callable[[Backend, Any], Any]) -> Any:
        """``finish`` applied to the decisions of all trees."""
        weight = exact_sum(self.estimator_weights_)
        return self._predict(
            X, lambda backend, votes: finish(backend, self._decide(backend, votes, weight))
        )

    def _staged_decided(self, X: Any, finish: Callable[[Backend, Any], Any]) -> Iterator[Any]:
        """The same for the first 1, 2, ... trees."""
        weights = self.estimator_weights_
        totals = (exact_sum(weights[: n + 1]) for n in range(len(weights)))
        return self._staged(
            X, lambda backend, votes: finish(backend, self._decide(backend, votes, next(totals)))
        )

    def decision_function(self, X: Any) -> Any:
        """Weighted vote of the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict; the result is where they are.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: from -2 (all vote for the first) to 2 (for the second). More: for each
            class from -1 / (n_classes - 1) to 1. One: 1.
        """
        return self._decided(X, self._numbers)

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict; the result is where they are.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``. They rank rows well; as frequencies they
            are too close to each other.
        """
        return self._decided(X, self._probabilities)

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict; the result is where they are.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms of what ``predict_proba`` returns; minus infinity for a probability of 0.
        """
        return self._decided(
            X, lambda backend, decision: logarithms(backend, self._probabilities(backend, decision))
        )

    def predict(self, X: Any) -> Any:
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict; the result is where they are.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class with the highest vote for each row.
        """
        return self._decided(X, self._labels)

    def staged_decision_function(self, X: Any) -> Iterator[Any]:
        """Weighted vote after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict; the result is where they are.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Decisions of the first 1, 2, ... trees.
        """
        yield from self._staged_decided(X, self._numbers)

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Predict probabilities after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict; the result is where they are.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Probabilities from the first 1, 2, ... trees.
        """
        yield from self._staged_decided(X, self._probabilities)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict classes after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict; the result is where they are.

        Yields
        ------
        ndarray of shape (n_samples,)
            Classes from the first 1, 2, ... trees.
        """
        yield from self._staged_decided(X, self._labels)


class AdaBoostRegressor(RegressorMixin, BaseAdaBoost):
    """AdaBoost regressor (AdaBoost.R2).

    Each tree is trained on rows that are drawn by weight, and the weights of rows with small errors
    are decreased. The prediction is the weighted median of the trees' predictions.

    The absolute errors of a tree on all rows are divided by the largest one and transformed by
    ``loss``. With their weighted mean r and ``beta = r / (1 - r)``, the tree gets the weight
    ``learning_rate * log(1 / beta)``.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What to boost: a regressor of scikit-learn's API, which is trained on the drawn rows.
        None: trees, which parameters below are about; they must have their defaults if there is an
        estimator. A decision tree of this library gives a model like any other. Of everything else
        there are no trees to save, draw or explain; pickle can store such a model.
    n_estimators : int, default=50
        Most rounds. Training ends before if a tree makes no error, or if the mean loss reaches 1/2
        (with a warning).
    learning_rate : float, default=1.0
        Factor on the weight of each tree.
    max_depth : int or None, default=3
        Maximum depth of a tree. None means no limit.
    loss : {"linear", "square", "exponential"}, default="linear"
        Loss of a row from its relative error r: r, r ** 2, or 1 - exp(-r).
    criterion : {"squared_error", "absolute_error"}, default="squared_error"
        Impurity that splits decrease; leaves hold means, or medians.
    splitter : {"exact", "best", "hist"}, default="exact"
        Cuts between all distinct values, or between at most ``max_bins`` bins. "best" is
        scikit-learn's name for "exact".
    max_bins : int, default=256
        Maximum number of bins per feature, from 2 to 256, for ``splitter="hist"``. One bin is
        reserved for missing values, so 256 means 255 bins for values.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf. A float is a fraction of the training rows. A row that was
        drawn several times counts once.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total weight in a leaf, from 0 to 0.5.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that are considered for a split, drawn at random. A float is a fraction
        of the features; None means all.
    categorical_features : "auto", None, or array-like of int, str or bool, default="auto"
        Columns of categories: their numbers, names or a mask; None for no column. "auto": columns
        of a frame that hold text or have a dtype of categories, and columns of text of other
        tables. Categories are text or numbers.
    unknown_category : {"missing", "error"}, default="missing"
        What a category is in rows to predict that training has not seen: a missing value, or an
        error.
    categorical_split : {"auto", "fisher", "one_vs_rest", "exhaustive"}, default="auto"
        How "exact" and "hist" divide categories: in the order of their means (Fisher; the best
        division for one output, absolute error aside), one against the others, or in every way (up
        to 10 categories in a node, else as "fisher"). "auto" takes every way if there are several
        outputs.
    min_data_per_category : int, default=5
        For features with more than 10 categories: number of rows that a category must have in a
        node to be divided on its own. Those with fewer rows stay together.
    cat_smooth : float, default=10.0
        For features with more than 10 categories: number of rows with the mean of the node that are
        added to each category before categories are ordered.
    max_cat_threshold : int or None, default=None
        For features with more than 10 categories: maximum number of categories on the smaller side
        of a split in their order.
    date_features : list of str, dict of lists, or None, default=None
        Parts of dates that trees see as further columns: "year", "month", "day", "dayofyear",
        "weekday" (0 is Monday), "hour" and "minute". A list is for all columns of dates, a dict
        maps names or numbers of columns to lists.
    sparse_missing : bool, default=False
        Whether values that a sparse matrix does not store are missing values instead of zeros.
    device : {"auto", "cpu", "cuda", "cuda:N"}, default="auto"
        Device for training; the model does not depend on it. "auto" means the CPU. With "cuda",
        trees with ``splitter="exact"`` are still grown on the CPU, and an ``estimator`` trains
        where it does.
    n_jobs : int or None, default=None
        Number of threads. None and -1 mean all cores, and so does any number above the number of
        cores. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of all random choices. None means 0, so training is always repeatable.

    Attributes
    ----------
    n_estimators_ : int
        Trees that were trained.
    estimators_ : list of DecisionTreeRegressor
        The trees as fitted estimators; they are also ``model[i]`` and ``list(model)``.
    estimator_weights_ : ndarray of shape (n_trees,)
        Weight of each tree in the median.
    estimator_errors_ : ndarray of shape (n_trees,)
        Weighted mean loss of each tree.
    feature_importances_ : ndarray of shape (n_features,)
        Importance of each feature, adding up to 1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had string column names.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gpuboost import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdaBoostRegressor(n_estimators=20).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    _criteria = ("squared_error", "absolute_error")
    _combines = (("median", False, False),)

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = DEFAULT.n_estimators,
        learning_rate: float = DEFAULT.learning_rate,
        max_depth: int | None = 3,
        loss: str = DEFAULT.loss,
        criterion: str = "squared_error",
        splitter: str = "exact",
        max_bins: int = 256,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        categorical_features: Any = "auto",
        unknown_category: str = "missing",
        categorical_split: str = "auto",
        min_data_per_category: int = TreeParams.min_data_per_category,
        cat_smooth: float = TreeParams.cat_smooth,
        max_cat_threshold: int | None = TreeParams.max_cat_threshold,
        date_features: Any = None,
        sparse_missing: bool = False,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self._keep_parameters(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdaBoostRegressor:
        """Train on a set of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, or categories in nominal columns; NaN means missing. An array on a CUDA device,
            or a cuDF frame: it stays there with ``device="cuda"``, ``splitter="hist"`` and no
            nominal features, else it is copied to the host once.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Initial sample weights. Rows with weight 0 are ignored.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit_boosted(X, y, sample_weight)
        return self

    def predict(self, X: Any) -> Any:
        """Predict targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict; the result is where they are.

        Returns
        -------
        ndarray of shape (n_samples,)
            Weighted median of the trees' predictions for each row.
        """
        return self._predict(X, lambda _, medians: medians[0])

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict targets after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict; the result is where they are.

        Yields
        ------
        ndarray of shape (n_samples,)
            Weighted median of the first 1, 2, ... trees.
        """
        yield from self._staged(X, lambda _, medians: medians[0])
