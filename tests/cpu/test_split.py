"""Scores of the cuts of a histogram."""

import numpy as np
import pytest

from gpuboost.dtypes import GROWTH
from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.scores import NO_SPLIT
from gpuboost.kernels.cpu.split import best_of, score_feature, sum_left

score, best, left_sums = exposed(score_feature), exposed(best_of), exposed(sum_left)
N_BINS = 6


def case(rng, missing, **limits):
    g, h = rng.integers(-50, 50, N_BINS + 1), rng.integers(1, 20, N_BINS + 1)
    if not missing:
        g[0] = h[0] = 0
    growth = np.zeros(1, GROWTH).view(np.recarray)
    growth["gradient_unit"], growth["hessian_unit"], growth["reg_lambda"] = 0.5, 0.25, 1.0
    for name, value in limits.items():
        growth[name] = value
    return g, h, (g << 32) + h, growth


def scores_of(cells, growth, counts=None):
    scores = np.full((2, N_BINS + 1), NO_SPLIT)
    n = 0 if counts is None else int(counts.sum())
    room = None if counts is None else np.empty(N_BINS + 1, np.int32)
    ends = score(
        cells,
        counts,
        N_BINS,
        cells.sum(),
        n,
        growth,
        None,
        np.empty(N_BINS + 1, np.int64),
        room,
        scores,
    )
    return scores, ends


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("limits", [{}, {"min_child_weight": 5.0}, {"reg_alpha": 2.0}])
def test_scores_of_both_directions(rng, missing, limits):
    g, h, cells, growth = case(rng, missing, **limits)
    scores, ends = scores_of(cells, growth)
    assert ends == ((N_BINS + 1, N_BINS) if missing else (N_BINS, 1))
    for direction, end in enumerate(ends):
        for last in range(1, end):
            left = np.arange(N_BINS + 1) <= last
            left[0] = direction == 1
            total, possible = 0.0, True
            for side in (left, ~left):
                gradient, hessian = 0.5 * g[side].sum(), 0.25 * h[side].sum()
                shrunk = max(abs(gradient) - limits.get("reg_alpha", 0.0), 0.0)
                total += shrunk**2 / (hessian + 1.0)
                possible &= hessian >= max(limits.get("min_child_weight", 0.0), 0.125)
            expected = total if possible else NO_SPLIT
            assert scores[direction, last] == pytest.approx(expected)
        assert left_sums(cells, end - 1, direction) == cells[1:end].sum() + direction * cells[0]


def test_leaves_need_enough_rows(rng):
    *_, cells, growth = case(rng, False, min_samples_leaf=3)
    scores, _ = scores_of(cells, growth, np.array([0, 2, 1, 4, 1, 1, 1], np.int32))
    assert np.isfinite(scores[0, 1:N_BINS]).tolist() == [False, True, True, False, False]


def test_the_lowest_bin_wins_among_equals():
    scores = np.array([[0, 1.0, 5.0, 5.0, 0], [0, 5.0, 2.0, 0, 0]])
    assert best(scores, 4, 4) == (5.0, 1, 1)
    assert best(scores, 4, 1) == (5.0, 2, 0)
    assert best(np.full((2, 4), NO_SPLIT), 4, 4)[1] == 0
