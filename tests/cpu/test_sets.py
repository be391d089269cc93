"""Sets of categories: the order in which they are made, and what a split asks of a code."""

from itertools import combinations

import numpy as np
import pytest

from gpuboost.dtypes import CUT, GROWTH, HIST_STRIDE, IN_SET, N_CODES, SET_SPLIT, SET_WORDS, SPLIT
from gpuboost.kernels.cpu import sets
from gpuboost.kernels.cpu._jit import exposed, kernel
from gpuboost.kernels.cpu.split import best_of, score_sets

order_codes, sum_sets = exposed(sets.order_codes), exposed(sets.sum_sets)
write_set, sum_of_set = exposed(sets.write_set), exposed(sets.sum_of_set)
score, best = exposed(score_sets), exposed(best_of)


def growth_record(**fields):
    growth = np.zeros(1, GROWTH).view(np.recarray)
    growth["gradient_unit"], growth["hessian_unit"] = 0.5, 0.25
    growth["max_cat_to_onehot"], growth["max_cat_threshold"] = 1, N_CODES
    growth["min_data_per_category"] = 1
    for name, value in fields.items():
        growth[name] = value
    return growth


def ordered(g, h, n_rows=1000, **fields):
    """The order of codes 1, 2, ... with these sums, and the largest size of a set."""
    cells = (np.array([0, *g], np.int64) << 32) + np.array([0, *h])
    search = sets.set_search.py_func(np.ones(1, np.uint8))
    order_codes(cells, len(g), cells.sum(), n_rows, growth_record(**fields), search)
    n, most = search.sizes
    return cells, search, search.order[:n].tolist(), most


def codes_of(s, missing_left, search):
    words = np.empty(SET_WORDS, np.uint64)
    write_set(s, missing_left, search, words)
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist()


def test_codes_are_ordered_by_gradient_over_smoothed_hessian():
    """g / h is -1, 1, 0.9, 1; smoothing moves the last one, which has few rows, to the middle."""
    g, h = np.array([-20, 20, 18, 1]), 2 * np.array([20, 20, 20, 1])
    assert ordered(g, h)[2] == [1, 3, 2, 4]  # of equal keys the lower code is first
    assert ordered(g, h, cat_smooth=5.0)[2] == [1, 4, 3, 2]


def test_few_categories_are_sets_of_their_own():
    _, search, order, most = ordered([3, 0, 5], [2, 0, 1], max_cat_to_onehot=2)
    assert order == [1, 3] and most == 0
    assert [codes_of(s, 0, search) for s in (1, 2, 3)] == [[1], [3], [0]]
    assert codes_of(2, 1, search) == [0, 3]


def test_sets_are_both_ends_of_the_order():
    cells, search, order, most = ordered([5, 4, 3, 2, 1], [1] * 5, max_cat_threshold=2)
    assert order == [5, 4, 3, 2, 1] and most == 2
    expected = [[5], [4, 5], [1], [1, 2], [0]]
    assert [codes_of(s, 0, search) for s in range(1, 6)] == expected
    sums = np.empty(HIST_STRIDE, np.int64)
    sum_sets(cells, search, sums)
    words = np.empty(SET_WORDS, np.uint64)
    for s in range(1, 5):
        write_set(s, 0, search, words)
        assert sums[s] == sum_of_set(cells, 0, 5, words) == cells[expected[s - 1]].sum()


def test_categories_with_few_rows_are_in_no_set():
    """100 rows, a tenth of the hessian each: ten rows."""
    h = [10] * 8 + [19, 1]
    for least, in_sets in ((1, 10), (2, 9), (10, 9), (11, 1), (20, 0)):
        assert len(ordered(range(10), h, 100, min_data_per_category=least)[2]) == in_sets


def score_of(g, h):
    return g * g / h if h > 0 else -np.inf


def exhaustive(g, h):
    """The highest score of all ways to divide the codes, the missing value among them."""
    best_score = -np.inf
    for size in range(1, len(g)):
        for chosen in combinations(range(len(g)), size):
            left = list(chosen)
            sides = (g[left].sum(), h[left].sum()), (g.sum(), h.sum())
            (gl, hl), (ga, ha) = sides
            best_score = max(best_score, score_of(gl, hl) + score_of(ga - gl, ha - hl))
    return best_score


@pytest.mark.parametrize("loss", ["squared error", "log loss"])
def test_fishers_order_finds_the_best_of_all_divisions(rng, loss):
    """200 cases of two to eight categories, half of them with missing values."""
    for case in range(100):
        n, missing = int(rng.integers(2, 9)), case % 2
        h = rng.integers(1, 30, n + 1)  # rows, of which each has the hessian 1
        if loss == "squared error":
            g = rng.integers(-40, 40, n + 1)
        else:  # p (1 - p) and p - y, in steps: any gradient that a hessian allows
            g = np.array([rng.integers(-4 * k, 4 * k + 1) for k in h])
        g[0], h[0] = (g[0], h[0]) if missing else (0, 0)
        cells = (g.astype(np.int64) << 32) + h
        growth = growth_record(gradient_unit=1.0, hessian_unit=1.0)
        search = sets.set_search.py_func(np.ones(1, np.uint8))
        order_codes(cells, n, cells.sum(), int(h.sum()), growth, search)
        prefix, scores = np.empty(HIST_STRIDE, np.int64), np.empty((2, HIST_STRIDE))
        ends = score(cells, None, n, cells.sum(), 0, growth, None, search, prefix, None, scores)
        first = 0 if missing else 1
        found = best(scores, *ends)[0]
        assert found == pytest.approx(exhaustive(g[first:].astype(float), h[first:].astype(float)))


@kernel
def answers(splits, codes, out):
    question = sets.question_of(splits[0])
    for i in range(codes.shape[0]):
        out[i] = sets.goes_right(question, codes[i])


@pytest.mark.parametrize("missing_left", [0, 1])
@pytest.mark.parametrize("dtype", [SPLIT, SET_SPLIT])
def test_cuts_ask_for_the_order_of_codes(dtype, missing_left):
    split, codes = np.zeros(1, dtype), np.arange(N_CODES).astype(np.uint8)
    split["bin"], split["missing_left"] = 100, missing_left
    right = np.empty(N_CODES, np.bool_)
    answers(split, codes, right)
    assert right.tolist() == [(c > 100) if c else not missing_left for c in range(N_CODES)]


def test_sets_ask_for_single_codes(rng):
    split, codes = np.zeros(1, SET_SPLIT), np.arange(N_CODES).astype(np.uint8)
    is_in = rng.random(N_CODES) < 0.5
    split["kind"], split["set"] = IN_SET, np.packbits(is_in, bitorder="little").view(np.uint64)
    right = np.empty(N_CODES, np.bool_)
    answers(split, codes, right)
    np.testing.assert_array_equal(right, ~is_in)
    assert CUT == 0  # what records are before a search writes them


def test_the_kind_of_a_split_is_copied():
    source, target = np.zeros(2, SET_SPLIT).view(np.recarray)
    source.kind, source.set[:] = IN_SET, [1, 2, 3, 4]
    exposed(sets.copy_kind)(source, target, np.ones(1, np.uint8))
    assert target.kind == IN_SET and target.set.tolist() == [1, 2, 3, 4]
