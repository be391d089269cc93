"""Ordered target statistics, beside a calculation in plain Python."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpuboost.backend import get_backend
from gpuboost.data.target_statistics import (
    AUTO,
    MANY_LEVELS,
    PAIR_COLUMNS,
    PAIR_ROWS,
    PARTITION,
    TARGET,
    RowLevels,
    TargetSums,
    beyond_chance,
    encoding_of,
    level_keys,
    pairs_to_try,
    says_more,
    shuffled,
)
from gpuboost.scalar.formulas import hash32

KEY = 12345


def statistic(x, y, weight=None, columns=(0,), n_categories=(5,), key=KEY):
    """The statistic and what the rows get; y has one target."""
    weight = np.empty(0) if weight is None else np.asarray(weight, float)
    sums = TargetSums.of(np.atleast_2d(np.asarray(y, float)), weight, key)
    with get_backend("cpu", 1) as backend:
        levels = [
            RowLevels.of(np.asarray(x, float), f, n, sums.order, backend.host)
            for f, n in zip(columns, n_categories, strict=False)
        ]
        joint = levels[0] if len(columns) == 1 else levels[0].joined(levels[1], backend.host)
        return sums.statistic(joint, backend.host)


def place_in_order(row):
    """Where the hash puts a row, from integers of Python."""
    x = (row * 0x9E3779B1 + KEY) % 2**32
    x ^= x >> 16
    x = x * 0x7FEB352D % 2**32
    x ^= x >> 15
    x = x * 0x846CA68B % 2**32
    return x ^ (x >> 16)


def by_hand(levels, y, weight):
    """Means of the rows before each row, and rows of its level: one row after another."""
    prior = sum(a * b for a, b in zip(y, weight, strict=True)) / sum(weight)
    out = []
    for i, level in enumerate(levels):
        before = [
            j
            for j in range(len(levels))
            if levels[j] == level and place_in_order(j) < place_in_order(i)
        ]
        total, n = sum(y[j] * weight[j] for j in before), sum(weight[j] for j in before)
        of_level = sum(weight[j] for j in range(len(levels)) if levels[j] == level)
        out.append(((total + prior) / (n + 1), of_level))
    return out


@pytest.mark.parametrize("weighted", [False, True])
def test_training_rows_get_the_mean_of_rows_before_them(weighted):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, (60, 1)).astype(float)
    x[::9] = np.nan
    y = rng.integers(-8, 9, 60).astype(float)
    weight = rng.integers(1, 4, 60).astype(float) if weighted else np.ones(60)
    _, got = statistic(x, y, weight if weighted else None)
    levels = ["gap" if np.isnan(value) else value for value in x[:, 0].tolist()]
    expected = by_hand(levels, y.tolist(), weight.tolist())
    np.testing.assert_array_equal(got, np.array(expected, np.float32))


def test_new_rows_get_the_mean_of_all_rows_of_their_level():
    x = np.array([[0.0], [0.0], [2.0], [np.nan]])
    y = np.array([1.0, 0.0, 1.0, 0.0])
    own, _ = statistic(x, y)
    new = np.array([[0.0], [1.0], [2.0], [np.nan]])  # nobody has seen level 1
    expected = [[(1 + 0.5) / 3, 2], [0.5, 0], [(1 + 0.5) / 2, 1], [0.5 / 2, 1]]
    np.testing.assert_array_equal(own.of_rows(new), np.array(expected, np.float32))


def test_gaps_are_as_new_levels_if_training_had_none():
    own, _ = statistic([[0.0], [1.0]], [3.0, 5.0])
    np.testing.assert_array_equal(own.of_rows(np.array([[np.nan]])), [[4.0, 0.0]])


def test_no_row_sees_its_own_target():
    """A row's target changes, and that of a row of another level the other way: the prior stays."""
    rng = np.random.default_rng(1)
    x = np.repeat([[0.0], [1.0]], 32, axis=0)
    y = rng.integers(-8, 9, 64).astype(float)
    _, before = statistic(x, y)
    for row in range(32):
        changed = y.copy()
        changed[[row, 63]] += [4.0, -4.0]
        own, after = statistic(x, changed)
        assert after[row].tolist() == before[row].tolist()
        assert own.total[0, 0] == y[:32].sum() + 4.0


def test_of_two_rows_of_a_level_one_sees_the_other():
    """Never both: what one tells of the other cannot be turned round."""
    x = np.zeros((2, 1))
    _, got = statistic(x, [0.0, 1.0])
    assert sorted(got[:, 0].tolist()) in ([0.25, 0.5], [0.5, 0.75])


def test_the_order_is_one_of_all_orders_and_depends_on_the_key_alone():
    rows = np.arange(1000)
    order = shuffled(rows, KEY)
    assert sorted(order.tolist()) == rows.tolist()
    assert order.tolist() == sorted(range(1000), key=place_in_order)
    assert order.tolist() != shuffled(rows, KEY + 1).tolist()


def test_a_place_has_the_same_hash_in_a_chunk_as_in_the_whole():
    whole = hash32(np.uint32(KEY), np.arange(100, dtype=np.uint32))
    chunk = hash32(np.uint32(KEY), np.arange(40, 100, dtype=np.uint32))
    np.testing.assert_array_equal(whole[40:], chunk)


def test_rows_without_weight_are_as_if_they_were_not_there():
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 5, (50, 1)).astype(float), rng.normal(size=50)
    weight = rng.integers(0, 3, 50).astype(float)
    kept = weight > 0
    own, rows = statistic(x, y, weight)
    alone, rows_alone = statistic(x[kept], y[kept], weight[kept])
    np.testing.assert_array_equal(rows[kept], rows_alone)
    for name in ("key", "weight", "total", "prior"):
        np.testing.assert_array_equal(getattr(own, name), getattr(alone, name))


def test_a_row_of_weight_k_counts_as_k_rows_for_new_rows():
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 5, (50, 1)).astype(float), rng.normal(size=50)
    weight = rng.integers(1, 4, 50)
    own, _ = statistic(x, y, weight)
    repeated, _ = statistic(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(own.of_rows(x), repeated.of_rows(x))


def test_the_order_of_the_training_rows_does_not_change_what_new_rows_get():
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 5, (50, 1)).astype(float), rng.normal(size=50) * 1e6
    turned = rng.permutation(50)
    own, other = statistic(x, y)[0], statistic(x[turned], y[turned])[0]
    np.testing.assert_array_equal(own.of_rows(x), other.of_rows(x))


def test_pairs_of_columns_are_levels_too():
    x = np.array([[0, 0], [0, 1], [1, 0], [0, 1], [np.nan, 1], [0, np.nan]], float)
    keys = level_keys(x, np.array([0, 1]), np.array([2, 2]))
    assert keys.tolist() == [5, 6, 9, 6, 2, 4]
    own, got = statistic(x, np.arange(6.0), columns=(0, 1), n_categories=(2, 2))
    assert got.shape == (6, 1)  # no number of rows
    np.testing.assert_allclose(own.of_rows(x)[[1, 3], 0], (1 + 3 + 2.5) / 3, rtol=1e-6)
    assert own.names(["a", "b"], ["mean of target"]) == ["a x b: mean of target"]


def test_several_targets_have_a_mean_each():
    x = np.array([[0.0], [0.0], [1.0]])
    own, got = statistic(x, np.eye(3))
    assert got.shape == (3, 4)
    assert own.names(["a"], ["p", "q", "r"]) == ["a: p", "a: q", "a: r", "a: rows"]
    np.testing.assert_allclose(own.of_rows(x)[0, :3], [4 / 9, 4 / 9, 1 / 9], rtol=1e-6)


@pytest.mark.parametrize("exponent", [-600, -30, 0, 30, 600])
def test_targets_of_any_size_have_means(exponent):
    """Those beyond float32 are in another unit."""
    own, got = statistic([[0.0], [0.0]], np.ldexp([1.0, 3.0], exponent))
    unit = np.ldexp(1.0, exponent if abs(exponent) < 100 else -2)
    assert own.total[0, 0] == 4 * unit
    assert np.isfinite(got).all() and len(np.unique(got[:, 0])) == 2


def told(x, y, weight=None):
    """Whether a column tells of the targets."""
    weight = np.empty(0) if weight is None else weight
    sums = TargetSums.of(np.atleast_2d(y), weight, KEY)
    with get_backend("cpu", 1) as backend:
        levels = RowLevels.of(x[:, None].astype(float), 0, 400, sums.order, backend.host)
        own, rows = sums.statistic(levels, backend.host)
    return sums.told_by(rows[:, : own.n_targets])


def test_a_column_of_noise_tells_nothing():
    """At most one of 40 such columns does, by chance: two standard errors on one side."""
    rng = np.random.default_rng(5)
    n_told = sum(told(rng.integers(0, 400, 800), rng.normal(size=(2, 800))[:1]) for _ in range(60))
    assert n_told <= 4


def test_a_column_with_an_effect_tells_something():
    rng = np.random.default_rng(6)
    x = rng.integers(0, 400, 2000)
    effect, noise = rng.normal(size=400)[x], rng.normal(size=2000)
    assert told(x, effect + noise)
    assert told(x, np.stack([noise, effect + noise]))  # one of two targets is enough
    assert told(x, effect + noise, rng.random(2000))
    assert not told(x, np.zeros(2000))


@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=40),
    st.floats(0.0, 3.0),
    st.sampled_from([1e-200, 1e-90, 1.0, 3e99]),
)
@example([1] * 4 + [0] * 9, 0.0, 1.0)  # exactly two standard errors
def test_sums_that_are_rounded_decide_nothing(values, shift, size):
    """The same as exact fractions say."""
    products = (np.array(values, float) + shift) * size
    parts = [Fraction(value) for value in products.tolist()]
    score, squares = sum(parts), sum(part * part for part in parts)
    expected = score > 0 and score * score > 4 * squares
    if abs(score * score - 4 * squares) > Fraction(1, 10**12) * squares:
        assert beyond_chance(products) == expected
    own = beyond_chance(products[::-1])
    assert own == beyond_chance(products)


def test_without_levels_all_rows_get_the_same():
    own, _ = statistic([[0.0], [1.0]], [3.0, 5.0])
    rows = own.without_levels().of_rows(np.array([[0.0], [1.0], [np.nan]]))
    assert rows.tolist() == [[4.0, 0.0]] * 3


def test_auto_takes_the_target_of_columns_with_many_categories():
    assert encoding_of(AUTO, MANY_LEVELS - 1) == PARTITION
    assert encoding_of(AUTO, MANY_LEVELS) == TARGET
    assert encoding_of(PARTITION, MANY_LEVELS) == PARTITION


def test_pairs_are_of_columns_with_many_categories():
    many = {0: 100, 2: MANY_LEVELS, 5: MANY_LEVELS - 1}
    assert pairs_to_try(many, 1000, 1) == [(0, 2)]
    assert pairs_to_try(many, 1000, 3) == []
    assert pairs_to_try(many, PAIR_ROWS + 1, 1) == []
    assert pairs_to_try(dict.fromkeys(range(PAIR_COLUMNS + 1), 100), 1000, 1) == []


def test_a_pair_whose_first_tells_the_second_says_nothing_more():
    assert not says_more(100, 100, 10)
    assert says_more(120, 100, 10)
