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
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier, is_regressor
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_array, check_X_y, validate_data

from gpuboost.backend import (
    Backend,
    device_for,
    device_matrix,
    device_of,
    get_backend,
    on_host,
)
from gpuboost.config import check_choice, check_flag
from gpuboost.data.categorical import check_categorical_features
from gpuboost.data.checks import (
    check_class_labels,
    refuse_categories_of_sparse,
    refuse_mask,
    refuse_sparse,
    refuse_times,
    to_native,
)
from gpuboost.data.columns import NUMBER, TEXT, Columns, FrameColumns, columns_of, plain_matrix
from gpuboost.data.date_parts import check_date_features
from gpuboost.data.features import ERROR, MISSING, FeatureMap
from gpuboost.data.sparse import dense_matrix, sparse_rows
from gpuboost.model.checks import check_ensemble
from gpuboost.model.ensemble import Ensemble, ensemble_of
from gpuboost.model.feature_table import FeatureTable
from gpuboost.model.file import need
from gpuboost.model.stored import SOMETIMES
from gpuboost.model.table_schema import TableSchema
from gpuboost.scalar.rows import log_of_shares


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
    #: Values of ``unknown_category``.
    _unknown: ClassVar[tuple[str, ...]] = (MISSING, ERROR)

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
            check_choice("unknown_category", self.unknown_category, self._unknown)

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
        if is_regressor(self):
            refuse_times("y", y)
        else:
            check_class_labels("y", y)
        if issparse(x):
            refuse_categories_of_sparse(x, categorical_features)
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
