"""What all tables have in common."""

import numpy as np
import pytest

from gpuboost.tables import Batch, Table, TableError, open_table


class Parts(Table):
    """Ten units that are read in three parts, the second of them without rows."""

    names = ["a", "b"]
    kinds = {"a": "number", "b": "text"}

    def _read(self, columns, text):
        self._check_numbers(columns, text)
        for end, n_rows in ((4, 2), (6, 0), (10, 1)):
            yield end, Batch(n_rows, {name: np.zeros(n_rows) for name in columns})


@pytest.fixture
def parts(write):
    return Parts(open_table(write("a,b\n1,x\n")).source, 10)


def test_reading_tells_how_far_it_is_and_leaves_out_batches_without_rows(parts):
    steps, shares = [], []
    for batch in parts.batches(["a"], None, steps.append):
        assert list(batch.columns) == ["a"] and batch.n_rows == len(batch.columns["a"])
        shares.append(parts.fraction)
    assert steps == [4, 2, 4] and shares == [0.4, 1.0]


def test_nobody_knows_the_part_of_a_table_without_a_size(parts):
    parts.total = None
    assert [parts.fraction for _ in parts.batches(["a"], None, lambda n: None)] == [0.0, 0.0]


def test_columns_that_must_not_be_text(parts):
    assert parts.missing(["a", "c"]) == ["c"] and parts.dtype(["a"]) == "float64"
    assert len(list(parts.batches(["a", "b"], {"b"}, lambda n: None))) == 2
    with pytest.raises(TableError, match="column 'b' must hold numbers"):
        list(parts.batches(["a", "b"], set(), lambda n: None))
