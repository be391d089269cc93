"""What is wrong with a table, in a sentence."""

import pytest
from table_files import read

from gpuboost.tables import TableError
from gpuboost.tables.errors import did_you_mean


def test_missing_columns_name_the_nearest(write):
    with pytest.raises(
        TableError,
        match=r"no target column 'prise' \(did you mean 'price'\?\); the columns are size, price",
    ):
        read(write("size,price\n1,2\n"), target="prise")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("prize", "price"),
        ("Price", "price"),
        ("unit-price", "unit price"),
        ("UNIT_PRICE", "unit price"),
        ("colr", "colour"),
        ("kind", None),
        ("rice bowl", None),
        ("p", None),
        ("x7", None),
        ("", None),
    ],
)
def test_names_are_suggested_if_they_are_close(name, near):
    said = did_you_mean(name, ["price", "unit price", "colour", "x10", "pi"])
    assert said == (f" (did you mean {near!r}?)" if near else "")
