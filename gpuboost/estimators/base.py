"""scikit-learn plumbing shared by the estimators.

Parameters to config, input checks, fitted attributes.
"""

from __future__ import annotations

import numbers
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_array, check_X_y, validate_data

from gpuboost.backend import (
    Backend,
    check_device,
    device_for,
    device_holds_numbers,
    device_matrix,
    device_of,
    get_backend,
    n_threads,
    on_host,
)
from gpuboost.config import RANGES, VECTOR_LEAF, BoostParams, check_choice, check_flag
from gpuboost.data.categorical import check_categorical_features
from gpuboost.data.checks import (
    check_groups,
    check_weight,
    refuse_mask,
    refuse_sparse,
    to_native,
)
from gpuboost.data.columns import NUMBER, TEXT, Columns, FrameColumns, columns_of, plain_matrix
from gpuboost.data.date_parts import check_date_features
from gpuboost.data.feature_options import (
    check_interactions,
    check_monotone,
    check_numbers_of_features,
    feature_costs,
    feature_weights,
    groups_as_bits,
    interaction_groups,
    monotone_directions,
)
from gpuboost.data.features import UNKNOWN, FeatureMap
from gpuboost.data.forced_splits import (
    check_forced_splits,
    check_paths,
    forced_table,
    number_features,
    read_forced_splits,
)
from gpuboost.data.sparse import dense_matrix, sparse_rows
from gpuboost.data.summary import Summary
from gpuboost.data.target_statistics import ENCODINGS, TargetSums, target_columns
from gpuboost.dtypes import MAX_VALUE_BINS, SYMMETRIC
from gpuboost.estimators.eval_sets import one_column
from gpuboost.estimators.leaves import LeavesOfTrees
from gpuboost.exchange import SplitRules
from gpuboost.model.checks import check_ensemble
from gpuboost.model.ensemble import IMPORTANCE_TYPES, Ensemble, ensemble_of
from gpuboost.model.feature_table import FeatureTable
from gpuboost.model.file import need
from gpuboost.model.stored import SOMETIMES
from gpuboost.model.table_schema import TableSchema
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.objectives.metrics import resolve_metrics
from gpuboost.objectives.objective import Objective
from gpuboost.progress import Progress
from gpuboost.scalar.rows import log_of_shares
from gpuboost.training.boosting import (
    TARGET_ORDER,
    Booster,
    EvalSet,
    History,
    boost,
    warn_of_light_rows,
)
from gpuboost.training.magnitude import Magnitude, check_scores
from gpuboost.training.row_sampling import RowUnits


def name_columns(
    model: Any,
    feature_names: Sequence[str],
    classes: np.ndarray | None,
    texts: Mapping[str, Sequence[str]],
    holds: Mapping[str, str],
) -> None:
    """Give a model that was fitted to plain numbers the names of its features and classes.

    ``texts`` has the values of text columns that the numbers stand for, ascending; ``holds`` says
    what columns hold that are no numbers (``data/columns.py``).
    """
    model.feature_names_in_ = np.array(feature_names, dtype=object)
    known = ensemble_of(model).classes if classes is None else [classes]
    categories = {}
    for name, values in texts.items():
        f = list(feature_names).index(name)
        numbers = model.ensemble_.features.categories.get(f, np.arange(len(values)))
        categories[f] = np.array(values, dtype=object)[numbers.astype(np.intp)]
    model.ensemble_ = replace(
        model.ensemble_,
        feature_names=list(feature_names),
        classes=known,
        features=model.ensemble_.features.with_categories(categories).that_hold(
            [holds.get(name, TEXT if name in texts else NUMBER) for name in feature_names]
        ),
    )


class BaseTrees(BaseEstimator):
    """What all estimators share.

    Checks of the input, the seed, and a failed fit that changes nothing.

    Attributes that ``fit`` sets are annotated in the classes: these are what a model file holds
    (``model/stored.py``). What follows from them is a property.
    """

    ensemble_: Ensemble
    table_: Annotated[TableSchema, SOMETIMES]  # of the file that the model was trained on
    #: How an estimator may combine its trees: ``combine``, ``vote`` and ``shares`` of the ensemble.
    _combines: ClassVar[tuple[tuple[str, bool, bool], ...]]

    def _keep_parameters(self, arguments: Mapping[str, Any]) -> None:
        """Put the arguments of a constructor on the estimator, under their names."""
        for name in self._get_param_names():
            setattr(self, name, arguments[name])

    def __sklearn_tags__(self) -> Any:
        """Missing values are fine."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted estimator in a file, for ``gpuboost.load_model``.

        The format is open and described in ``docs/format.md``: a JSON header and arrays, no pickle.
        Two equal models give equal files. The file appears all at once: if anything goes wrong,
        what was under the name stays as it was. Everything that a fitted estimator knows is saved,
        so that predictions, importances, out-of-bag estimates and warm starts go on after loading.

        A parameter that a file cannot hold (a function as ``eval_metric`` or ``oob_score``, a
        splitter as ``cv``) is saved with its default value, and a warning names it; a RandomState
        of a forest with the seed it gave. A CUDA device is saved as "auto", as the model may be
        loaded where there is none.

        Parameters
        ----------
        path : str or path-like
            Name of the file. There is no fixed suffix; ``.gb`` is the custom.
        """
        from gpuboost.estimators.saving import save  # which imports all estimators

        save(self, path)

    def fingerprint(self) -> str:
        """SHA-256 of the model: equal fingerprints mean equal predictions, bit for bit.

        Returns
        -------
        str
            64 hexadecimal digits.
        """
        return ensemble_of(self).fingerprint()

    def __sklearn_is_fitted__(self) -> bool:
        """Whether fit has finished."""
        return "ensemble_" in self.__dict__

    def check_parameters(self) -> None:
        """Raise if a parameter has a wrong value, as ``fit`` does before any work is done."""
        self._check_params()

    def _check_input_parameters(self) -> None:
        """Raise if a parameter that says how X is read has a wrong value."""
        check_flag("sparse_missing", self.sparse_missing)
        check_date_features(self.date_features)
        if "categorical_features" in self._get_param_names():
            check_categorical_features(self.categorical_features)
            check_choice("unknown_category", self.unknown_category, UNKNOWN)

    def _check_fitted(self) -> None:
        """Raise ModelFormatError unless the fitted attributes belong together."""
        ensemble, table = ensemble_of(self), getattr(self, "table_", None)
        check_ensemble(ensemble)
        n_features, n_outputs, tags = ensemble.n_features, ensemble.n_outputs, get_tags(self)
        how = (ensemble.combine, ensemble.vote, ensemble.shares)
        need(
            how in self._combines and is_classifier(self) == (ensemble.classes is not None),
            f"its trees are combined as no {type(self).__name__} does",
        )
        need(
            n_outputs == 1 or tags.target_tags.multi_output,
            f"there are {n_outputs} outputs, {type(self).__name__} has one",
        )
        need(
            table is None or len(table.columns) == n_features,
            f"the table has {len(table.columns) if table else 0} columns for {n_features} features",
        )

    def _set_ensemble(self, ensemble: Ensemble) -> None:
        """Keep the trained model, which knows the names of its features."""
        names = getattr(self, "feature_names_in_", None)
        self.ensemble_ = replace(
            ensemble, feature_names=None if names is None else [str(name) for name in names]
        )

    @property
    def features_(self) -> FeatureTable:
        """How each column of X is taken: a table that prints itself, with a row for each column."""
        return FeatureTable.of(
            ensemble_of(self, trees=False), getattr(self, "unknown_category", "missing")
        )

    def check_rows(self, X: Any) -> Any:
        """Check rows to predict, and turn them into the matrix that the trees ask.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_features)
            Numbers; in categorical columns the numbers of the categories. It is where X is.
        """
        return self._check_table(X, ensemble_of(self, trees=False).features)

    def _check_table(self, x: Any, features: FeatureMap) -> Any:
        """Check rows of a user's table, and turn them into numbers, which are where it is."""
        where = device_of(x)
        if not features.categories or where is None:
            return self._check_x(x, features)
        device_for(self.device, x)
        return self._put(where, self._check_x(on_host(x), features))

    def _put(self, where: str, x: np.ndarray) -> Any:
        """A matrix on a device."""
        with get_backend(where, self.n_jobs) as backend:
            return backend.put(x)

    def _check_x(self, x: Any, features: FeatureMap) -> Any:
        """Checked rows to predict, with numbers for categories and times, as the kernels take them.

        Columns of a frame are found by their names.
        """
        if device_of(x) is not None:
            return self._validate_on_device(x, reset=False)[0]
        columns, unknown = columns_of(x), getattr(self, "unknown_category", "missing")
        if columns is None:
            x = self._as_trained(self._validate(plain_matrix(x), reset=False))
            if features.categories or features.has_made_columns:
                x = features.encode(dense_matrix(x), unknown)
            return x
        columns = self._matched(self._unformatted(columns))
        validate_data(self, columns.native, reset=False, skip_check_array=True)
        x = features.encode(columns, unknown)
        return to_native(check_array(x, ensure_all_finite=False, input_name="X", estimator=self))

    def _unformatted(self, columns: Columns) -> Columns:
        """Columns with numbers where the table of training had texts that stand for numbers."""
        schema = getattr(self, "table_", None)
        if schema is None or not schema.formats or not isinstance(columns, FrameColumns):
            return columns
        return columns_of(schema.numbers(columns.native)) or columns

    def _matched(self, columns: Columns) -> Columns:
        """The columns in the order of training, if a frame has them in another one."""
        names = list(getattr(self, "feature_names_in_", []))
        if not isinstance(columns, FrameColumns) or columns.names == names:
            return columns
        if sorted(map(str, columns.names or [])) != sorted(map(str, names)):
            return columns  # scikit-learn's check says which are missing, and which are new
        warnings.warn(
            "the columns of X are in another order than in training; they are matched by name",
            stacklevel=2,
        )
        return columns.reordered(names)

    def _as_trained(self, x: Any) -> Any:
        """Checked rows as the kernels take them; those of a sparse matrix stay sparse."""
        return sparse_rows(x, self.sparse_missing) if issparse(x) else to_native(x)

    def _validate(self, *data: Any, reset: bool, **options: Any) -> Any:
        """scikit-learn's checks; text gets a message that says where it is."""
        try:
            return validate_data(
                self,
                *data,
                reset=reset,
                dtype="numeric",
                accept_sparse="csr",
                ensure_all_finite=False,
                **options,
            )
        except ValueError as error:
            if "could not convert" in str(error) or "bytes/strings" in str(error):
                raise ValueError(f"X must hold numbers; encode text first ({error})") from error
            raise

    def _validate_on_device(self, x: Any, *y: Any, reset: bool, **options: Any) -> tuple[Any, ...]:
        """The same checks for input on a device.

        Scikit-learn sees an array of its shape and dtype that has no content.
        """
        device_for(self.device, x)
        x, names = device_matrix(x)
        outline = np.broadcast_to(np.zeros((), x.dtype), x.shape)
        checks = {"dtype": "numeric", "ensure_all_finite": False, "estimator": self}
        checked = check_X_y(outline, *y, **checks, **options)[1:] if y else ()
        check_array(outline, input_name="X", **checks)
        header = outline
        if names is not None:
            import pandas as pd  # which cuDF brings

            header = pd.DataFrame(columns=names)
        validate_data(self, header, reset=reset, skip_check_array=True)
        return to_native(x), *checked

    # --- predictions

    def _backend(self, x: Any) -> Backend:
        """Where rows are predicted: where they are, or on the device if that was asked for."""
        return get_backend(device_for(self.device, x), 1 if len(x) < 256 else self.n_jobs)

    def _predict(self, x: Any, finish: Callable[[Backend, Any], Any]) -> Any:
        """``finish`` applied to the raw scores (n_outputs, n_rows), which are where ``x`` is."""
        ensemble = ensemble_of(self)
        # one row through validate_data takes longer than through the trees: plain arrays that need
        # no check skip it
        plain = (
            type(x) is np.ndarray
            and x.ndim == 2
            and x.dtype in (np.float32, np.float64)
            and x.dtype.isnative
            and len(x) > 0
            and not ensemble.features.categories
        )
        if not plain or x.shape[1] != self.n_features_in_ or hasattr(self, "feature_names_in_"):
            x = self.check_rows(x)
        with self._backend(x) as backend:
            return finish(backend, ensemble.raw(x, backend))

    def _staged(self, x: Any, finish: Callable[[Backend, Any], Any]) -> Iterator[Any]:
        """The same after each round."""
        ensemble, x = ensemble_of(self), self.check_rows(x)
        with self._backend(x) as backend:
            for raw in ensemble.staged_raw(x, backend):
                yield finish(backend, raw)

    def report(
        self,
        path: Any,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        title: str | None = None,
        train: Any = None,
        timings: Any = None,
        model_path: Any = None,
    ) -> None:
        """Write an HTML report about the fitted model.

        It contains a summary of the data, metrics, figures, feature importance, the first tree and
        the parameters.

        The report is a single file without scripts that loads nothing from the network. The same
        model, data and versions give the same file. An incomplete file never appears.

        Parameters
        ----------
        path : str or path-like
            File to write; one that exists is replaced.
        X : array-like of shape (n_samples, n_features), default=None
            Rows to evaluate the model on, which should not be training rows. Without them the
            report lists what is missing.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights, for the metrics.
        title : str, default=None
            Title of the page. None: the name of the estimator.
        train : tuple (X, y) or (X, y, sample_weight), default=None
            The rows that the model was trained on: their metrics stand beside those of X, their
            mean or class shares are the baseline, and forests with bootstrap samples get out-of-bag
            importances.
        timings : mapping of str to float, default=None
            Seconds that steps took, such as ``{"read": 0.2, "fit": 1.3}``; the model does not know
            them.
        model_path : str or path-like, default=None
            Where the model was saved, for the lines that load it.

        Examples
        --------
        >>> import tempfile
        >>> from sklearn.datasets import load_iris
        >>> import gpuboost as gb
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = gb.GPUBoostClassifier(n_estimators=10).fit(X[::2], y[::2])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.report(f"{folder}/iris.html", X[1::2], y[1::2], title="Iris")
        ...     print(open(f"{folder}/iris.html").readline().strip())
        <!DOCTYPE html>
        """
        from gpuboost.report import write_report  # not with the library: only this needs it

        write_report(
            self,
            path,
            X,
            y,
            sample_weight,
            title=title,
            train=train,
            timings=timings,
            model_path=model_path,
        )

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Keep a fitted model as it was if ``fit`` fails or is interrupted."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _read_xy(
        self, x: Any, y: Any, categorical_features: Any, **options: Any
    ) -> tuple[Any, np.ndarray, FeatureMap]:
        """Checked training rows, where they are, their targets, on the host, and the map of them.

        Rows hold numbers, in columns with categories those of the categories.
        """
        refuse_mask("y", y)
        refuse_sparse("y", y)
        y = on_host(y)
        columns = columns_of(x)
        if device_of(x) is not None:
            x, y = self._validate_on_device(x, y, reset=True, **options)
            return x, y, self._with_date_parts(FeatureMap.of_table(x, categorical_features))
        if columns is None:
            x, y = self._validate(plain_matrix(x), y, reset=True, **options)
            x = self._as_trained(x)
            features = self._with_date_parts(FeatureMap.of_table(x, categorical_features))
            return features.encode(dense_matrix(x)) if features.categories else x, y, features
        validate_data(self, columns.native, reset=True, skip_check_array=True)
        features = self._with_date_parts(FeatureMap.of_table(columns, categorical_features))
        checks = {"ensure_all_finite": False, "estimator": self, **options}
        x, y = check_X_y(features.encode(columns), y, dtype="numeric", **checks)
        return to_native(x), y, features

    def _with_date_parts(self, features: FeatureMap) -> FeatureMap:
        names = getattr(self, "feature_names_in_", None)
        return features.with_date_parts(self.date_features, names)

    def _check_y(self, y: Any, n_rows: int, **options: Any) -> np.ndarray:
        """Checked targets of so many rows, on the host."""
        refuse_mask("y", y)
        refuse_sparse("y", y)
        outline = np.broadcast_to(np.zeros(()), (n_rows, 1))
        checked: np.ndarray = check_X_y(outline, on_host(y), estimator=self, **options)[1]
        return checked

    def _seed(self) -> int:
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state) & 0xFFFFFFFF
        if self.random_state is None:
            return 0
        try:
            return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        except ValueError as error:
            raise ValueError(
                f"random_state must be None, an integer or a RandomState; got {self.random_state!r}"
            ) from error


class TreesOfClasses(ClassifierMixin):
    """What classifiers know of their classes."""

    @property
    def classes_(self) -> Any:
        """The classes, sorted; a list of those of each output if there are several."""
        classes = ensemble_of(self, trees=False).classes or []
        return classes[0] if len(classes) == 1 else classes

    @property
    def n_classes_(self) -> Any:
        """Number of classes, of each output if there are several."""
        sizes = [len(values) for values in ensemble_of(self, trees=False).classes or []]
        return sizes[0] if len(sizes) == 1 else sizes


def logarithms(backend: Backend, shares: Any) -> Any:
    """Logarithms of probabilities (n_rows, n_classes), where they are."""
    return backend.each_row(log_of_shares, shares.shape, shares)


class TrainedInRounds:
    """What estimators of several trees know of them."""

    @property
    def n_estimators_(self) -> int:
        """Number of iterations that were trained; forests and AdaBoost grow one tree in each."""
        return ensemble_of(self).n_rounds


class BaseBoost(LeavesOfTrees, TrainedInRounds, BaseTrees):
    """What boosting estimators share."""

    def __sklearn_tags__(self) -> Any:
        """Several outputs are fine, and several labels of classifiers."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = True
        return tags

    evals_result_: dict[str, dict[str, list[float]]]
    best_score_: Annotated[float | None, SOMETIMES]  # with early stopping
    _combines = (("sum", False, False),)

    #: Losses to choose from; the classifier's are for two classes.
    _objectives: ClassVar[tuple[str, ...]]

    def _check_params(self) -> BoostParams:
        """Parameters as a checked config; raises before any work is done."""
        params = BoostParams(
            grow_policy=self.grow_policy,
            sampling_method=self.sampling_method,
            multi_strategy=self.multi_strategy,
            **{name: getattr(self, name) for name in RANGES} | self._share_of_rows(),
        )
        self._check_out_of_bag(params)
        self._named_objective()
        check_device(self.device)
        n_threads(self.n_jobs)
        check_choice("importance_type", self.importance_type, IMPORTANCE_TYPES)
        check_choice("categorical_encoding", self.categorical_encoding, ENCODINGS)
        check_monotone(self.monotone_constraints)
        check_interactions(self.interaction_constraints)
        check_numbers_of_features("feature_weights", self.feature_weights, "weight", "weights")
        penalties = self.feature_penalties
        check_numbers_of_features("feature_penalties", penalties, "penalty", "penalties")
        symmetric = params.order == SYMMETRIC
        check_forced_splits(self.forced_splits, symmetric, params.depth_limit, params.leaf_limit)
        self._check_input_parameters()
        return params

    def _share_of_rows(self) -> dict[str, Any]:
        """``subsample`` as a number, if it is none."""
        return {}

    def _check_out_of_bag(self, params: BoostParams) -> None:
        """Raise if rows out of the bag are asked for where there are none."""
        check_flag("oob_score", self.oob_score)
        if self.oob_score and params.subsample >= 1 and not isinstance(self.subsample, Mapping):
            raise ValueError(
                "oob_score=True needs rows that are not drawn: a subsample below 1; got "
                f"subsample={self.subsample!r}"
            )

    def _row_units(
        self, groups: Any, n_rows: int, params: BoostParams, by_class: np.ndarray | None = None
    ) -> RowUnits | None:
        """Rows that are drawn together, or with probabilities of their classes; None: neither."""
        if groups is None and by_class is None:
            return None
        if groups is not None:
            groups = check_groups(groups, n_rows)
            if params.sampling_method != "uniform":
                raise ValueError(
                    f"groups must be None with sampling_method={params.sampling_method!r}, which "
                    "draws single rows by their gradients"
                )
            if params.subsample >= 1 and by_class is None:
                raise ValueError(
                    "groups are for drawing rows, and need a subsample below 1; got "
                    f"subsample={self.subsample!r}"
                )
        return RowUnits.of(n_rows, params.subsample, groups, by_class)

    def _read_training(
        self, x: Any, y: Any, weight_of: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[Any, np.ndarray, np.ndarray, FeatureMap]:
        """``_read_xy``, with weights, and codes of one byte for the categories.

        ``weight_of`` tells the weights from the checked targets. Categories of a table on a device
        are read on the host.
        """
        chosen, where = self.categorical_features, device_of(x)
        if issparse(x) and chosen is not None and not isinstance(chosen, str):
            raise TypeError(
                "categorical_features must be None or 'auto' for a sparse X, such as this "
                f"{type(x).__name__}: use X.toarray(), or leave it out"
            )
        stays = (
            where is None or chosen is None or (isinstance(chosen, str) and device_holds_numbers(x))
        )
        if not stays:
            device_for(self.device, x)
            x = on_host(x)
        x, y, features = self._read_xy(x, y, chosen, multi_output=True)
        y = one_column("y", y)
        weight = weight_of(y)
        if features.categories:
            features = features.with_encoding(self.categorical_encoding)
            features, x = features.with_few_numbers(x, weight)
        if where is not None and not stays:
            x = self._put(where, x)
        return x, y, weight, features

    def _split_rules(self, features: FeatureMap, n_classes: int, params: BoostParams) -> SplitRules:
        """What splits have to keep to."""
        names, n_features = getattr(self, "feature_names_in_", None), len(features)
        directions = monotone_directions(self.monotone_constraints, names, n_features)
        weights = feature_weights(self.feature_weights, names, n_features)
        groups = None
        if self.interaction_constraints is not None:
            groups = interaction_groups(self.interaction_constraints, names, n_features)
        costs = feature_costs(self.feature_penalties, names, n_features)
        unordered = [f for f in np.flatnonzero(directions).tolist() if f in features.categories]
        if unordered:
            f = unordered[0]
            raise ValueError(
                "monotone_constraints must be 0 for categorical features, which have no order; "
                f"got {directions[f]} for feature {f if names is None else str(names[f])!r}"
            )
        with_parts = [one.column for one in features.date_parts if directions[one.column]]
        if with_parts:
            f = with_parts[0]
            raise ValueError(
                "monotone_constraints must be 0 for dates with date_features, whose parts come "
                f"again; got {directions[f]} for feature {f if names is None else str(names[f])!r}"
            )
        if n_classes > 2 and directions.any():
            raise ValueError(
                "monotone_constraints are for regression and for two classes: y has "
                f"{n_classes} classes, and the score of one class alone orders no probability"
            )
        if len(np.unique(weights[weights > 0])) > 1 and not params.samples_columns:
            warnings.warn(
                "feature_weights are for features that are drawn: above 0 they change nothing "
                "unless colsample_bytree, colsample_bylevel or colsample_bynode is below 1",
                stacklevel=5,
            )
        # what changes nothing is not there, and costs nothing
        free = groups is None or any(len(group) == n_features for group in groups)
        return SplitRules(
            directions=directions if directions.any() else None,
            feature_weights=weights if len(np.unique(weights)) > 1 else None,
            groups=None if free else groups_as_bits(groups or [], n_features),
            costs=costs if costs.any() else None,
        )

    def _check_vector_leaves(
        self, objective: Objective, rules: SplitRules | None, n_outputs: int
    ) -> None:
        """Raise if leaves of several values would have to keep to what is said of one value."""
        if self.multi_strategy != VECTOR_LEAF:
            return
        if rules is not None and rules.directions is not None and n_outputs > 1:
            raise ValueError(
                "monotone_constraints are for trees of one output: use "
                f"multi_strategy='one_tree_per_output' for y with {n_outputs} columns; got "
                f"multi_strategy={self.multi_strategy!r}"
            )
        if objective.leaf_value is not None and n_outputs > 1:
            raise ValueError(
                f"objective {objective.name!r} computes the values of leaves from their rows, for "
                "one output at a time: use multi_strategy='one_tree_per_output' for y with "
                f"{n_outputs} columns; got multi_strategy={self.multi_strategy!r}"
            )

    def _with_forced_splits(
        self, rules: SplitRules, features: FeatureMap, of_trees: FeatureMap, params: BoostParams
    ) -> SplitRules:
        """The rules with the splits at the top of every tree, at cuts of what trees see."""
        splits = read_forced_splits(self.forced_splits, params.order == SYMMETRIC)
        if not splits:
            return rules
        names, n_features = getattr(self, "feature_names_in_", None), len(features)
        splits = number_features(splits, names, n_features)
        if self.interaction_constraints is not None:
            check_paths(splits, interaction_groups(self.interaction_constraints, names, n_features))
        for split in splits:
            if split.feature in features.categories:
                raise ValueError(
                    f"forced_splits must be on features of numbers; feature {split.feature} is "
                    "categorical"
                )
            if rules.feature_weights is not None and rules.feature_weights[split.feature] == 0:
                raise ValueError(
                    f"forced_splits splits feature {split.feature}, whose weight in "
                    "feature_weights is 0"
                )
        return replace(
            rules, forced=forced_table(splits, [feature.cuts for feature in of_trees.features])
        )

    def _named_objective(self) -> Objective:
        check_choice("objective", self.objective, self._objectives)
        return OBJECTIVES[self.objective]

    def _fit_boosting(
        self,
        x: Any,
        features: FeatureMap,
        y: np.ndarray,
        weight: np.ndarray,
        evals: list[tuple[Any, np.ndarray, np.ndarray]],
        objective: Objective,
        classes: list[np.ndarray] | None,
        params: BoostParams,
        row_arrays: Mapping[str, Any] | None = None,
        eval_row_arrays: Sequence[Mapping[str, Any]] | None = None,
        row_units: RowUnits | None = None,
    ) -> tuple[Ensemble, History]:
        """Train; touches no attribute of the estimator.

        ``x`` holds numbers, in categorical columns of ``features`` those of the categories; the map
        has no cuts yet. ``y`` holds codes of the classes, if there are any; of several outputs it
        has a row each. ``row_arrays`` has the further arrays of the objective for the training rows
        by name, ``eval_row_arrays`` those of each eval set. ``row_units`` says which rows are
        drawn together.
        """
        eval_arrays = [
            objective.stack_arrays(by_name, ey.shape[-1], f"the rows of eval_set[{i}]")
            for i, (by_name, (_, ey, _)) in enumerate(
                zip(eval_row_arrays or [{}] * len(evals), evals, strict=True)
            )
        ]
        device = device_for(self.device, x)
        for i, (ex, _, _) in enumerate(evals):
            device = device_for(device, ex, f"X of eval_set[{i}]")
        magnitude = Magnitude.of(y, weight) if objective.homogeneous else Magnitude()
        y, scaled_params = magnitude.divide(y, weight), magnitude.params(params)
        metrics = resolve_metrics(self.eval_metric, objective, classes, magnitude.exponent)
        n_classes = 1 if classes is None else len(classes[0])
        rules = magnitude.rules(self._split_rules(features, n_classes, params))
        self._check_vector_leaves(objective, rules, 1 if y.ndim == 1 else len(y))
        with get_backend(device, self.n_jobs, cells=x.size) as backend:
            features, x = self._with_target_statistics(
                features, x, y, weight, n_classes, rules, backend
            )
            rules = features.rules_of_trees(rules)
            of_trees = features.of_trees.with_cuts(
                Summary.of(x, weight, y.T), params.max_bins, backend
            )
            rules = self._with_forced_splits(rules, features, of_trees, params)
            binned = of_trees.matrix(x, backend, by_rows=True)
            base_score = objective.base_score(y, weight, n_classes, backend.host, row_arrays)
            sets = [
                EvalSet.of(
                    f"validation_{i}",
                    of_trees.matrix(features.expand(ex, backend), backend, by_rows=False),
                    magnitude.divide(ey, ew),
                    ew,
                    base_score,
                    arrays,
                    backend,
                )
                for i, ((ex, ey, ew), arrays) in enumerate(zip(evals, eval_arrays, strict=True))
            ]
            booster = Booster(
                of_trees,
                binned,
                y,
                weight,
                base_score,
                objective,
                scaled_params,
                self._seed(),
                backend,
                row_arrays,
                rules,
                row_units,
                self.oob_score,
            )
            if booster.out_of_bag is not None:
                sets.insert(0, booster.out_of_bag)
            with Progress(
                params.n_estimators, "training", "rounds", int(params.verbose)
            ) as progress:

                def report(results: dict[str, dict[str, list[float]]]) -> None:
                    latest = (
                        f"{set_name}-{metric}: {scores[-1]:.6g}"
                        for set_name, of_set in results.items()
                        for metric, scores in of_set.items()
                    )
                    progress.advance(note="  ".join(latest))

                ensemble, history = boost(
                    booster,
                    base_score,
                    sets,
                    metrics if sets else [],
                    report if params.verbose else None,
                )
        ensemble = magnitude.multiply(replace(ensemble, features=features.without_cuts()))
        check_scores(ensemble, params.learning_rate)
        warn_of_light_rows(ensemble, weight, params)
        return ensemble, history

    def _with_target_statistics(
        self,
        features: FeatureMap,
        x: Any,
        y: np.ndarray,
        weight: np.ndarray,
        n_classes: int,
        rules: SplitRules,
        backend: Backend,
    ) -> tuple[FeatureMap, Any]:
        """The map and the training rows as trees see them; statistics are made on the host."""
        if not features.wants_statistics:
            return features, features.expand(x, backend)
        key = backend.mix_key(self._seed(), TARGET_ORDER)
        sums = TargetSums.of(target_columns(y, n_classes), weight, key)
        host = on_host(x)
        pairs = rules.groups is None  # a path with a pair would need a group with both columns
        features, host = features.with_target_statistics(host, sums, pairs, backend.host)
        return features, host if device_of(x) is None else backend.put(host)

    def _set_fitted(self, ensemble: Ensemble, history: History, params: BoostParams) -> None:
        """All fitted attributes at once, after everything that can fail."""
        self.evals_result_ = history.results
        early = params.early_stopping_rounds is not None
        used = (history.best_round + 1) * ensemble.trees_per_round if early else -1
        self._set_ensemble(replace(ensemble, n_used=used))
        self.__dict__.pop("best_score_", None)
        if early:
            self.best_score_ = history.best_score

    def _check_fitted(self) -> None:
        super()._check_fitted()
        ensemble = ensemble_of(self)
        for f in np.flatnonzero(ensemble.features.is_categorical).tolist():
            n = ensemble.features.features[f].n_numbers
            need(n <= MAX_VALUE_BINS, f"feature {f} has {n} categories, {MAX_VALUE_BINS} at most")
        need(
            hasattr(self, "best_score_") == hasattr(self, "best_iteration_"),
            "there is a best score without a best round, or the other way round",
        )
        # two metrics of one name share a list
        for metrics in self.evals_result_.values():
            for name, scores in metrics.items():
                need(
                    scores and len(scores) % ensemble.n_rounds == 0,
                    f"the metric {name[:50]!r} has {len(scores)} values for "
                    f"{ensemble.n_rounds} rounds",
                )

    @property
    def best_iteration_(self) -> int:
        """Best iteration, counted from 0; only with early stopping."""
        ensemble = ensemble_of(self)
        if ensemble.n_used < 0:
            raise AttributeError("best_iteration_ is there after early stopping only")
        return ensemble.used_rounds - 1

    def _check_evals(
        self,
        pairs: list[tuple[Any, Any]],
        eval_sample_weight: Any,
        features: FeatureMap,
        params: BoostParams,
        n_outputs: int = 1,
    ) -> list[tuple[Any, Any, np.ndarray]]:
        """(X, y, weight) of each eval set.

        X by the map of the training data, y as the estimator's ``_check_eval_y`` leaves it.
        """
        if not pairs:
            if params.early_stopping_rounds is not None and not self.oob_score:
                raise ValueError(
                    f"early_stopping_rounds={params.early_stopping_rounds} needs an eval_set, or "
                    "oob_score=True"
                )
            if eval_sample_weight is not None and len(eval_sample_weight):
                raise ValueError("eval_sample_weight was given without an eval_set")
            return []
        weights = (
            list(eval_sample_weight) if eval_sample_weight is not None else [None] * len(pairs)
        )
        if len(weights) != len(pairs):
            raise ValueError(
                f"eval_sample_weight must have one entry for each of the {len(pairs)} eval "
                f"sets; got {len(weights)}"
            )
        out = []
        for i, ((ex, ey), ew) in enumerate(zip(pairs, weights, strict=True)):
            name = f"y of eval_set[{i}]"
            refuse_mask(name, ey)
            refuse_sparse(name, ey)
            ex = self._check_table(ex, features)
            ey = self._check_eval_y(name, one_column(name, on_host(ey)), len(ex), n_outputs)
            out.append((ex, ey, check_weight(on_host(ew), len(ex), f"eval_sample_weight[{i}]")))
        return out

    def _from_raw(self, backend: Backend, raw: Any) -> Any:
        return backend.apply_link(raw, ensemble_of(self).link)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importance of each feature; the values sum to 1. See ``importance_type``."""
        return ensemble_of(self).importance_shares(self.importance_type)
