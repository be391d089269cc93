"""Tables into the matrices that models take.

Rows go straight from a batch to their place; there is no second copy of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from gpuboost.data.categorical import places
from gpuboost.data.columns import fill
from gpuboost.data.formatted_values import described, is_date, parsed
from gpuboost.model.table_schema import TableSchema
from gpuboost.progress import Progress
from gpuboost.tables.batch import Batch, StoredColumns, Table
from gpuboost.tables.columns import (
    KnownTexts,
    MaybeFormatted,
    Texts,
    as_texts,
    is_number,
    kind_of,
    to_numbers,
)
from gpuboost.tables.errors import RereadTable, TableError, check_columns, shortened

#: What is set aside beyond the expected number of rows; memory that is not touched costs nothing.
SPARE = 1.05
#: Rows from which on a text column with more values than half of the rows is worth a word.
MANY_ROWS = 1000


@dataclass
class Part:
    """Rows to train on, or to measure a model on."""

    x: Any  # (n_rows, n_features), an array, or a CSR matrix of a sparse table
    y: np.ndarray  # (n_rows,) float64: numbers, or places in the ascending texts
    weight: np.ndarray | None  # (n_rows,) float64

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return len(self.y)


@dataclass
class TrainingData:
    """A table, read to train on."""

    train: Part
    valid: Part | None  # the rows that were held out
    columns: list[str]
    text: dict[str, list[str]]  # values of the text columns, ascending
    target_kind: str
    target_values: list[str]  # of a text target, ascending
    n_without_target: int  # rows that were left out
    kinds: dict[str, str]  # of the columns and the target
    formats: dict[str, str]  # of those that are numbers or dates as people write them
    notes: list[str] = field(default_factory=list)  # what its owner should know


class Growing:
    """Rows that arrive one after another, in one array."""

    def __init__(self, columns: tuple[int, ...], dtype: str) -> None:
        self._columns, self._dtype = columns, dtype
        self._data = np.empty((0, *columns), dtype)
        self.n_rows = 0

    def next(self, n: int, fraction: float) -> np.ndarray:
        """Place for n more rows.

        ``fraction`` is the part of the table that ends with them, 0 if nobody knows.
        """
        begin, end = self.n_rows, self.n_rows + n
        if end > len(self._data):
            expected = int(end / fraction * SPARE) if fraction > 0 else end + end // 2
            if begin == 0:
                self._data = np.empty((max(end, expected), *self._columns), self._dtype)
            else:  # the allocator moves pages, not bytes, and nobody holds a view
                self._data.resize(
                    (max(end, min(expected, 2 * end), end + end // 8), *self._columns),
                    refcheck=False,
                )
        self.n_rows = end
        return self._data[begin:end]

    def finish(self) -> np.ndarray:
        """All rows; the spare memory is given back."""
        self._data.resize((self.n_rows, *self._columns), refcheck=False)
        return self._data


class _Collector:
    """A part that grows."""

    def __init__(self, n_columns: int, dtype: str, weighted: bool) -> None:
        self.x, self.y = Growing((n_columns,), dtype), Growing((), "float64")
        self.stored: list[Any] = []  # rows of a sparse table, instead of x
        self.weight = Growing((), "float64") if weighted else None

    def add(
        self,
        features: Any,
        y: np.ndarray,
        weight: np.ndarray | None,
        keep: np.ndarray,
        fraction: float,
    ) -> None:
        """Those rows of a batch for which ``keep`` is True: a list of columns, or a CSR matrix."""
        n = int(np.count_nonzero(keep))
        place = self.x.next(0 if issparse(features) else n, fraction)
        if issparse(features):
            self.stored.append(features[keep])
        elif n == len(y):
            fill(place, features)
        elif n:
            block = np.empty((len(y), place.shape[1]), place.dtype)
            fill(block, features)
            np.compress(keep, block, axis=0, out=place)
        self.y.next(n, fraction)[:] = y[keep]
        if self.weight is not None and weight is not None:
            self.weight.next(n, fraction)[:] = weight[keep]

    def finish(self) -> Part:
        """The rows."""
        x = vstack(self.stored, format="csr") if self.stored else self.x.finish()
        return Part(x, self.y.finish(), None if self.weight is None else self.weight.finish())


def read_training(
    table: Table,
    target: str,
    weight: str | None = None,
    drop: Sequence[str] = (),
    fraction: float = 0.0,
    seed: int = 0,
    verbose: int = 0,
    text: Sequence[str] = (),
    task: str = "auto",
    sparse: bool = False,
) -> TrainingData:
    r"""Read a table to train on.

    Parameters
    ----------
    table : Table
        An open table.
    target : str
        The column to predict. Rows without a value of it are left out.
    weight : str, default=None
        The column of weights.
    drop : sequence of str, default=()
        Columns that are no features.
    fraction : float, default=0.0
        Chance of a row to be held out; it depends on the number of the row and the seed alone.
    seed : int, default=0
        Seed of that draw.
    verbose : int, default=0
        1 for progress on standard error.
    text : sequence of str, default=()
        Columns to read as text, whatever they hold.
    task : {"auto", "binary", "multiclass", "regression"}, default="auto"
        What the target is for: classes keep the text that the table has for them, 01 is not 1, and
        for "auto" too if some begin with 0; numbers may be written as people do, for "auto" too.
    sparse : bool, default=False
        Whether a sparse table without text columns may stay sparse.

    Returns
    -------
    TrainingData
        The rows, and what their columns mean.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from gpuboost.tables import open_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "fruit.csv"
    >>> _ = path.write_text("name,weight,price\npear,150,2\napple,,1\n")
    >>> data = read_training(open_table(str(path)), target="price")
    >>> data.train.x
    array([[  1., 150.],
           [  0.,  nan]])
    >>> data.text
    {'name': ['apple', 'pear']}
    """
    where = table.source.label
    check_columns(where, [target], table.names, "target column")
    check_columns(where, [*([weight] if weight else []), *drop, *text], table.names)
    columns = [name for name in table.names if name not in (target, weight, *drop)]
    if not columns:
        raise TableError(f"{where}: no column is left as a feature")
    table.kinds |= dict.fromkeys(text, "text")
    sparse = sparse and table.is_sparse and not text
    if not sparse:
        table.check_dense()
    if task != "regression":
        table.labels = {target}
    plain = {*text, *([target] if task in ("binary", "multiclass") else [])}
    maybe = {
        name: MaybeFormatted(table.typed, table.decimal_comma)
        for name in table.names
        if name not in plain
    }
    label = "reading"
    while True:
        for name, one in maybe.items():
            one.begin(table.first_text.get(name, (None,))[0])
        try:
            with Progress(table.total, label, table.unit, verbose, scaled=True) as progress:
                reading = _Reading(table, columns, target, weight, maybe, sparse)
                return reading.run(fraction, seed, progress)
        except RereadTable:
            label = "reading again"


class _Reading:
    """One attempt to read a table to train on."""

    def __init__(
        self,
        table: Table,
        columns: list[str],
        target: str,
        weight: str | None,
        maybe: dict[str, MaybeFormatted],
        sparse: bool,
    ) -> None:
        self.sparse = sparse
        self.table, self.columns, self.target, self.weight = table, columns, target, weight
        self.maybe = maybe
        self.texts: dict[str, Texts] = {}

    def run(self, fraction: float, seed: int, progress: Progress) -> TrainingData:
        table, rng = self.table, np.random.default_rng(seed)
        dtype = table.dtype(self.columns)
        train, valid = (
            _Collector(len(self.columns), dtype, self.weight is not None) for _ in range(2)
        )
        n_without = 0
        wanted = [*self.columns, self.target, *([self.weight] if self.weight else [])]
        for batch in table.batches(wanted, None, progress.advance):
            features = _stored(batch, self.columns) if self.sparse else None
            if features is None:
                features = [self._numbers(name, batch) for name in self.columns]
            y = self._numbers(self.target, batch)
            weight = self._numbers(self.weight, batch) if self.weight else None
            held = rng.random(batch.n_rows) < fraction
            known = ~np.isnan(y)
            n_without += int(np.count_nonzero(~known))
            train.add(features, y, weight, known & ~held, table.fraction)
            valid.add(features, y, weight, known & held, table.fraction)
        if any(one.misread for one in self.maybe.values()):
            raise RereadTable
        if self.weight is not None and self.weight in self.texts:
            raise TableError(
                f"{table.source.label}: the column of weights, {self.weight!r}, must hold "
                "numbers; it holds text"
            )
        parts = [train.finish(), valid.finish()]
        if not parts[0].n_rows:
            raise TableError(
                f"{table.source.label}: no row has a value of the target {self.target!r}"
            )
        return self._finish(parts, n_without)

    def _numbers(self, name: str, batch: Batch) -> np.ndarray:
        if self.table.kinds[name] != "text":
            return to_numbers(batch.columns[name])
        if name in self.maybe and name not in self.texts:
            numbers = self.maybe[name].read(batch.columns[name])
            if numbers is not None:
                return numbers
        if name not in self.texts:
            self.texts[name] = Texts(name, self.table.source.label)
        return self.texts[name].code(batch.columns[name])

    def _finish(self, parts: list[Part], n_without: int) -> TrainingData:
        """Give texts their final numbers."""
        for name, texts in self.texts.items():
            ranks = texts.ranks()
            for part in parts:
                column = part.y if name == self.target else part.x[:, self.columns.index(name)]
                known = ~np.isnan(column)
                column[known] = ranks[column[known].astype(np.intp)]
        text = {name: self.texts[name].values for name in self.columns if name in self.texts}
        formats = self._formats()
        wanted = (*self.columns, self.target)
        kinds = {name: self.table.kinds[name] for name in wanted} | {
            name: "date" if is_date(form) else "number"
            for name, form in formats.items()
            if name in wanted
        }
        return TrainingData(
            parts[0],
            parts[1] if parts[1].n_rows else None,
            self.columns,
            text,
            kinds[self.target],
            self.texts[self.target].values if self.target in self.texts else [],
            n_without,
            kinds,
            {name: form for name, form in formats.items() if name in kinds},
            [
                *(self.maybe[name].note(name) for name in formats),
                *self._notes(text, sum(part.n_rows for part in parts)),
            ],
        )

    def _formats(self) -> dict[str, str]:
        """Formats of columns that are numbers or dates as people write them."""
        return {
            name: one.formats[0]
            for name, one in self.maybe.items()
            if name not in self.texts and one.formats
        }

    def _notes(self, text: dict[str, list[str]], n_rows: int) -> list[str]:
        notes = []
        for name, values in text.items():
            if name in self.table.first_text and any(is_number(value) for value in values):
                notes.append(
                    f"column {name!r} has numbers and texts, and is read as text: "
                    f"{self.table.first_text[name][1]}"
                )
            if n_rows >= MANY_ROWS and 2 * len(values) > n_rows:
                notes.append(
                    f"column {name!r} has {len(values):,} distinct texts in {n_rows:,} rows; "
                    f"consider --drop {name}"
                )
        empty = [name for name in self.columns if self.table.kinds[name] == "empty"]
        if empty:
            notes.append(f"no row has a value in {shortened(empty)}")
        return notes


def _stored(batch: Batch, columns: Sequence[str]) -> Any:
    """Columns of a sparse table as a CSR matrix; None: the table is not sparse."""
    return batch.columns.matrix(columns) if isinstance(batch.columns, StoredColumns) else None


# --- for a trained model


class ModelColumns:
    """Batches of a table as rows for a model.

    Parameters
    ----------
    columns : sequence of str
        The model's features, by their names in the table.
    categories : dict
        Categories of columns that have some, ascending; those of texts are read as text.
    formats : dict
        Formats of columns that are numbers or dates as people write them.
    where : str
        What errors call the table.
    refuse_unknown : bool, default=False
        Whether a category that training has not seen is an error.
    numbers_of_new : dict of str to float, optional
        The numbers of such categories by column; default: NaN, missing.
    """

    def __init__(
        self,
        columns: Sequence[str],
        categories: Mapping[str, Any],
        formats: Mapping[str, str],
        where: str,
        refuse_unknown: bool = False,
        numbers_of_new: Mapping[str, float] | None = None,
    ) -> None:
        self._refuse_unknown, self._new = refuse_unknown, dict(numbers_of_new or {})
        self.columns, self.formats, self._where = list(columns), dict(formats), where
        texts = {n for n, values in categories.items() if np.asarray(values).dtype.kind in "OU"}
        #: Columns to read as text.
        self.text = texts | set(formats)
        self.known = {
            n: KnownTexts(values, self._new.get(n, np.nan))
            for n, values in categories.items()
            if n in texts
        }
        self.numbers = {n: values for n, values in categories.items() if n not in texts}
        self._n_rows = dict.fromkeys(formats, 0)

    def stored(self, batch: Batch) -> Any:
        """Columns of a sparse batch as a CSR matrix; None: they have to be read one by one."""
        if self.text or self.numbers:
            return None
        return _stored(batch, self.columns)

    def features(self, batch: Batch) -> list[np.ndarray]:
        """Columns of a batch as numbers."""
        return [self.column(name, batch.columns[name]) for name in self.columns]

    def column(self, name: str, column: Any) -> np.ndarray:
        """One of them as numbers."""
        if name in self.known:
            known = self.known[name]
            codes = known.code(column)
            if known.n_unknown:
                self._check_unknown(name, known.example)
            return codes
        numbers = self._formatted(name, column) if name in self.formats else to_numbers(column)
        if name not in self.numbers:
            return numbers
        values, codes = np.unique(numbers, return_inverse=True)
        place = places(values.tolist(), self.numbers[name])
        new = values[(place < 0) & ~np.isnan(values)]
        if len(new):
            self._check_unknown(name, new[0].item())
        of_values = np.where(place < 0, self._new.get(name, np.nan), place)
        return np.where(np.isnan(values), np.nan, of_values)[codes]

    def _formatted(self, name: str, column: Any) -> np.ndarray:
        if not (isinstance(column, np.ndarray) or kind_of(column.type) == "text"):
            return to_numbers(column)
        texts = as_texts(column)
        numbers, fits = parsed(texts, self.formats[name])
        if not fits.all():
            i = int(np.argmin(fits))
            what = "dates" if is_date(self.formats[name]) else "numbers"
            raise TableError(
                f"{self._where}: column {name!r} must hold {what} as in training, written "
                f"{described(self.formats[name])}; row {self._n_rows[name] + i + 1} has "
                f"{texts[i].as_py()!r}"
            )
        self._n_rows[name] += len(numbers)
        return numbers

    def _check_unknown(self, name: str, example: Any) -> None:
        if self._refuse_unknown:
            raise TableError(
                f"{self._where}: column {name!r} has a category that training has not seen, "
                f"{example!r}, which is an error as the model has unknown_category='error'"
            )

    def unknown_texts(self) -> list[str]:
        """A sentence for each column with texts that training has not seen."""
        return [
            f"column {name!r}: {known.n_unknown:,} rows have a text that training has not "
            f"seen, such as {known.example!r}; it "
            + ("counts as missing" if np.isnan(known.number_of_new) else "has the mean of all rows")
            for name, known in self.known.items()
            if known.n_unknown
        ]


class _Weights:
    """Weights of a table, which may be written as people do."""

    def __init__(self, table: Table, name: str) -> None:
        self._maybe = MaybeFormatted(table.typed, table.decimal_comma)
        self._problem = (
            f"{table.source.label}: the weights, {name!r}, must hold numbers in one format"
        )

    def __call__(self, column: Any) -> np.ndarray:
        """Weights of a batch."""
        if isinstance(column, np.ndarray) or kind_of(column.type) != "text":
            return to_numbers(column)
        numbers = self._maybe.read(column)
        if numbers is None or self._maybe.misread:
            raise TableError(self._problem)
        return numbers


def read_validation(
    table: Table,
    schema: TableSchema,
    text: Mapping[str, Sequence[str]],
    target_values: Sequence[str],
    weight: str | None = None,
    verbose: int = 0,
    sparse: bool = False,
) -> tuple[Part, list[str]]:
    """Read a table to measure a model on.

    Parameters
    ----------
    table : Table
        An open table.
    schema : TableSchema
        The columns of the training data.
    text : mapping of str to sequence of str
        Values of the text columns of the training data, ascending.
    target_values : sequence of str
        Texts of the target, ascending; none if it holds numbers.
    weight : str, default=None
        The column of weights.
    verbose : int, default=0
        1 for progress on standard error.
    sparse : bool, default=False
        Whether a sparse table stays sparse, as that of training.

    Returns
    -------
    Part
        The rows that have a value of the target.
    list of str
        What their owner should know.
    """
    where = table.source.label
    wanted = [*schema.columns, schema.target, *([weight] if weight else [])]
    check_columns(where, table.missing(wanted), table.names)
    if not sparse:
        table.check_dense()
    texts = {**text, **({schema.target: list(target_values)} if target_values else {})}
    columns = ModelColumns(schema.columns, texts, schema.formats, where)
    text_weight = {weight} if weight and table.kinds.get(weight) == "text" else set()
    weigh = _Weights(table, weight) if weight else None
    out, n_without = (
        _Collector(len(schema.columns), table.dtype(schema.columns), weight is not None),
        0,
    )
    with Progress(table.total, f"reading {where}", table.unit, verbose, scaled=True) as progress:
        for batch in table.batches(wanted, columns.text | text_weight, progress.advance):
            y = columns.column(schema.target, batch.columns[schema.target])
            if target_values and columns.known[schema.target].n_unknown:
                unknown = columns.known[schema.target].example
                raise TableError(
                    f"{where}: the target {schema.target!r} has a class that the training data "
                    f"does not have: {unknown!r}"
                )
            keep = ~np.isnan(y)
            n_without += int(np.count_nonzero(~keep))
            weights = weigh(batch.columns[weight]) if weight and weigh else None
            features = columns.stored(batch) if sparse else None
            if features is None:
                features = columns.features(batch)
            out.add(features, y, weights, keep, table.fraction)
    part = out.finish()
    if not part.n_rows:
        raise TableError(f"{where}: no row has a value of the target {schema.target!r}")
    notes = columns.unknown_texts()
    if n_without:
        notes.append(f"{n_without:,} rows without a value of {schema.target!r} were left out")
    return part, notes
