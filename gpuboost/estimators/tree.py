"""CART: decision trees for classification and regression."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import RegressorMixin, clone
from sklearn.utils import Bunch

from gpuboost.backend import Backend, on_host
from gpuboost.config import Number, check_choice
from gpuboost.data.checks import LARGEST_IN_TREES, check_weight, class_codes
from gpuboost.data.features import FeatureMap
from gpuboost.data.targets import TreeTargets
from gpuboost.estimators.classical import (
    SeveralLabels,
    SeveralOutputs,
    Training,
    check_counts,
    check_middles,
)
from gpuboost.estimators.leaves import find_leaves, find_paths
from gpuboost.export.tree_fields import TreeFields
from gpuboost.model.ensemble import Ensemble, ensemble_of
from gpuboost.model.file import need
from gpuboost.model.pruning import (
    CLASS_RISKS,
    PruningPath,
    choose_alpha,
    class_risk,
    losses_along,
    node_losses,
    prune,
    reduce_error,
    weakest_links,
)
from gpuboost.model.tree import Tree
from gpuboost.training.trees import (
    CLASS_CRITERIA,
    TREES,
    VALUE_CRITERIA,
    GrowingTree,
    TreeGrower,
    TreeParams,
)

DEFAULT = TreeParams("gini")
FOLDS = 5
SPLITTERS = ("exact", "best", "hist", "random", "midpoint")


class BaseDecisionTree(SeveralOutputs):
    """What both decision trees share."""

    ccp_alpha_: float
    _criteria: ClassVar[dict[str, int]]

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n_trees, alpha = len(ensemble_of(self).trees), self.ccp_alpha_
        need(n_trees == 1, f"a decision tree is one tree, not {n_trees}")
        need(0 <= alpha < math.inf, f"ccp_alpha_ is {alpha}, not a number of at least 0")

    # --- training

    def _check_params(self) -> TreeParams:
        """Parameters as a checked config; raises before any work is done."""
        check_choice("criterion", self.criterion, self._criteria)
        check_choice("splitter", self.splitter, SPLITTERS)
        names = (
            "criterion", "max_depth", "min_samples_split", "min_samples_leaf",
            "min_weight_fraction_leaf", "min_impurity_decrease", "max_leaf_nodes", "max_features",
            "categorical_split", "min_data_per_category", "cat_smooth", "max_cat_threshold",
            "max_bins",
        )  # fmt: skip
        params = TreeParams(
            splitter=self._splitter, **{name: getattr(self, name) for name in names}
        )
        self._check_bins()
        self._check_device()
        self._check_input_parameters()
        if not isinstance(self.ccp_alpha, str) or self.ccp_alpha != "cv":
            if isinstance(self.ccp_alpha, str):
                raise ValueError(
                    f"ccp_alpha must be a number at least 0 or 'cv'; got {self.ccp_alpha!r}"
                )
            Number(0).check("ccp_alpha", self.ccp_alpha)
        pruning_risk = getattr(self, "pruning_risk", None)
        if pruning_risk is not None:
            check_choice("pruning_risk", pruning_risk, (*CLASS_RISKS, None))
        if isinstance(self.cv, (numbers.Integral, type(None))):
            Number(2, integer=True).check("cv", self.cv)
        elif (
            not hasattr(self.cv, "split")
            and not isinstance(self.cv, Iterable)
            or isinstance(self.cv, str)
        ):
            raise ValueError(
                "cv must be an integer at least 2, a splitter of scikit-learn or an iterable "
                f"of splits; got {self.cv!r}"
            )
        if params.splitter == "midpoint":
            if params.max_features is not None:
                raise ValueError(
                    "max_features must be None with splitter='midpoint', which draws one; got "
                    f"{params.max_features!r}"
                )
        elif self.feature_probabilities is not None:
            raise ValueError(
                f"feature_probabilities needs splitter='midpoint'; got splitter={params.splitter!r}"
            )
        return params

    def _check_probabilities(self, table: FeatureMap) -> np.ndarray | None:
        """Probabilities of the columns that the tree sees, adding up to 1.

        Parts of a date have the one of their column.
        """
        n_features = len(table)
        if self.feature_probabilities is None:
            return None
        try:
            parts: np.ndarray = np.asarray(self.feature_probabilities, np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"feature_probabilities must be numbers; got {self.feature_probabilities!r}"
            ) from error
        if parts.shape != (n_features,):
            raise ValueError(
                f"feature_probabilities must have one entry for each of the {n_features} "
                f"features; got shape {parts.shape}"
            )
        if not np.isfinite(parts).all() or (parts < 0).any() or not parts.any():
            raise ValueError(
                f"feature_probabilities must be finite, not negative and not all zero; got {parts}"
            )
        parts = np.append(parts, [parts[one.column] for one in table.date_parts])
        return parts / parts.sum()

    def _fit(self, x: Any, y: Any, sample_weight: Any, params: TreeParams) -> None:
        if self.ccp_alpha != "cv" and not (
            isinstance(self.cv, numbers.Integral) and self.cv == FOLDS
        ):  # no error: scikit-learn's checks set ``cv`` of every estimator that has it
            warnings.warn(
                f"cv={self.cv!r} is not used: cross-validation needs ccp_alpha='cv'; got "
                f"ccp_alpha={self.ccp_alpha!r}",
                UserWarning,
                stacklevel=3,
            )
        with self._unchanged_on_error():
            data = self._prepare(x, y, sample_weight)
            folds = self._held_out(data) if self.ccp_alpha == "cv" else []
            with self._training_backend(data.x) as backend:
                data = data.without_weightless_rows(backend)
                check_middles(data, params)
                if params.criterion == "poisson":
                    check_counts(data)
                tree, self.ccp_alpha_ = self._grow(data, params, folds, backend)
            self._set_trained(data, [tree])

    def _grow(
        self, data: Training, params: TreeParams, folds: list[np.ndarray], backend: Backend
    ) -> tuple[Tree, float]:
        """The pruned tree, and the alpha it was pruned with."""
        probability = self._check_probabilities(data.table)
        grower = TreeGrower(self._coded(data, backend), data.targets, params, backend, probability)
        tree = grower.grow(GrowingTree(data.weight, backend.mix_key(self._seed(), TREES)))
        if self.ccp_alpha == "cv":
            alpha = self._cross_validated_alpha(data, grower, tree, folds, backend)
        else:
            alpha = float(self.ccp_alpha)
        if alpha > 0 or self.ccp_alpha == "cv":
            tree = prune(tree, alpha, self._risk(tree, data.targets.first_channel))
        return tree, alpha

    def _risk(self, tree: Tree, first_channel: np.ndarray) -> np.ndarray | None:
        """What the tree is pruned by, for every node; None: the criterion."""
        name = getattr(self, "pruning_risk", None)
        return None if name is None else class_risk(tree, name, first_channel)

    def _cross_validated_alpha(
        self,
        data: Training,
        grower: TreeGrower,
        tree: Tree,
        folds: list[np.ndarray],
        backend: Backend,
    ) -> float:
        """The best alpha of the tree's pruning path.

        Judged by rows that the trees of the folds have not seen.
        """

        def without_fold(i: int) -> GrowingTree:
            weight = data.weight.copy()
            weight[folds[i]] = 0.0
            return GrowingTree(weight, backend.mix_key(self._seed(), TREES, i + 1))

        judged: list[tuple[PruningPath, np.ndarray]] = []
        for rows, tree_of_fold in zip(
            folds, grower.grow_all(len(folds), without_fold), strict=True
        ):
            path = weakest_links(tree_of_fold, self._risk(tree_of_fold, data.targets.first_channel))
            one = Ensemble.of_tree(tree_of_fold, data.x.shape[1], data.targets.first_channel)
            leaves = backend.to_host(one.leaves(backend.take_rows(data.x, rows), backend))
            losses = node_losses(
                tree_of_fold,
                leaves[:, 0],
                data.targets.of_rows(rows),
                data.weight[rows],
                self.criterion == "absolute_error",
            )
            judged.append((path, losses_along(tree_of_fold, path, losses)))
        path = weakest_links(tree, self._risk(tree, data.targets.first_channel))
        return choose_alpha(path, judged)

    def _held_out(self, data: Training) -> list[np.ndarray]:
        """The held-out rows of each fold, numbered among the rows that have a weight."""
        # not with the library: importing it takes long
        from sklearn.model_selection import KFold, StratifiedKFold, check_cv

        y = data.y[:, 0] if data.one_column else data.y
        known = data.weight > 0
        number = np.cumsum(known) - 1
        try:
            if isinstance(self.cv, numbers.Integral):  # rows without weight must not matter
                kind = StratifiedKFold if data.classes is not None and data.one_column else KFold
                splitter = kind(int(self.cv), shuffle=True, random_state=self._seed())
                return [rows for _, rows in splitter.split(np.zeros(known.sum()), y[known])]
            folds = []
            for rest, rows in check_cv(self.cv).split(data.x, y):
                if len(rest) + len(rows) != len(y) or not known[rest].any():
                    raise ValueError(
                        "the training part of a fold must have weight, and be all rows that "
                        "are not held out"
                    )
                folds.append(number[rows[known[rows]]])
            return folds
        except ValueError as error:
            raise ValueError(f"cv={self.cv!r} does not fit the data: {error}") from error

    # --- pruning

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Grow a tree and compute the path of its cost-complexity pruning.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, or categories in nominal columns; NaN means missing.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        Bunch
            ``ccp_alphas``, rising, and ``impurities``: the weighted mean impurity of the leaves of
            the tree that each alpha leaves (by ``pruning_risk``, if there is one).
        """
        model = clone(self).set_params(ccp_alpha=0.0, cv=FOLDS).fit(X, y, sample_weight)
        ensemble = ensemble_of(model)
        tree = ensemble.trees[0]
        path = weakest_links(tree, self._risk(tree, ensemble.first_channel))
        return Bunch(ccp_alphas=path.alphas, impurities=path.impurities)

    def prune_reduced_error(
        self, X_val: Any, y_val: Any, sample_weight: Any = None
    ) -> BaseDecisionTree:
        """Prune the fitted tree by a validation set (reduced-error pruning).

        From the bottom up, a subtree becomes a leaf if the error on the validation set does not get
        worse by it. The error is the share of wrong classes, or the squared error (the absolute one
        with ``criterion="absolute_error"``).

        Parameters
        ----------
        X_val : array-like of shape (n_samples, n_features)
            Rows that the tree was not grown on.
        y_val : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        self
            The estimator, pruned.
        """
        ensemble = ensemble_of(self)
        x = self.check_rows(X_val)
        y = self._check_y(y_val, len(x), multi_output=True).reshape(len(x), -1)
        if y.shape[1] != self.n_outputs_:
            raise ValueError(
                f"y_val must have {self.n_outputs_} outputs as in training; got {y.shape[1]}"
            )
        weight = check_weight(on_host(sample_weight), len(y), largest_allowed=LARGEST_IN_TREES)
        leaves = on_host(find_leaves(self, x))[:, 0]
        losses = node_losses(
            ensemble.trees[0],
            leaves,
            self._targets(y),
            weight if weight.size else np.ones(len(y)),
            self.criterion == "absolute_error",
        )
        self._set_ensemble(ensemble.with_trees([reduce_error(ensemble.trees[0], losses)]))
        return self

    def _targets(self, y: np.ndarray) -> TreeTargets:
        """Targets of rows that the tree was not grown on."""
        if self._criteria is VALUE_CRITERIA:
            return TreeTargets.of_values(np.asarray(y, np.float64))
        classes = [self.classes_] if self.n_outputs_ == 1 else self.classes_
        codes = [class_codes("y_val", y[:, o], known) for o, known in enumerate(classes)]
        return TreeTargets.of_classes(np.stack(codes, axis=1), [len(known) for known in classes])

    # --- the fitted tree

    @property
    def tree_(self) -> TreeFields:
        """The tree with the fields of scikit-learn's: ``children_left``, ``threshold``, ..."""
        ensemble = ensemble_of(self)
        return TreeFields(ensemble.trees[0], self, ensemble)

    @property
    def max_features_(self) -> int:
        """Features that a node looks at."""
        params = TreeParams(self.criterion, max_features=self.max_features)
        is_drawn = self._splitter == "midpoint"
        return 1 if is_drawn else params.n_features_drawn(self.n_features_in_)

    def get_depth(self) -> int:
        """Splits on the longest way from the root to a leaf.

        Returns
        -------
        int
            0 if the tree is a single leaf.
        """
        return int(ensemble_of(self).trees[0].depth.max())

    def get_n_leaves(self) -> int:
        """Number of leaves.

        Returns
        -------
        int
            At least 1.
        """
        return ensemble_of(self).trees[0].n_leaves

    def apply(self, X: Any) -> Any:
        """The leaf of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; the result is where they are.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers of nodes.
        """
        return find_leaves(self, self.check_rows(X))[:, 0].astype(np.int64)

    def decision_path(self, X: Any) -> csr_matrix:
        """The nodes that each row passes through.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        sparse matrix of shape (n_samples, n_nodes)
            In CSR format, always on the host; 1 where a row passes through a node.
        """
        return find_paths(self, self.check_rows(X))


class DecisionTreeClassifier(SeveralLabels, BaseDecisionTree):
    """Decision tree classifier (CART).

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "misclassification"}, default="gini"
        Impurity that splits decrease; "entropy" and "log_loss" are the same, in bits.
        "misclassification" is not strictly concave: a split that carves out a pure node can count
        for nothing.
    splitter : {"exact", "best", "hist", "random", "midpoint"}, default="exact"
        How a node's split is found: the best of all cuts; the best of the cuts between at most
        ``max_bins`` bins; the best of one cut per feature, drawn between the lowest and the highest
        value of the node; or the middle of the node's cell, along one feature that is drawn without
        looking at y. "best" is scikit-learn's name for "exact".
    max_depth : int or None, default=None
        Maximum depth of a tree. None means no limit.
    min_samples_split : int or float, default=2
        Minimum number of rows in a node that is split. A float is a fraction of the training rows.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf. A float is a fraction of the training rows.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total weight in a leaf, from 0 to 0.5.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that are considered for a split, drawn at random. A float is a fraction
        of the features; None means all. Not with ``splitter="midpoint"``, which draws one.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves. If it is set, the node with the highest gain is split first. None
        means no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the impurity by a split, weighted by the fraction of the total weight in
        the node.
    class_weight : dict, list of dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``; a list has one entry for each
        output.
    ccp_alpha : float or "cv", default=0.0
        Price of a leaf: the tree is pruned to the subtree that minimises impurity + ``ccp_alpha`` *
        leaves. "cv" chooses the price by cross-validation, the simplest tree among equals.
    cv : int, splitter or iterable of splits, default=5
        Folds for ``ccp_alpha="cv"``: their number (shuffled, with the classes in proportion), a
        splitter of scikit-learn, or splits.
    pruning_risk : {"misclassification", "gini", "entropy"} or None, default=None
        Impurity that ``ccp_alpha`` and ``cost_complexity_pruning_path`` weigh against leaves. None:
        ``criterion``. Trees are best grown by "gini" or "entropy", and may be pruned by the share
        of wrong classes.
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
    feature_probabilities : array-like of shape (n_features,), default=None
        Only for ``splitter="midpoint"``: probabilities with which features are drawn, in any unit.
        None: all the same.
    max_bins : int, default=256
        Maximum number of bins per feature, from 2 to 256, for ``splitter="hist"``. One bin is
        reserved for missing values, so 256 means 255 bins for values.
    date_features : list of str, dict of lists, or None, default=None
        Parts of dates that trees see as further columns: "year", "month", "day", "dayofyear",
        "weekday" (0 is Monday), "hour" and "minute". A list is for all columns of dates, a dict
        maps names or numbers of columns to lists.
    sparse_missing : bool, default=False
        Whether values that a sparse matrix does not store are missing values instead of zeros.
    device : {"auto", "cpu", "cuda", "cuda:N"}, default="auto"
        Device for training; the model does not depend on it. "auto" means the CPU. With "cuda",
        trees with ``splitter="exact"`` are still grown on the CPU.
    n_jobs : int or None, default=None
        Number of threads. None and -1 mean all cores, and so does any number above the number of
        cores. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of all random choices. None means 0, so training is always repeatable.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of them
        Sorted class labels; a list with an entry for each output if there are several.
    n_classes_ : int, or list of int
        Number of classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the decrease of impurity.
    n_outputs_ : int
        Number of outputs.
    max_features_ : int
        Features that a node looks at.
    tree_ : TreeFields
        The tree with the fields of scikit-learn's trees (``children_left``, ``threshold``, ...).
    ccp_alpha_ : float
        The price of a leaf that the tree was pruned with.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gpuboost import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    >>> model.get_n_leaves()
    5
    >>> bool(model.score(X, y) > 0.97)
    True
    """

    _criteria = CLASS_CRITERIA
    _combines = (("mean", False, True),)

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = DEFAULT.splitter,
        max_depth: int | None = DEFAULT.max_depth,
        min_samples_split: int | float = DEFAULT.min_samples_split,
        min_samples_leaf: int | float = DEFAULT.min_samples_leaf,
        min_weight_fraction_leaf: float = DEFAULT.min_weight_fraction_leaf,
        max_features: int | float | str | None = DEFAULT.max_features,
        max_leaf_nodes: int | None = DEFAULT.max_leaf_nodes,
        min_impurity_decrease: float = DEFAULT.min_impurity_decrease,
        class_weight: Any = None,
        ccp_alpha: float | str = 0.0,
        cv: Any = FOLDS,
        pruning_risk: str | None = None,
        categorical_features: Any = "auto",
        unknown_category: str = "missing",
        categorical_split: str = DEFAULT.categorical_split,
        min_data_per_category: int = DEFAULT.min_data_per_category,
        cat_smooth: float = DEFAULT.cat_smooth,
        max_cat_threshold: int | None = DEFAULT.max_cat_threshold,
        feature_probabilities: Any = None,
        max_bins: int = DEFAULT.max_bins,
        date_features: Any = None,
        sparse_missing: bool = False,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self._keep_parameters(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DecisionTreeClassifier:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, or categories in nominal columns; NaN means missing. An array on a CUDA device,
            or a cuDF frame: it stays there with ``device="cuda"``, ``splitter="hist"`` and no
            nominal features, else it is copied to the host once.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes: numbers or strings.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. Rows with weight 0 are ignored.

        Returns
        -------
        self
            The fitted estimator.
        """
        params = self._check_params()
        if isinstance(self.class_weight, str) and self.class_weight != "balanced":
            raise ValueError(
                "class_weight must be None, 'balanced', a dict or a list of dicts; got "
                f"{self.class_weight!r}"
            )
        if params.criterion == "misclassification":
            warnings.warn(
                "criterion='misclassification' is not strictly concave: a split that carves "
                "out a pure node can have a gain of 0, and is "
                "then passed over. 'gini' and 'entropy' see it",
                UserWarning,
                stacklevel=2,
            )
        self._fit(X, y, sample_weight, params)
        return self


class DecisionTreeRegressor(RegressorMixin, BaseDecisionTree):
    """Decision tree regressor (CART).

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        Impurity that splits decrease: the variance, the mean distance from the median, or half the
        mean Poisson deviance, which needs targets of at least 0. Leaves predict means, with
        "absolute_error" medians. "friedman_mse" is another name for "squared_error".
    splitter : {"exact", "best", "hist", "random", "midpoint"}, default="exact"
        How a node's split is found: the best of all cuts; the best of the cuts between at most
        ``max_bins`` bins; the best of one cut per feature, drawn between the lowest and the highest
        value of the node; or the middle of the node's cell, along one feature that is drawn without
        looking at y. "best" is scikit-learn's name for "exact".
    max_depth : int or None, default=None
        Maximum depth of a tree. None means no limit.
    min_samples_split : int or float, default=2
        Minimum number of rows in a node that is split. A float is a fraction of the training rows.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf. A float is a fraction of the training rows.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total weight in a leaf, from 0 to 0.5.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that are considered for a split, drawn at random. A float is a fraction
        of the features; None means all. Not with ``splitter="midpoint"``, which draws one.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves. If it is set, the node with the highest gain is split first. None
        means no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the impurity by a split, weighted by the fraction of the total weight in
        the node.
    ccp_alpha : float or "cv", default=0.0
        Price of a leaf: the tree is pruned to the subtree that minimises impurity + ``ccp_alpha`` *
        leaves. "cv" chooses the price by cross-validation, the simplest tree among equals.
    cv : int, splitter or iterable of splits, default=5
        Folds for ``ccp_alpha="cv"``: their number (shuffled), a splitter of scikit-learn, or
        splits.
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
    feature_probabilities : array-like of shape (n_features,), default=None
        Only for ``splitter="midpoint"``: probabilities with which features are drawn, in any unit.
        None: all the same.
    max_bins : int, default=256
        Maximum number of bins per feature, from 2 to 256, for ``splitter="hist"``. One bin is
        reserved for missing values, so 256 means 255 bins for values.
    date_features : list of str, dict of lists, or None, default=None
        Parts of dates that trees see as further columns: "year", "month", "day", "dayofyear",
        "weekday" (0 is Monday), "hour" and "minute". A list is for all columns of dates, a dict
        maps names or numbers of columns to lists.
    sparse_missing : bool, default=False
        Whether values that a sparse matrix does not store are missing values instead of zeros.
    device : {"auto", "cpu", "cuda", "cuda:N"}, default="auto"
        Device for training; the model does not depend on it. "auto" means the CPU. With "cuda",
        trees with ``splitter="exact"`` are still grown on the CPU.
    n_jobs : int or None, default=None
        Number of threads. None and -1 mean all cores, and so does any number above the number of
        cores. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of all random choices. None means 0, so training is always repeatable.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the decrease of impurity.
    n_outputs_ : int
        Number of outputs.
    max_features_ : int
        Features that a node looks at.
    tree_ : TreeFields
        The tree with the fields of scikit-learn's trees (``children_left``, ``threshold``, ...).
    ccp_alpha_ : float
        The price of a leaf that the tree was pruned with.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gpuboost import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DecisionTreeRegressor(ccp_alpha="cv").fit(X, y)
    >>> bool(2 <= model.get_n_leaves() < 30)
    True
    """

    _criteria = VALUE_CRITERIA
    _combines = (("mean", False, False),)

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = DEFAULT.splitter,
        max_depth: int | None = DEFAULT.max_depth,
        min_samples_split: int | float = DEFAULT.min_samples_split,
        min_samples_leaf: int | float = DEFAULT.min_samples_leaf,
        min_weight_fraction_leaf: float = DEFAULT.min_weight_fraction_leaf,
        max_features: int | float | str | None = DEFAULT.max_features,
        max_leaf_nodes: int | None = DEFAULT.max_leaf_nodes,
        min_impurity_decrease: float = DEFAULT.min_impurity_decrease,
        ccp_alpha: float | str = 0.0,
        cv: Any = FOLDS,
        categorical_features: Any = "auto",
        unknown_category: str = "missing",
        categorical_split: str = DEFAULT.categorical_split,
        min_data_per_category: int = DEFAULT.min_data_per_category,
        cat_smooth: float = DEFAULT.cat_smooth,
        max_cat_threshold: int | None = DEFAULT.max_cat_threshold,
        feature_probabilities: Any = None,
        max_bins: int = DEFAULT.max_bins,
        date_features: Any = None,
        sparse_missing: bool = False,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self._keep_parameters(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DecisionTreeRegressor:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, or categories in nominal columns; NaN means missing. An array on a CUDA device,
            or a cuDF frame: it stays there with ``device="cuda"``, ``splitter="hist"`` and no
            nominal features, else it is copied to the host once.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. Rows with weight 0 are ignored.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit(X, y, sample_weight, self._check_params())
        return self
