"""The steps of classical trees: what is searched at once, and by how many blocks."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpuboost import RandomForestClassifier, RandomForestRegressor
from gpuboost.kernels.cuda import tree_steps
from gpuboost.kernels.cuda.records import FEATURE_CUT, OPEN_NODE
from gpuboost.kernels.emulation import control

pytestmark = pytest.mark.usefixtures("device")


def nodes_of(*sizes):
    """Nodes of so many rows, one behind the other."""
    ends = np.cumsum(sizes)
    nodes = np.zeros(len(sizes), OPEN_NODE)
    nodes["begin"], nodes["end"] = ends - sizes, ends
    return nodes


def test_rounds_begin_with_what_a_node_tries_and_double():
    assert tree_steps.rounds(28, 5, 100) == [(0, 5), (5, 5), (10, 10), (20, 8)]
    assert tree_steps.rounds(28, 28, 100) == [(0, 28)]
    assert tree_steps.rounds(28, 28, 10) == [(0, 10), (10, 10), (20, 8)]
    assert tree_steps.rounds(3, 1, 1) == [(0, 1), (1, 1), (2, 1)]


def test_large_nodes_come_first_and_their_tiles_are_numbered_through(monkeypatch):
    monkeypatch.setattr(tree_steps, "TILE_ROWS", 100)
    nodes = nodes_of(30, 250, 100, 101)
    order, n_large = tree_steps.large_first(nodes)
    assert order.tolist() == [1, 3, 0, 2] and n_large == 2
    nodes = nodes[order]
    assert tree_steps.number_tiles(nodes, n_large) == 5
    assert nodes["first_tile"].tolist() == [0, 3, 0, 0]


def bin_search(n_cell, max_codes=256, default=48 << 10, opt_in=163 << 10):
    attributes = {
        "MaxSharedMemoryPerBlock": default, "MaxSharedMemoryPerBlockOptin": opt_in
    }  # fmt: skip
    return tree_steps.BinSearch(
        attributes, SimpleNamespace(max_codes=max_codes), SimpleNamespace(n_cell=n_cell)
    )


@pytest.mark.parametrize(
    ("architecture", "opt_in"), [(75, 64 << 10), (80, 163 << 10), (86, 99 << 10), (90, 227 << 10)]
)
def test_two_blocks_of_a_search_fit_a_multiprocessor_whatever_the_number_of_classes(
    architecture, opt_in
):
    for n_cell in (2, 21, 22, 40, 1000):
        search = bin_search(n_cell, opt_in=opt_in)
        taken = search.score_bytes + search.cell_bytes + tree_steps.STATIC_BYTES
        assert taken <= max(48 << 10, opt_in // 2)
        assert search.range_cells * search.n_ranges >= n_cell
        assert search.range_cells * (search.n_ranges - 1) < n_cell
    assert bin_search(20).n_ranges == 1
    assert bin_search(100).n_ranges == 4


def test_the_root_of_a_large_tree_fills_the_device():
    """Blocks of its launches with 1,000,000 rows, the default 5 of 28 features."""
    nodes = nodes_of(1_000_000)
    _, n_large = tree_steps.large_first(nodes)
    n_tiles = tree_steps.number_tiles(nodes, n_large)
    assert n_large == 1 and n_tiles == 245
    n_slots = tree_steps.rounds(28, 5, 1000)[0][1]
    blocks = n_tiles * n_slots
    assert blocks == 1225
    assert all(blocks / n_multiprocessors > 9 for n_multiprocessors in (72, 108, 132))


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_blocks_share_the_rows_of_large_nodes_and_the_features_of_all(kind, device, monkeypatch):
    """Counted by the emulated device: blocks and rows that each of them sums."""
    if device != "emulated":
        pytest.skip("a GPU does not count")
    monkeypatch.setattr(tree_steps, "TILE_ROWS", 64)
    rng = np.random.default_rng(0)
    x, n = rng.normal(size=(1000, 6)), 1000
    y = (x[:, 0] > 0).astype(float)
    control.kernel_counts.clear()
    with control.configure(mode="count"):
        kind(1, max_depth=1, max_features=3, bootstrap=False, device="cuda").fit(x, y)
    blocks = {name: counts["threads"] // 256 for name, counts in control.kernel_counts.items()}
    n_tiles = -(-n // 64)
    assert blocks["sum_tiles"] == 2 * n_tiles * 3  # in both rounds, the second of which is idle
    assert blocks["count_tile_lefts"] == blocks["scatter_tiles"] == n_tiles
    assert blocks["divide_rows"] == n_tiles
    n_sums = 1 if kind is RandomForestClassifier else 2
    shared_atomics = control.kernel_counts["sum_tiles"]["shared_atomics"]
    assert shared_atomics == 3 * n * (1 + 2 * n_sums)  # of three features alone
    assert control.kernel_counts["score_cuts"]["shared_atomics"] == 0


@pytest.mark.parametrize(
    ("tile_rows", "pairs", "sum_bytes", "blocks"), [(16, 7, 20_000, 3), (30, 1, 1, 1)]
)
def test_what_is_searched_at_once_is_bounded(tile_rows, pairs, sum_bytes, blocks, monkeypatch):
    """With little room the nodes of a level are searched a few at a time: the same models."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(80, 5))
    x[rng.random(x.shape) < 0.2] = np.nan
    y = np.nansum(x[:, :3], axis=1)
    options = {"max_features": 2, "random_state": 3, "max_depth": 3}
    expected = RandomForestRegressor(2, **options).fit(x, y).fingerprint()
    for name, value in (
        ("TILE_ROWS", tile_rows),
        ("CUT_BYTES", pairs * FEATURE_CUT.itemsize),
        ("SUM_BYTES", sum_bytes),
        ("MAX_BLOCKS", blocks),
    ):
        monkeypatch.setattr(tree_steps, name, value)
    grown = RandomForestRegressor(2, device="cuda", **options).fit(x, y)
    assert grown.fingerprint() == expected
