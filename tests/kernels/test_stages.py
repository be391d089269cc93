"""Single stages against their definitions."""

import numpy as np
import pytest
import reference

from gpuboost.dtypes import GROWTH, HIST_STRIDE, NODE, PIECE, PROGRESS
from gpuboost.kernels.cpu import gradients, histogram, partition, sampling
from gpuboost.kernels.cpu._jit import exposed

build = exposed(histogram.build)
partition_pieces = exposed(partition.partition_pieces)
move_pieces = exposed(partition.move_pieces)


@pytest.mark.parametrize("stretch", [False, True])
@pytest.mark.parametrize("n_features", [1, 3, 8, 19])
def test_histogram(rng, n_features, stretch):
    columns = rng.integers(0, 256, (n_features, 500)).astype(np.uint8)
    bins = np.append(
        np.ascontiguousarray(columns.T).reshape(-1), np.zeros(histogram.PADDING, np.uint8)
    )
    gh = rng.integers(-(2**50), 2**50, 500)
    rows = np.flatnonzero(rng.random(500) < 0.3).astype(np.int32)
    if stretch:
        rows = np.arange(100, 400, dtype=np.int32)
    n_bins = np.full(n_features, 255, np.int32)
    expected = reference.histogram(columns, rows, gh)
    everything = np.arange(n_features, dtype=np.int32)
    cells = np.full(n_features * HIST_STRIDE, 7)
    build(bins, n_features, columns, everything, 0, n_features, True, n_bins, rows, gh, cells)
    np.testing.assert_array_equal(cells.reshape(-1, HIST_STRIDE)[:, :256], expected)
    some = everything[::2].copy()
    cells = np.full(len(some) * HIST_STRIDE, 7)
    build(bins, n_features, columns, some, 0, len(some), False, n_bins, rows, gh, cells)
    np.testing.assert_array_equal(cells.reshape(-1, HIST_STRIDE)[:, :256], expected[some])


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
    partition_pieces(np.zeros(1, np.int64), columns, progress, nodes, piece, rows, scratch)
    left = reference.goes_left(columns[1][before], 2, missing_left)
    assert piece["n_left"].sum() == left.sum()
    piece["left_at"] = np.concatenate([[0], np.cumsum(piece["n_left"])[:-1]])
    n_right = piece["end"] - piece["begin"] - piece["n_left"]
    piece["right_at"] = left.sum() + np.concatenate([[0], np.cumsum(n_right)[:-1]])
    move_pieces(np.zeros(1, np.int64), progress, nodes, piece, rows, scratch)
    np.testing.assert_array_equal(rows, np.concatenate([before[left], before[~left]]))


def units(unit):
    growth = np.zeros(1, GROWTH)
    growth["gradient_unit"] = growth["hessian_unit"] = unit
    return growth


def test_random_rounding_is_unbiased_and_depends_on_nothing_but_the_row(rng):
    n = 200_000
    g, h = np.full(n, 0.3), np.full(n, 0.7)
    out = np.empty(n, np.int64)
    growth = units(1.0)
    growth["rounding_key"] = 5
    gradients.quantize(np.zeros(1, np.int64), g, h, np.empty(0), growth, False, out)
    hessian = out & 0xFFFFFFFF
    gradient = (out - hessian) >> 32
    assert set(np.unique(gradient)) == {0, 1} and set(np.unique(hessian)) == {0, 1}
    assert abs(gradient.mean() - 0.3) < 5 * np.sqrt(0.21 / n)
    assert abs(hessian.mean() - 0.7) < 5 * np.sqrt(0.21 / n)
    assert abs(np.corrcoef(gradient, hessian)[0, 1]) < 0.01  # two independent draws
    again = np.empty(n // 2, np.int64)
    gradients.quantize(
        np.zeros(1, np.int64), g[: n // 2], h[: n // 2], np.empty(0), growth, False, again
    )
    np.testing.assert_array_equal(again, out[: n // 2])


def test_nearest_rounding_makes_weights_repetitions(rng):
    g, h = rng.normal(size=50), rng.random(50)
    weight = rng.integers(1, 5, 50).astype(float)
    out, single = np.empty(50, np.int64), np.empty(50, np.int64)
    gradients.quantize(np.zeros(1, np.int64), g, h, weight, units(2.0**-14), True, out)
    gradients.quantize(np.zeros(1, np.int64), g, h, np.empty(0), units(2.0**-14), True, single)
    np.testing.assert_array_equal(out, single * weight.astype(int))


def test_row_and_column_draws(rng):
    usable = np.arange(100_000, dtype=np.int32)
    out = np.empty_like(usable)
    n = sampling.draw_rows(usable, 0.3, np.uint32(1), out)
    assert abs(n / 100_000 - 0.3) < 0.01
    assert (np.diff(out[:n]) > 0).all()
    assert sampling.draw_rows(usable[:1], 1e-9, np.uint32(1), out) == 1  # never empty
    counts = np.zeros(10)
    growth, features = np.zeros(1, GROWTH), np.empty(3, np.int32)
    for key in range(2000):
        growth["column_key"] = key
        sampling.draw_features(growth, 10, features)
        assert (np.diff(features) > 0).all()
        counts[features] += 1
    assert abs(counts / 2000 - 0.3).max() < 0.05
