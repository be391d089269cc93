"""Cuts that follow from an order of codes."""

import numpy as np
import pytest

from gpuboost.dtypes import TREE_GROWTH
from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.cart.cuts import PREFIXES, SINGLES, SUBSETS, is_in_set, sum_set

compiled_sum_set = exposed(sum_set)

in_set = exposed(is_in_set)
N_CUTS = {PREFIXES: lambda m: m - 1, SINGLES: lambda m: m, SUBSETS: lambda m: 2 ** (m - 1) - 1}


def sets_of(kind, m):
    n_cuts = N_CUTS[kind](m)
    return [frozenset(k for k in range(m) if in_set(kind, cut, k, m)) for cut in range(n_cuts)]


@pytest.mark.parametrize("m", [2, 3, 5])
def test_each_kind_of_cut_has_its_sets(m):
    assert sets_of(PREFIXES, m) == [frozenset(range(n)) for n in range(1, m)]
    assert sets_of(SINGLES, m) == [frozenset([k]) for k in range(m)]
    subsets = sets_of(SUBSETS, m)
    everything = frozenset(range(m))
    # every division once: of a set and its complement, one is there
    assert len({frozenset([s, everything - s]) for s in subsets}) == 2 ** (m - 1) - 1


@pytest.mark.parametrize("kind", [PREFIXES, SINGLES, SUBSETS])
def test_behind_the_last_cut_come_all_codes(kind):
    assert all(in_set(kind, N_CUTS[kind](4) + (kind == PREFIXES) * 0, k, 4) for k in range(4))


@pytest.mark.parametrize("kind", [PREFIXES, SINGLES, SUBSETS])
def test_sums_of_a_set(rng, kind):
    m, growth, left = 4, np.zeros(1, TREE_GROWTH).view(np.recarray), np.empty(2)
    growth["weight_unit"], growth["value_unit"] = 0.5, 0.25
    cells = rng.integers(0, 50, (m + 1, 3))
    counts, order = rng.integers(1, 9, m + 1).astype(np.int32), np.array([3, 1, 4, 2], np.int32)
    for cut, chosen in enumerate(sets_of(kind, m)):
        own = [order[k] for k in chosen]
        weight, count = compiled_sum_set(
            kind, cut, order, m, cells.reshape(-1), counts, 3, False, 1, growth, left
        )
        assert weight == 0.5 * cells[own, 0].sum() and count == counts[own].sum()
        np.testing.assert_array_equal(left, 0.25 * cells[own, 1:].sum(axis=0))
