import math

from hypothesis import given
from hypothesis import strategies as st

from gpuboost.scalar.fixed_point import COARSE_LIMIT, FINE_LIMIT, coarse_room, fine_room, fine_scale
from gpuboost.scalar.formulas import power_of_two_below, unit_for


@given(st.floats(1e-200, 1e200))
def test_power_of_two_below(x):
    p = power_of_two_below(x)
    assert p <= x < 2 * p and math.frexp(p)[0] == 0.5


@given(st.floats(1e-150, 1e150), st.integers(1, 10**8), st.floats(0.001, 8192), st.booleans())
def test_sums_cannot_overflow(total, n_rows, weight, nearest):
    """Each row's rounding adds less than one step.

    In nearest mode the first of two roundings adds half a step per unit of weight.
    """
    scale = 1 / unit_for(coarse_room(n_rows, weight, nearest), total)
    assert total * scale + n_rows + (weight / 2 if nearest else 0) <= COARSE_LIMIT
    assert fine_scale(total, n_rows) * total + n_rows <= FINE_LIMIT
    assert fine_scale(total, n_rows) == 1 / unit_for(fine_room(n_rows), total)


def test_nothing_to_scale():
    assert unit_for(coarse_room(10, 10.0, True), 0.0) == 1.0
