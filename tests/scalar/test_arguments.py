"""Functions of rows that take further arrays."""

import numpy as np
import pytest

from gpuboost.scalar.arguments import of_row, of_rows

ARRAYS = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("n_arrays", [0, 1, 3])
def test_values_of_a_row_stand_between_the_first_arguments_and_the_rest(n_arrays):
    call = of_row(lambda *arguments: arguments, n_arrays)
    assert call(("y", "raw"), ARRAYS, 2, "rest") == ("y", "raw", *ARRAYS[:n_arrays, 2], "rest")


@pytest.mark.parametrize("n_arrays", [0, 1, 3])
def test_whole_arrays_come_in_their_order(n_arrays):
    call = of_rows(lambda *arguments: arguments, n_arrays)
    first, *between, rest = call(("y",), ARRAYS, "rest")
    assert (first, rest) == ("y", "rest")
    np.testing.assert_array_equal(np.reshape(between, (n_arrays, 4)), ARRAYS[:n_arrays])


def test_every_closure_is_compiled_once():
    compiled = []
    of_row(max, 2, lambda function: compiled.append(function) or function)
    assert len(compiled) == len(set(compiled)) == 3
