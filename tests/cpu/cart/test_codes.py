"""The codes that are present in a node and their sums: three ways, one result."""

import numpy as np
import pytest

from gpuboost.dtypes import TREE_GROWTH
from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.cart.codes import cell_sums, sum_all_codes, sum_few, sum_marked_codes

few, everything, marked = map(exposed, (sum_few, sum_all_codes, sum_marked_codes))
N_CODES = 90


def sums_by_code(way, code, weight, classes, values, n_outputs, n_cell):
    """{code: (rows, sums)} of the codes present."""
    n = len(code)
    present, counts = np.zeros(N_CODES + 1, np.int32), np.zeros(N_CODES + 1, np.int32)
    cells = np.zeros((N_CODES + 1) * n_cell, np.int64)
    arrays = weight, classes, values, n_outputs, n_cell
    if way == "few":
        m = few(code, np.empty(n, np.int32), *arrays, present, cells, counts)
    elif way == "all":
        table = np.zeros(N_CODES * n_cell, np.int64)
        m = everything(code, *arrays, N_CODES, table, present, cells, counts)
        assert not table.any()
    else:
        bits, summary = np.zeros(2, np.uint64), np.zeros(1, np.uint64)
        place = np.zeros(N_CODES, np.int32)
        m = marked(code, *arrays, N_CODES, bits, summary, place, present, cells, counts)
    assert (np.diff(present[1:m]) > 0).all() and present[0] == 0  # entry 0 is the missing value's
    cells = cells.reshape(-1, n_cell)
    return {int(present[j]): (int(counts[j]), cells[j].tolist()) for j in range(m) if counts[j]}


@pytest.mark.parametrize("way", ["few", "all", "marked"])
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("with_classes", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_sums_of_each_code(rng, way, n_outputs, with_classes, missing):
    n = 20
    code = rng.integers(0 if missing else 1, 9, n).astype(np.int32) * 10
    code[0] = 0 if missing else code[0]
    weight = rng.integers(1, 100, n)
    values = rng.integers(-99, 99, (n, n_outputs))
    classes = rng.integers(0, 3, (n, n_outputs)) + 3 * np.arange(n_outputs)
    n_cell = 3 * n_outputs if with_classes else 1 + n_outputs
    expected = {}
    for i in range(n):
        rows, sums = expected.setdefault(int(code[i]), (0, [0] * n_cell))
        for o in range(n_outputs):
            sums[classes[i, o] if with_classes else 1 + o] += (
                weight[i] if with_classes else values[i, o]
            )
        sums[0] += 0 if with_classes else weight[i]
        expected[int(code[i])] = rows + 1, sums
    empty = np.empty(0, np.int32), np.empty(0, np.int64)
    found = sums_by_code(
        way, code, weight,
        classes.reshape(-1).astype(np.int32) if with_classes else empty[0],
        empty[1] if with_classes else values.reshape(-1), n_outputs, n_cell,
    )  # fmt: skip
    assert found == expected


def test_cells_become_numbers_by_their_units():
    growth, out = np.zeros(1, TREE_GROWTH).view(np.recarray), np.full(2, 7.0)
    growth["weight_unit"], growth["value_unit"] = 0.5, 0.25
    cells = np.array([0, 0, 0, 8, 12, 16])
    of_cells = exposed(cell_sums)
    assert of_cells(cells, 1, 3, False, 0, growth, out, False) == 4.0 and out.tolist() == [3.0, 4.0]
    assert of_cells(cells, 1, 3, False, 0, growth, out, True) == 4.0 and out.tolist() == [6.0, 8.0]
