"""How categories are ordered and divided."""

import numpy as np
import pytest

from gpuboost.dtypes import TREE_GROWTH
from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.cart.categories import keep_set
from gpuboost.kernels.cpu.cart.cuts import PREFIXES, SINGLES, SUBSETS, keeps_to_rails

compiled_keep_set = exposed(keep_set)
compiled_keeps_to_rails = exposed(keeps_to_rails)


@pytest.mark.parametrize(("kind", "cut", "left"), [(PREFIXES, 1, [70, 3]), (SINGLES, 2, [5])])
def test_a_set_has_a_bit_for_each_category_on_the_left(kind, cut, left):
    order, present = np.array([3, 1, 2], np.int32), np.array([0, 3, 5, 70], np.int32)
    out = np.full(3, 7, np.uint64)
    compiled_keep_set(kind, cut, order, present, 3, 100, False, out)
    assert in_set(out) == sorted(left) and out[2] == 7  # behind the last word nothing is touched


@pytest.mark.parametrize("n_codes", [71, 100, 128])
def test_categories_that_the_node_does_not_have_go_with_the_others(n_codes):
    order, present = np.array([3, 1, 2], np.int32), np.array([0, 3, 5, 70], np.int32)
    out = np.zeros(2, np.uint64)
    compiled_keep_set(PREFIXES, 1, order, present, 3, n_codes, True, out)
    assert in_set(out) == [c for c in range(1, n_codes) if c != 5]


def in_set(words):
    return [c for c in range(128) if int(words[c // 64]) >> (c % 64) & 1]


def keeps(kind, cut, counts, keys, **limits):
    growth = np.zeros(1, TREE_GROWTH).view(np.recarray)
    growth.min_data_per_category, growth.max_cat_threshold = 5, 100
    for name, value in limits.items():
        growth[name] = value
    order = np.argsort(keys, kind="stable").astype(np.int32) + 1
    counts, keys = np.array([0, *counts], np.int32), np.array([np.nan, *keys])
    return compiled_keeps_to_rails(kind, cut, order, len(order), counts, keys, growth)


def test_categories_with_the_same_key_are_not_divided():
    keys = [0.1, 0.3, 0.3, 0.9]
    assert [keeps(PREFIXES, cut, [9] * 4, keys) for cut in range(4)] == [True, False, True, True]


def test_one_side_has_at_most_so_many_categories():
    of_six = [keeps(PREFIXES, cut, [9] * 6, np.arange(6), max_cat_threshold=2) for cut in range(6)]
    assert of_six == [True, True, False, True, True, True]  # the last: missing values alone


def test_categories_of_few_rows_are_on_one_side():
    counts, keys = [9, 2, 3, 9], np.arange(4.0)
    singles = [keeps(SINGLES, cut, counts, keys) for cut in range(4)]
    assert singles == [True, False, False, True]
    left = [[k for k in range(4) if cut + 1 >> k & 1] for cut in range(7)]
    wanted = [(1 in of_cut) == (2 in of_cut) for of_cut in left]
    assert [keeps(SUBSETS, cut, counts, keys) for cut in range(7)] == wanted
