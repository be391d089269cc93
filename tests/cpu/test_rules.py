"""Bounds of leaf weights, and scores of cuts within them."""

import numpy as np
import pytest
from reference import growth_record

from gpuboost.dtypes import NODE
from gpuboost.kernels.cpu import rules
from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.scores import NO_SPLIT, score_cuts

N_BINS = 40
score_within, score_plain = exposed(rules.score_cuts_within), exposed(score_cuts)


def packed(rng, n):
    return (rng.integers(-50, 50, n) << 32) + rng.integers(1, 20, n)


def scores_of(limits, prefix, growth, extra=0):
    out, total = np.empty(N_BINS + 1), prefix[-1] + extra
    score_within(limits, prefix, extra, None, 0, N_BINS, N_BINS, total, 0, growth, out)
    return out


def test_without_bounds_and_direction_the_scores_are_the_plain_ones(rng):
    prefix, out = packed(rng, N_BINS + 1).cumsum(), np.empty(N_BINS + 1)
    growth = growth_record(min_child_weight=9.0)
    score_plain(prefix, 7, None, 0, N_BINS, prefix[-1] + 7, 0, growth, out)
    within = scores_of((0, -np.inf, np.inf), prefix, growth, 7)
    np.testing.assert_allclose(within[1:], out[1:], rtol=1e-12)


@pytest.mark.parametrize("direction", [-1, 0, 1])
@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (-0.4, 0.3), (0.2, 0.9), (0.5, 0.5)])
def test_sides_out_of_order_are_no_cut_and_weights_stay_in_their_bounds(rng, bounds, direction):
    prefix = packed(rng, N_BINS + 1).cumsum()
    scores = scores_of((direction, *bounds), prefix, growth_record())
    for b in range(1, N_BINS):
        expected, weights = 0.0, []
        for side in (prefix[b], prefix[-1] - prefix[b]):
            h = 0.25 * (side & 0xFFFFFFFF)
            g = 0.5 * (side >> 32)
            weights.append(np.clip(-g / (h + 1.0), *bounds))
            expected -= 2 * g * weights[-1] + (h + 1.0) * weights[-1] ** 2
        in_order = direction * (weights[1] - weights[0]) >= 0
        assert scores[b] == (pytest.approx(expected) if in_order else NO_SPLIT)


def test_too_few_rows_on_a_side_are_no_cut(rng):
    prefix, counts, out = packed(rng, 4).cumsum(), np.array([0, 1, 5, 9], np.int32), np.empty(4)
    growth = growth_record(min_samples_leaf=3)
    free = (0, -np.inf, np.inf)
    score_within(free, prefix, 0, counts, 0, 3, 3, prefix[-1], 9, growth, out)
    assert np.isfinite(out[1:]).tolist() == [False, True, False]


def family(split_bin, feature=0):
    """A node with weight -1, whose children weigh -2 and 1, before the split is rounded."""
    nodes = np.zeros(3, NODE).view(np.recarray)
    nodes.left[:], nodes.right[:] = [1, -1, -1], [2, -1, -1]
    nodes["split"]["feature"][0], nodes["split"]["bin"][0] = feature, split_bin
    nodes["split"]["left"][0] = (4 << 32) + 4  # gradient 2, hessian 1
    nodes.sums[0] = (0 << 32) + 8
    return nodes


@pytest.mark.parametrize(
    ("direction", "split_bin", "left", "right"),
    [
        (1, 2, (-5.0, 0.0), (0.0, 5.0)),
        (-1, 2, (0.0, 5.0), (-5.0, 0.0)),
        (0, 2, (-5.0, 5.0), (-5.0, 5.0)),
        (1, 3, (-5.0, 5.0), (-5.0, 5.0)),  # all values left: only missing ones go right
    ],
)
def test_the_middle_between_the_sides_bounds_both(direction, split_bin, left, right):
    own = rules.make_rules(np.array([direction], np.int32), 3)
    own.bounds[0] = -5.0, 5.0
    hand_down = exposed(rules.hand_down)
    hand_down(own, growth_record(), family(split_bin), 0, np.array([3], np.int32))
    assert tuple(own.bounds[1]) == left and tuple(own.bounds[2]) == right


def test_the_root_is_free():
    own = rules.make_rules(np.zeros(1, np.int32), 1)
    exposed(rules.begin_rules)(own)
    assert own.bounds.tolist() == [[-np.inf, np.inf]]


def test_no_rules():
    assert rules.make_rules(None, 3) is None
