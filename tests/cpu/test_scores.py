"""What cuts are worth."""

import numpy as np
import pytest
from reference import growth_record

from gpuboost.kernels.cpu import scores
from gpuboost.kernels.cpu._jit import exposed


def test_the_score_of_a_side_is_its_squared_gradient_over_the_hessian():
    packed = (np.int64(-6) << 32) + np.int64(12)
    assert exposed(scores.packed_score)(packed, growth_record()) == 9.0 / 4.0


def test_a_side_that_is_too_light_forbids_the_cut():
    prefix = np.array([0, (4 << 32) + 4, (2 << 32) + 16], np.int64)
    total, out = np.int64((8 << 32) + 20), np.empty(3)
    exposed(scores.score_cuts)(
        prefix, 0, None, 0, 2, total, 0, growth_record(min_child_weight=1.0), out
    )
    assert out[1:] == pytest.approx([2**2 / 2 + 2**2 / 5, 1 / 5 + 3**2 / 2])
    exposed(scores.score_cuts)(
        prefix, 0, None, 0, 2, total, 0, growth_record(min_child_weight=2.0), out
    )
    assert (out[1:] == scores.NO_SPLIT).all()


def test_the_heavier_side_is_the_one_with_more_hessian():
    heavier = exposed(scores.larger_side_left)
    assert heavier(np.int64(3), np.int64(5)) and not heavier(np.int64(2), np.int64(5))
