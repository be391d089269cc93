"""Random forests and extremely randomised trees for classification and regression."""

from __future__ import annotations

from typing import Any

from gpuboost.estimators.forest_base import (
    DEFAULT,
    BaseForestClassifier,
    BaseForestRegressor,
)
from gpuboost.training.bagging import BaggingParams


class RandomForestClassifier(BaseForestClassifier):
    """A random forest for classification.

    Each tree is grown on a bootstrap sample of the rows, and each split considers a random subset
    of the features. The features are binned once for all trees, which makes training fast on large
    data; ``splitter="exact"`` uses all thresholds instead.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss", "misclassification"}, default="gini"
        Impurity that splits decrease; "entropy" and "log_loss" are the same, in bits.
        "misclassification" is not strictly concave: a split that carves out a pure node can count
        for nothing.
    splitter : {"hist", "exact", "best", "midpoint"}, default="hist"
        How a node's split is found: the best of the cuts between at most ``max_bins`` bins; the
        best of all cuts; or the middle of the node's cell, along one feature that is drawn without
        looking at y. "best" is scikit-learn's name for "exact".
    max_depth : int or None, default=None
        Maximum depth of a tree. None means no limit.
    min_samples_split : int or float, default=2
        Minimum number of rows in a node that is split. A float is a fraction of the training rows.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf. A float is a fraction of the training rows. A row that was
        drawn several times counts once.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total weight in a leaf, from 0 to 0.5.
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        Number of features that are considered for a split, drawn at random. A float is a fraction
        of the features; None means all. Not with ``splitter="midpoint"``, which draws one.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves. If it is set, the node with the highest gain is split first. None
        means no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the impurity by a split, weighted by the fraction of the total weight in
        the node.
    ccp_alpha : float, default=0.0
        Price of a leaf: each tree is pruned to the subtree that minimises impurity + ``ccp_alpha``
        * leaves.
    bootstrap : bool, default=True
        Whether each tree is grown on a bootstrap sample of the rows; otherwise on all rows.
    max_samples : int, float or None, default=None
        Number of rows to draw for each tree. A float is a fraction of the rows; None means as many
        as there are rows. Only with ``bootstrap=True``.
    oob_score : bool or callable, default=False
        Whether to judge the forest by its out-of-bag predictions; a callable ``metric(y_true,
        y_pred)`` replaces accuracy. Only with ``bootstrap``.
    voting : {"soft", "hard"}, default="soft"
        Whether the trees' class shares are averaged, or each tree votes for its most frequent
        class.
    class_weight : dict, list of dict, "balanced", "balanced_subsample" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``; a list has one entry for each
        output. "balanced" gives all classes the same total, "balanced_subsample" does so in every
        bag.
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
    max_bins : int, default=256
        Maximum number of bins per feature, from 2 to 256, for ``splitter="hist"``. One bin is
        reserved for missing values, so 256 means 255 bins for values.
    warm_start : bool, default=False
        Whether ``fit`` keeps the fitted trees and adds more until there are ``n_estimators``. The
        result is exactly the forest of a single fit. Data and parameters must be the same as in the
        first fit.
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
    verbose : int, default=0
        0 prints nothing. 1 shows a progress bar on a terminal, and up to ten lines elsewhere.
        Higher values print a line every that many trees. Output goes to standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of one for each output
        The classes, sorted.
    n_classes_ : int or list of int
        Number of classes.
    n_outputs_ : int
        Number of outputs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean over the trees of each feature's part of the decrease of impurity, adding up to 1.
    n_estimators_ : int
        Number of trees that were grown.
    estimators_ : list of DecisionTreeClassifier
        The trees as fitted estimators; they are also ``model[i]`` and ``list(model)``.
    estimators_samples_ : list of ndarray of int
        The training rows that were drawn for each tree, as often as they were; only with
        ``bootstrap``.
    bags_ : Bags or None
        The rule by which rows are drawn for each tree; None without ``bootstrap``.
    origin_ : dict
        What the trees follow from, which a warm start compares: parameters, the seed, and digests
        of the data.
    oob_score_ : float
        Accuracy of the out-of-bag predictions, or what the callable says; only with ``oob_score``.
    oob_curve_ : ndarray of shape (n_points, 2)
        Numbers of trees, and the out-of-bag score of the first so many trees, at up to 20 points;
        only with ``oob_score``.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes[, n_outputs])
        Mean class shares (or votes) by the trees whose bags do not have the row; NaN if all have
        it. Only with ``oob_score``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from gpuboost import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RandomForestClassifier(n_estimators=50, oob_score=True).fit(X, y)
    >>> bool(model.oob_score_ > 0.9)
    True
    """

    _cuts_by_chance = False


class RandomForestRegressor(BaseForestRegressor):
    """Random forest regressor.

    Each tree is grown on a bootstrap sample of the rows, and each split considers a random subset
    of the features. The features are binned once for all trees, which makes training fast on large
    data; ``splitter="exact"`` uses all thresholds instead.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        Impurity that splits decrease: the variance, the mean distance from the median, or half the
        mean Poisson deviance, which needs targets of at least 0. Leaves predict means, with
        "absolute_error" medians. "friedman_mse" is another name for "squared_error".
    splitter : {"hist", "exact", "best", "midpoint"}, default="hist"
        How a node's split is found: the best of the cuts between at most ``max_bins`` bins; the
        best of all cuts; or the middle of the node's cell, along one feature that is drawn without
        looking at y. "best" is scikit-learn's name for "exact".
    max_depth : int or None, default=None
        Maximum depth of a tree. None means no limit.
    min_samples_split : int or float, default=2
        Minimum number of rows in a node that is split. A float is a fraction of the training rows.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf. A float is a fraction of the training rows. A row that was
        drawn several times counts once.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total weight in a leaf, from 0 to 0.5.
    max_features : int, float, "sqrt", "log2" or None, default=1.0
        Number of features that are considered for a split, drawn at random. A float is a fraction
        of the features; None means all. Not with ``splitter="midpoint"``, which draws one.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves. If it is set, the node with the highest gain is split first. None
        means no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the impurity by a split, weighted by the fraction of the total weight in
        the node.
    ccp_alpha : float, default=0.0
        Price of a leaf: each tree is pruned to the subtree that minimises impurity + ``ccp_alpha``
        * leaves.
    bootstrap : bool, default=True
        Whether each tree is grown on a bootstrap sample of the rows; otherwise on all rows.
    max_samples : int, float or None, default=None
        Number of rows to draw for each tree. A float is a fraction of the rows; None means as many
        as there are rows. Only with ``bootstrap=True``.
    oob_score : bool or callable, default=False
        Whether to judge the forest by its out-of-bag predictions; a callable ``metric(y_true,
        y_pred)`` replaces R2. Only with ``bootstrap``.
    keep_targets : bool, default=False
        Whether to keep the training targets of all leaves, 12 bytes for each row of each bag:
        ``predict_quantiles`` needs them.
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
    max_bins : int, default=256
        Maximum number of bins per feature, from 2 to 256, for ``splitter="hist"``. One bin is
        reserved for missing values, so 256 means 255 bins for values.
    warm_start : bool, default=False
        Whether ``fit`` keeps the fitted trees and adds more until there are ``n_estimators``. The
        result is exactly the forest of a single fit. Data and parameters must be the same as in the
        first fit.
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
    verbose : int, default=0
        0 prints nothing. 1 shows a progress bar on a terminal, and up to ten lines elsewhere.
        Higher values print a line every that many trees. Output goes to standard error.

    Attributes
    ----------
    n_outputs_ : int
        Number of outputs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean over the trees of each feature's part of the decrease of impurity, adding up to 1.
    n_estimators_ : int
        Number of trees that were grown.
    estimators_ : list of DecisionTreeRegressor
        The trees as fitted estimators; they are also ``model[i]`` and ``list(model)``.
    estimators_samples_ : list of ndarray of int
        The training rows that were drawn for each tree, as often as they were; only with
        ``bootstrap``.
    bags_ : Bags or None
        The rule by which rows are drawn for each tree; None without ``bootstrap``.
    origin_ : dict
        What the trees follow from, which a warm start compares: parameters, the seed, and digests
        of the data.
    oob_score_ : float
        R2 of the out-of-bag predictions, or what the callable says; only with ``oob_score``.
    oob_curve_ : ndarray of shape (n_points, 2)
        Numbers of trees, and the out-of-bag score of the first so many trees, at up to 20 points;
        only with ``oob_score``.
    leaf_targets_ : LeafTargets or None
        Training targets by leaf; only with ``keep_targets``.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Mean prediction by the trees whose bags do not have the row; NaN if all have it. Only with
        ``oob_score``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gpuboost import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(n_estimators=50, oob_score=True).fit(X, y)
    >>> bool(model.oob_score_ > 0.3)
    True
    >>> model = RandomForestRegressor(n_estimators=20, keep_targets=True).fit(X, y)
    >>> model.predict_quantiles(X[:2], [0.1, 0.9]).shape
    (2, 2)
    """

    _cuts_by_chance = False


class ExtraTreesClassifier(BaseForestClassifier):
    """Extra-trees classifier (extremely randomized trees).

    Each split considers a random subset of the features and one random threshold for each of them,
    and uses the best of these. The features are binned once for all trees, and random thresholds
    are bin boundaries; with ``splitter="exact"`` they are any values.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss", "misclassification"}, default="gini"
        Impurity that splits decrease; "entropy" and "log_loss" are the same, in bits.
        "misclassification" is not strictly concave: a split that carves out a pure node can count
        for nothing.
    splitter : {"hist", "exact", "best", "midpoint"}, default="hist"
        Where a feature's cut falls: on the border of one of at most ``max_bins`` bins; anywhere
        between two values; or in the middle of the node's cell, along one feature that is drawn
        without looking at y. "best" is scikit-learn's name for "exact".
    max_depth : int or None, default=None
        Maximum depth of a tree. None means no limit.
    min_samples_split : int or float, default=2
        Minimum number of rows in a node that is split. A float is a fraction of the training rows.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf. A float is a fraction of the training rows. A row that was
        drawn several times counts once.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total weight in a leaf, from 0 to 0.5.
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        Number of features that are considered for a split, drawn at random. A float is a fraction
        of the features; None means all. Not with ``splitter="midpoint"``, which draws one.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves. If it is set, the node with the highest gain is split first. None
        means no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the impurity by a split, weighted by the fraction of the total weight in
        the node.
    ccp_alpha : float, default=0.0
        Price of a leaf: each tree is pruned to the subtree that minimises impurity + ``ccp_alpha``
        * leaves.
    bootstrap : bool, default=False
        Whether each tree is grown on a bootstrap sample of the rows; otherwise on all rows.
    max_samples : int, float or None, default=None
        Number of rows to draw for each tree. A float is a fraction of the rows; None means as many
        as there are rows. Only with ``bootstrap=True``.
    oob_score : bool or callable, default=False
        Whether to judge the forest by its out-of-bag predictions; a callable ``metric(y_true,
        y_pred)`` replaces accuracy. Only with ``bootstrap``.
    voting : {"soft", "hard"}, default="soft"
        Whether the trees' class shares are averaged, or each tree votes for its most frequent
        class.
    class_weight : dict, list of dict, "balanced", "balanced_subsample" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``; a list has one entry for each
        output. "balanced" gives all classes the same total, "balanced_subsample" does so in every
        bag.
    categorical_features : "auto", None, or array-like of int, str or bool, default="auto"
        Columns of categories: their numbers, names or a mask; None for no column. "auto": columns
        of a frame that hold text or have a dtype of categories, and columns of text of other
        tables. Categories are text or numbers. A cut sends each category left or right by
        chance.
    unknown_category : {"missing", "error"}, default="missing"
        What a category is in rows to predict that training has not seen: a missing value, or an
        error.
    max_bins : int, default=256
        Maximum number of bins per feature, from 2 to 256, for ``splitter="hist"``. One bin is
        reserved for missing values, so 256 means 255 bins for values.
    warm_start : bool, default=False
        Whether ``fit`` keeps the fitted trees and adds more until there are ``n_estimators``. The
        result is exactly the forest of a single fit. Data and parameters must be the same as in the
        first fit.
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
    verbose : int, default=0
        0 prints nothing. 1 shows a progress bar on a terminal, and up to ten lines elsewhere.
        Higher values print a line every that many trees. Output goes to standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of one for each output
        The classes, sorted.
    n_classes_ : int or list of int
        Number of classes.
    n_outputs_ : int
        Number of outputs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean over the trees of each feature's part of the decrease of impurity, adding up to 1.
    n_estimators_ : int
        Number of trees that were grown.
    estimators_ : list of DecisionTreeClassifier
        The trees as fitted estimators; they are also ``model[i]`` and ``list(model)``.
    estimators_samples_ : list of ndarray of int
        The training rows that were drawn for each tree, as often as they were; only with
        ``bootstrap``.
    bags_ : Bags or None
        The rule by which rows are drawn for each tree; None without ``bootstrap``.
    origin_ : dict
        What the trees follow from, which a warm start compares: parameters, the seed, and digests
        of the data.
    oob_score_ : float
        Accuracy of the out-of-bag predictions, or what the callable says; only with ``oob_score``.
    oob_curve_ : ndarray of shape (n_points, 2)
        Numbers of trees, and the out-of-bag score of the first so many trees, at up to 20 points;
        only with ``oob_score``.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes[, n_outputs])
        Mean class shares (or votes) by the trees whose bags do not have the row; NaN if all have
        it. Only with ``oob_score``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from gpuboost import ExtraTreesClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ExtraTreesClassifier(n_estimators=50, bootstrap=True, oob_score=True).fit(X, y)
    >>> bool(model.oob_score_ > 0.9)
    True
    """

    _cuts_by_chance = True

    #: Random cuts need no order of categories: there is one way to divide them.
    categorical_split = DEFAULT.categorical_split
    min_data_per_category = DEFAULT.min_data_per_category
    cat_smooth = DEFAULT.cat_smooth
    max_cat_threshold = DEFAULT.max_cat_threshold

    def __init__(
        self,
        n_estimators: int = BaggingParams.n_estimators,
        *,
        criterion: str = "gini",
        splitter: str = "hist",
        max_depth: int | None = DEFAULT.max_depth,
        min_samples_split: int | float = DEFAULT.min_samples_split,
        min_samples_leaf: int | float = DEFAULT.min_samples_leaf,
        min_weight_fraction_leaf: float = DEFAULT.min_weight_fraction_leaf,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = DEFAULT.max_leaf_nodes,
        min_impurity_decrease: float = DEFAULT.min_impurity_decrease,
        ccp_alpha: float = BaggingParams.ccp_alpha,
        bootstrap: bool = False,
        max_samples: int | float | None = None,
        oob_score: Any = False,
        voting: str = "soft",
        class_weight: Any = None,
        categorical_features: Any = "auto",
        unknown_category: str = "missing",
        max_bins: int = DEFAULT.max_bins,
        warm_start: bool = False,
        date_features: Any = None,
        sparse_missing: bool = False,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())


class ExtraTreesRegressor(BaseForestRegressor):
    """Extra-trees regressor (extremely randomized trees).

    Each split considers a random subset of the features and one random threshold for each of them,
    and uses the best of these. The features are binned once for all trees, and random thresholds
    are bin boundaries; with ``splitter="exact"`` they are any values.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        Impurity that splits decrease: the variance, the mean distance from the median, or half the
        mean Poisson deviance, which needs targets of at least 0. Leaves predict means, with
        "absolute_error" medians. "friedman_mse" is another name for "squared_error".
    splitter : {"hist", "exact", "best", "midpoint"}, default="hist"
        Where a feature's cut falls: on the border of one of at most ``max_bins`` bins; anywhere
        between two values; or in the middle of the node's cell, along one feature that is drawn
        without looking at y. "best" is scikit-learn's name for "exact".
    max_depth : int or None, default=None
        Maximum depth of a tree. None means no limit.
    min_samples_split : int or float, default=2
        Minimum number of rows in a node that is split. A float is a fraction of the training rows.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf. A float is a fraction of the training rows. A row that was
        drawn several times counts once.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total weight in a leaf, from 0 to 0.5.
    max_features : int, float, "sqrt", "log2" or None, default=1.0
        Number of features that are considered for a split, drawn at random. A float is a fraction
        of the features; None means all. Not with ``splitter="midpoint"``, which draws one.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves. If it is set, the node with the highest gain is split first. None
        means no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the impurity by a split, weighted by the fraction of the total weight in
        the node.
    ccp_alpha : float, default=0.0
        Price of a leaf: each tree is pruned to the subtree that minimises impurity + ``ccp_alpha``
        * leaves.
    bootstrap : bool, default=False
        Whether each tree is grown on a bootstrap sample of the rows; otherwise on all rows.
    max_samples : int, float or None, default=None
        Number of rows to draw for each tree. A float is a fraction of the rows; None means as many
        as there are rows. Only with ``bootstrap=True``.
    oob_score : bool or callable, default=False
        Whether to judge the forest by its out-of-bag predictions; a callable ``metric(y_true,
        y_pred)`` replaces R2. Only with ``bootstrap``.
    keep_targets : bool, default=False
        Whether to keep the training targets of all leaves, 12 bytes for each row of each bag:
        ``predict_quantiles`` needs them.
    categorical_features : "auto", None, or array-like of int, str or bool, default="auto"
        Columns of categories: their numbers, names or a mask; None for no column. "auto": columns
        of a frame that hold text or have a dtype of categories, and columns of text of other
        tables. Categories are text or numbers. A cut sends each category left or right by
        chance.
    unknown_category : {"missing", "error"}, default="missing"
        What a category is in rows to predict that training has not seen: a missing value, or an
        error.
    max_bins : int, default=256
        Maximum number of bins per feature, from 2 to 256, for ``splitter="hist"``. One bin is
        reserved for missing values, so 256 means 255 bins for values.
    warm_start : bool, default=False
        Whether ``fit`` keeps the fitted trees and adds more until there are ``n_estimators``. The
        result is exactly the forest of a single fit. Data and parameters must be the same as in the
        first fit.
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
    verbose : int, default=0
        0 prints nothing. 1 shows a progress bar on a terminal, and up to ten lines elsewhere.
        Higher values print a line every that many trees. Output goes to standard error.

    Attributes
    ----------
    n_outputs_ : int
        Number of outputs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean over the trees of each feature's part of the decrease of impurity, adding up to 1.
    n_estimators_ : int
        Number of trees that were grown.
    estimators_ : list of DecisionTreeRegressor
        The trees as fitted estimators; they are also ``model[i]`` and ``list(model)``.
    estimators_samples_ : list of ndarray of int
        The training rows that were drawn for each tree, as often as they were; only with
        ``bootstrap``.
    bags_ : Bags or None
        The rule by which rows are drawn for each tree; None without ``bootstrap``.
    origin_ : dict
        What the trees follow from, which a warm start compares: parameters, the seed, and digests
        of the data.
    oob_score_ : float
        R2 of the out-of-bag predictions, or what the callable says; only with ``oob_score``.
    oob_curve_ : ndarray of shape (n_points, 2)
        Numbers of trees, and the out-of-bag score of the first so many trees, at up to 20 points;
        only with ``oob_score``.
    leaf_targets_ : LeafTargets or None
        Training targets by leaf; only with ``keep_targets``.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Mean prediction by the trees whose bags do not have the row; NaN if all have it. Only with
        ``oob_score``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gpuboost import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ExtraTreesRegressor(n_estimators=50, bootstrap=True, oob_score=True).fit(X, y)
    >>> bool(model.oob_score_ > 0.3)
    True
    """

    _cuts_by_chance = True

    #: Random cuts need no order of categories: there is one way to divide them.
    categorical_split = DEFAULT.categorical_split
    min_data_per_category = DEFAULT.min_data_per_category
    cat_smooth = DEFAULT.cat_smooth
    max_cat_threshold = DEFAULT.max_cat_threshold

    def __init__(
        self,
        n_estimators: int = BaggingParams.n_estimators,
        *,
        criterion: str = "squared_error",
        splitter: str = "hist",
        max_depth: int | None = DEFAULT.max_depth,
        min_samples_split: int | float = DEFAULT.min_samples_split,
        min_samples_leaf: int | float = DEFAULT.min_samples_leaf,
        min_weight_fraction_leaf: float = DEFAULT.min_weight_fraction_leaf,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = DEFAULT.max_leaf_nodes,
        min_impurity_decrease: float = DEFAULT.min_impurity_decrease,
        ccp_alpha: float = BaggingParams.ccp_alpha,
        bootstrap: bool = False,
        max_samples: int | float | None = None,
        oob_score: Any = False,
        keep_targets: bool = False,
        categorical_features: Any = "auto",
        unknown_category: str = "missing",
        max_bins: int = DEFAULT.max_bins,
        warm_start: bool = False,
        date_features: Any = None,
        sparse_missing: bool = False,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())
