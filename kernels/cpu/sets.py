"""Sets of categories: which ones are tried as splits, and what a split asks of a code.

If a node has few categories, each of them is tried against all others. Else those with enough rows
are put in the order of gradient / (hessian + cat_smooth), and the first ones of this order, or the
last ones, are a set. (Fisher 1958: for two classes and for squared error the best of all sets is
among these.) The set goes left; all other codes go right, those too that the node has not seen.

The sets of a node are numbered and scored as the cuts of a number are: by the sums of their rows.

Fits without categories compile none of this: they hand ``None`` around, and their records have no
room for sets (``gpuboost/dtypes.py``)."""

from typing import Any, NamedTuple

import numpy as np

from gpuboost.dtypes import CUT, HIST_STRIDE, IN_SET, N_CODES, SET_WORDS
from gpuboost.kernels.cpu._jit import allocating, by_type, helper, inlined

ONE, BITS = np.uint64(1), np.uint64(64)


class SetSearch(NamedTuple):
    """What a thread needs to try sets of categories."""

    is_categorical: Any  # (n_features,) uint8
    order: Any  # (N_CODES,) int32: the codes that sets are made of
    codes: Any  # (N_CODES,) int32: the same, ascending
    key: Any  # (N_CODES,) float64: what these are ordered by
    # (2,) int64: how many codes there are, and how many of them at most are in a set; 0: each is a
    # set of its own
    sizes: Any
    words: Any  # (SET_WORDS,) uint64: a set
    sums: Any  # (HIST_STRIDE,) int64: of all nodes of a level


@allocating
def set_search(is_categorical):
    """Room to search; None if there are no categories."""
    if is_categorical is None:
        return None
    return SetSearch(
        is_categorical,
        np.empty(N_CODES, np.int32),
        np.empty(N_CODES, np.int32),
        np.empty(N_CODES, np.float64),
        np.empty(2, np.int64),
        np.empty(SET_WORDS, np.uint64),
        np.empty(HIST_STRIDE, np.int64),
    )


# --- which sets there are


@helper
def order_codes(cells, n_bins, total, n_rows, growth, search):
    """Put the codes of a node, or of all nodes of a level, in the order in which they make sets.

    The hessian says how many rows a code has: its share of the total is that of the rows.
    """
    p = growth[0]
    order, codes, key = search.order, search.codes, search.key
    n = 0
    for c in range(1, n_bins + 1):
        if cells[c] != 0:
            order[n] = c
            n += 1
    search.sizes[0], search.sizes[1] = n, 0
    if n <= p.max_cat_to_onehot:
        return
    n_present, n = n, 0
    total_hessian = np.int64(np.int32(total))
    for k in range(n_present):
        c = order[k]
        hessian = np.int64(np.int32(cells[c]))
        if hessian > 0 and hessian * n_rows >= p.min_data_per_category * total_hessian:
            codes[n] = c
            key[n] = (np.float64(np.int32(cells[c] >> 32)) * p.gradient_unit) / (
                np.float64(hessian) * p.hessian_unit + p.cat_smooth
            )
            n += 1
    sort_codes(codes[:n], key[:n], order)
    search.sizes[0], search.sizes[1] = n, min((n + 1) // 2, np.int64(p.max_cat_threshold))


@helper
def sort_codes(codes, key, order):
    """Put codes, which ascend, in the order of their keys, equal ones by code.

    The place of each is how many come before it. These comparisons vectorise: of 60 and of 240
    codes a search takes half the time that it takes with a shell sort (2026-11, AMD EPYC).
    """
    n = np.uint64(key.shape[0])
    for i in range(n):
        own = key[i]
        place = np.int64(0)
        for j in range(np.uint64(i)):
            place += np.int64(key[j] <= own)
        for j in range(np.uint64(i) + ONE, n):
            place += np.int64(key[j] < own)
        order[place] = codes[i]


@helper
def count_sets(search):
    """How many sets there are: one code each, or the first 1, 2, ... and the last 1, 2, ..."""
    n, most = search.sizes[0], search.sizes[1]
    return n if most == 0 else 2 * most


@helper
def sum_sets(cells, search, sums):
    """Sums of set s into ``sums[s]``, s from 1 on."""
    order, n, most = search.order, search.sizes[0], search.sizes[1]
    if most == 0:
        for k in range(n):
            sums[k + 1] = cells[order[k]]
        return
    first, last = np.int64(0), np.int64(0)
    for k in range(most):
        first += cells[order[k]]
        last += cells[order[n - 1 - k]]
        sums[k + 1] = first
        sums[most + k + 1] = last


@helper
def write_set(s, missing_left, search, words):
    """The codes of set s as bits; behind the last set comes that of missing values alone."""
    order, n, most = search.order, search.sizes[0], search.sizes[1]
    for w in range(SET_WORDS):
        words[w] = np.uint64(0)
    first, end = 0, 0
    if s <= count_sets(search):
        if most == 0:
            first, end = s - 1, s
        elif s <= most:
            end = s
        else:
            first, end = n - (s - most), n
    for k in range(first, end):
        code = np.uint64(order[k])
        words[code // BITS] |= ONE << code % BITS
    if missing_left or first == end:
        words[0] |= ONE


@helper
def sum_of_set(cells, first_code, n_bins, words):
    """Sum of the cells of a set from a code on."""
    total = np.int64(0)
    for c in range(first_code, n_bins + 1):
        if is_in(words, np.uint64(c)):
            total += cells[c]
    return total


@inlined
def is_in(words, code):
    """Whether a set has a code."""
    return (words[code // BITS] >> code % BITS) & ONE != 0


# --- splits of both kinds


@helper
def copy_kind(source, target, is_categorical):
    """Make a split of the kind of another one; what both kinds have in common is copied before."""
    if is_categorical is not None:
        target.kind = source.kind
        for w in range(SET_WORDS):
            target.set[w] = source.set[w]


def make_cut(split):
    """Say that a split is a cut, if its record has kinds."""
    raise NotImplementedError  # compiled code only


@by_type(make_cut)
def _make_cut(split):
    if "set" not in split.fields:
        return lambda split: None

    def of_either_kind(split):
        split.kind = CUT

    return of_either_kind


@inlined
def shift_and_limit(split):
    """A cut as (shift, limit): a bin goes right when uint8(bin - shift) > limit.

    The missing bin 0 wraps to 255 if shift is 1.
    """
    shift = np.uint8(0) if split.missing_left else np.uint8(1)
    return shift, np.uint8(split.bin - shift)


def question_of(split):
    """What a split asks, in registers."""
    raise NotImplementedError  # compiled code only


def goes_right(question, code):
    """The answer for a code."""
    raise NotImplementedError  # compiled code only


@by_type(question_of)
def _question_of(split):
    if "set" not in split.fields:
        return lambda split: shift_and_limit(split)

    def of_either_kind(split):
        shift, limit = shift_and_limit(split)
        words = split.set
        return split.kind == IN_SET, shift, limit, words[0], words[1], words[2], words[3]

    return of_either_kind


@by_type(goes_right)
def _goes_right(question, code):
    if len(question) == 2:
        return lambda question, code: np.uint8(code - question[0]) > question[1]

    def of_either_kind(question, code):
        if not question[0]:
            return np.uint8(code - question[1]) > question[2]
        return not is_in_words(question[3], question[4], question[5], question[6], code)

    return of_either_kind


@inlined
def is_in_words(a, b, c, d, code):
    """Whether a set, given by its words, has a code."""
    place = np.uint64(code)
    low = b if place & BITS else a
    high = d if place & BITS else c
    word = high if place & (BITS + BITS) else low
    return (word >> (place & (BITS - ONE))) & ONE != 0
