"""The stable partition of rows."""

import numpy as np
import pytest
import reference

from gpuboost.dtypes import NODE, PIECE, PROGRESS
from gpuboost.kernels.cpu import partition
from gpuboost.kernels.cpu._jit import exposed

partition_pieces = exposed(partition.partition_pieces)


move_pieces = exposed(partition.move_pieces)


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("missing_left", [0, 1])
def test_partition_is_stable(rng, pieces, missing_left):
    n = 1000
    columns = rng.integers(0, 5, (2, n)).astype(np.uint8)
    rows = np.sort(rng.choice(n, 600, replace=False)).astype(np.int32)
    before = rows.copy()
    nodes = np.zeros(1, NODE)
    nodes["end"] = len(rows)
    nodes["split"]["feature"], nodes["split"]["bin"], nodes["split"]["missing_left"] = (
        1,
        2,
        missing_left,
    )
    piece = np.zeros(pieces, PIECE)
    edges = np.linspace(0, len(rows), pieces + 1).astype(int)
    piece["begin"], piece["end"] = edges[:-1], edges[1:]
    progress = np.zeros(1, PROGRESS)
    progress["n_pieces"] = pieces
    scratch = np.empty_like(rows)
    partition_pieces(
        np.zeros(1, np.int64), columns, None, progress, nodes, piece, rows, scratch, None
    )
    left = reference.goes_left(columns[1][before], 2, missing_left)
    assert piece["n_left"].sum() == left.sum()
    piece["left_at"] = np.concatenate([[0], np.cumsum(piece["n_left"])[:-1]])
    n_right = piece["end"] - piece["begin"] - piece["n_left"]
    piece["right_at"] = left.sum() + np.concatenate([[0], np.cumsum(n_right)[:-1]])
    move_pieces(np.zeros(1, np.int64), progress, nodes, piece, rows, scratch)
    np.testing.assert_array_equal(rows, np.concatenate([before[left], before[~left]]))
