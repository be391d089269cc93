"""What trees, forests and AdaBoost share.

Targets, weights, nominal columns, and predictions from leaves.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.multiclass import check_classification_targets

from gpuboost.backend import (
    Backend,
    check_device,
    device_for,
    device_holds_numbers,
    device_of,
    get_backend,
    n_threads,
    on_host,
)
from gpuboost.data.checks import (
    LARGEST_IN_TREES,
    check_squares,
    check_weight,
    weights_by_class,
)
from gpuboost.data.features import FeatureMap
from gpuboost.data.sparse import dense_matrix
from gpuboost.data.targets import TreeTargets
from gpuboost.estimators.base import BaseTrees, TreesOfClasses, logarithms
from gpuboost.estimators.outputs import labels_of_outputs
from gpuboost.exchange import FeatureMatrix
from gpuboost.model.ensemble import Ensemble, ensemble_of
from gpuboost.model.tree import Tree
from gpuboost.training.trees import TreeParams

log = logging.getLogger("gpuboost")


@dataclass(frozen=True)
class Training:
    """Checked training data; ``classes`` is None for numbers."""

    x: Any  # (n_rows, n_columns) as trees see them, with numbers of categories; may be on a device
    targets: TreeTargets
    weight: np.ndarray  # (n_rows,) float64: sample weights times class weights
    features: FeatureMap  # of these columns
    table: FeatureMap  # of the user's columns
    classes: list[np.ndarray] | None
    y: np.ndarray  # (n_rows, n_outputs): class codes or values
    one_column: bool  # one output

    @property
    def labels(self) -> np.ndarray:
        """Classes or values of the rows as a user writes them, (n_rows,) if there is one output."""
        y = self.y
        if self.classes is not None:
            decoded = [values[y[:, o]] for o, values in enumerate(self.classes)]
            y = np.stack(decoded, axis=1)
        return y[:, 0] if self.one_column else y

    def without_weightless_rows(self, backend: Backend) -> Training:
        """Only the rows that have a weight, and only their categories; the classes stay."""
        rows = self.weight > 0
        if rows.all():
            return self
        x = backend.take_rows(self.x, np.flatnonzero(rows))
        categories = dict(self.features.categories)
        for f, values in categories.items():
            # NaN, if there is one, is the last
            numbers, codes = np.unique(x[:, f], return_inverse=True)
            known = ~np.isnan(numbers)
            x[:, f] = np.where(known, np.arange(len(numbers)), np.nan)[codes]
            categories[f] = values[numbers[known].astype(np.int64)]
        return replace(
            self,
            x=x,
            targets=self.targets.of_rows(rows),
            weight=self.weight[rows],
            features=self.features.with_categories(categories),
            table=self.table.with_categories(categories),
            y=self.y[rows],
        )


class BaseClassical(BaseTrees):
    """What classical estimators share."""

    @property
    def _splitter(self) -> str:
        """The splitter by its name here: "best" is scikit-learn's for "exact"."""
        return "exact" if self.splitter == "best" else self.splitter

    def _check_device(self) -> None:
        """Raise unless the device exists here."""
        check_device(self.device)
        n_threads(self.n_jobs)

    def _check_bins(self) -> None:
        """Raise if a number of bins is given that the splitter has no use for."""
        default = TreeParams.max_bins
        if self._splitter != "hist" and self.max_bins != default:
            raise ValueError(
                f"max_bins must be {default}, its default, with splitter={self.splitter!r}, "
                f"which has no bins; got {self.max_bins!r}"
            )

    def _training_backend(self, x: Any) -> Backend:
        """Where trees are grown.

        "auto" is the CPU, as nobody has measured yet from which size on a GPU grows classical trees
        faster; a search of all values has more codes than a GPU can sum at once.
        """
        if self.device in ("auto", "cpu"):
            return get_backend("cpu", self.n_jobs)
        if self._splitter == "exact":
            say_that_exact_trees_grow_on_the_host()
            return get_backend("cpu", self.n_jobs)
        return get_backend(device_for(self.device, x), self.n_jobs)

    def _takes_device_input(self, x: Any) -> bool:
        """Whether ``fit`` reads X on a device where it is: where its bins are trained on."""
        is_plain = self.categorical_features is None or (
            isinstance(self.categorical_features, str) and device_holds_numbers(x)
        )
        return self._splitter == "hist" and is_plain and self.device not in ("auto", "cpu")

    # --- training data

    def _prepare(self, x: Any, y: Any, sample_weight: Any) -> Training:
        """Check and encode everything that ``fit`` gets.

        Sets n_features_in_ and feature_names_in_.
        """
        if device_of(x) is not None and not self._takes_device_input(x):
            log.info("X is copied from %s to the host for training", device_for(self.device, x))
            x = on_host(x)
        x, y, table = self._read_xy(x, y, self.categorical_features, multi_output=True)
        x, features = dense_matrix(x), table.of_trees
        x = table.expand_on_host(x) if table.has_made_columns else x
        y = y.reshape(len(y), -1)
        one_column = y.shape[1] == 1
        weight = check_weight(on_host(sample_weight), len(x), largest_allowed=LARGEST_IN_TREES)
        weight = weight if weight.size else np.ones(len(x))
        classes = None
        if is_classifier(self):
            check_classification_targets(y[:, 0] if one_column else y)
            parts = [np.unique(y[:, o], return_inverse=True) for o in range(y.shape[1])]
            classes = [values for values, _ in parts]
            codes = np.stack([inverse for _, inverse in parts], axis=1)
            weight = self._with_class_weight(y[:, 0] if one_column else y, weight)
            targets = TreeTargets.of_classes(codes, [len(values) for values in classes])
            return Training(x, targets, weight, features, table, classes, codes, one_column)
        y = np.ascontiguousarray(y, np.float64)
        if not np.isfinite(y).all():
            row = int(np.flatnonzero(~np.isfinite(y).all(axis=1))[0])
            raise ValueError(f"y contains NaN or infinity: {y[row]} at row {row}")
        check_squares("y", y, weight)
        return Training(x, TreeTargets.of_values(y), weight, features, table, None, y, one_column)

    def _coded(self, data: Training, backend: Backend) -> FeatureMatrix:
        """The features as the splitter wants them."""
        max_bins = self.max_bins if self._splitter == "hist" else None
        return data.features.matrix_with_borders(data.x, data.weight, max_bins, backend)

    def _with_class_weight(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        class_weight = getattr(self, "class_weight", None)
        by_bag = isinstance(class_weight, str) and class_weight == "balanced_subsample"
        if class_weight is None or by_bag:
            return weight
        return check_weight(
            weight * weights_by_class(class_weight, y),
            len(weight),
            "class_weight",
            LARGEST_IN_TREES,
        )

    def _set_trained(
        self, data: Training, trees: list[Tree], tree_weights: np.ndarray | None = None, **how: Any
    ) -> None:
        """Fitted attributes that every classical estimator has."""
        ensemble = Ensemble(
            trees=trees,
            base_score=np.zeros(data.targets.n_channels),
            features=data.table,
            first_channel=data.targets.first_channel,
            tree_weights=np.ones(len(trees)) if tree_weights is None else tree_weights,
            shares=data.classes is not None,
            classes=data.classes,
            **{"combine": "mean"} | how,
        )
        self._set_ensemble(ensemble)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importance of each feature, adding up to 1; all 0 if no tree has a split.

        The mean over the trees, by their weights, of each feature's share in the decrease of
        impurity (mean decrease in impurity).
        """
        return ensemble_of(self).importance_shares()

    # --- predictions

    @property
    def n_outputs_(self) -> int:
        """Number of outputs."""
        return ensemble_of(self, trees=False).n_outputs

    def _by_output(self, values: Any) -> Any:
        """Class shares (n_rows, n_channels) as scikit-learn hands them out.

        One array, or a list with an array for each output.
        """
        if self.n_outputs_ == 1:
            return values
        return [values[:, a:b].copy() for a, b in pairwise(ensemble_of(self).first_channel)]


class SeveralOutputs(BaseClassical):
    """Trees and forests, which predict several outputs together."""

    def __sklearn_tags__(self) -> Any:
        """Several outputs are fine."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def to_sklearn(self) -> Any:
        """The fitted model as one of scikit-learn's own classes, for what insists on these.

        ``sklearn.tree.plot_tree``, ``export_graphviz``, partial dependence by recursion and
        ``shap.TreeExplainer`` take it. It predicts the same. Only, scikit-learn's trees round X to
        float32: a row that float32 does not hold exactly may go the other way where a value lies
        within this rounding of a threshold.

        Returns
        -------
        estimator
            A fitted ``DecisionTreeClassifier``, ``RandomForestRegressor`` or the like from
            scikit-learn. Parameters that it knows have their values; the trees that vote in a
            forest with ``voting="hard"`` have leaves of one class.

        Raises
        ------
        ValueError
            If there are nominal features: scikit-learn's trees have no sets of categories.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.tree import export_text
        >>> from gpuboost import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = DecisionTreeClassifier(max_depth=1).fit(X, y)
        >>> print(export_text(model.to_sklearn()).rstrip())
        |--- feature_2 <= 2.45
        |   |--- class: 0
        |--- feature_2 >  2.45
        |   |--- class: 1
        """
        from gpuboost.export.to_sklearn import to_sklearn  # not with the library: it takes long

        return to_sklearn(self)

    def predict(self, X: Any) -> Any:
        """Predict targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict; the result is where they are.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Numbers: the value of a row's leaf, in a forest the mean over the trees. Classes: the
            one with the highest share in the row's leaf, in a forest the one with the highest mean
            share or most votes; the first among equals. For rows on a device a CuPy array, unless
            there are classes that are not numbers.
        """
        return self._predict(X, self._predictions)

    def _predictions(self, backend: Backend, raw: Any) -> Any:
        """What ``predict`` returns, from the values of the channels (n_channels, n_rows)."""
        return raw[0] if self.n_outputs_ == 1 else raw.T


class SeveralLabels(TreesOfClasses):
    """Classifiers among them: several labels of a row are several outputs."""

    def __sklearn_tags__(self) -> Any:
        """Several labels are fine."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _predictions(self, backend: Backend, raw: Any) -> Any:
        ensemble = ensemble_of(self)
        return labels_of_outputs(backend, raw, ensemble.first_channel, ensemble.classes or [])

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict; the result is where they are.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or list of them
            Shares of the classes in the row's leaf, in a forest their mean over the trees, or with
            hard voting the trees' votes. In the order of ``classes_``; one array for each output.
        """
        return self._predict(X, lambda _, raw: self._by_output(raw.T))

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict; the result is where they are.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or list of them
            Logarithms of what ``predict_proba`` returns; minus infinity for a probability of 0.
        """
        return self._predict(X, lambda backend, raw: self._by_output(logarithms(backend, raw.T)))


@cache
def say_that_exact_trees_grow_on_the_host() -> None:
    """Log it, once in a process."""
    log.info(
        "splitter='exact' trains on the CPU, whatever device says: the trees are the same; "
        "splitter='hist' trains on the device"
    )


def check_middles(data: Training, params: TreeParams) -> None:
    """Cells are halved along numbers only."""
    if params.splitter == "midpoint" and data.features.categories:
        raise ValueError(
            "categorical_features cannot be used with splitter='midpoint': categories "
            "have no middle"
        )


def check_counts(data: Training) -> None:
    """Poisson deviance needs targets of at least 0 whose mean is not 0."""
    if (data.y < 0).any():
        row = int(np.flatnonzero((data.y < 0).any(axis=1))[0])
        raise ValueError(
            f"criterion='poisson' needs y of at least 0; got {data.y[row]} at row {row}"
        )
    if not (data.y.sum(axis=0) > 0).all():
        raise ValueError("criterion='poisson' needs y with a positive sum; got only zeros")
