"""What is wrong with a table, in a sentence."""

import pytest
from table_files import read

from gpuboost.tables import TableError


def test_missing_columns_name_the_nearest(write):
    with pytest.raises(
        TableError,
        match=r"no target column 'prise' \(did you mean 'price'\?\); the columns are size, price",
    ):
        read(write("size,price\n1,2\n"), target="prise")
