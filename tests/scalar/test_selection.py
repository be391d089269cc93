import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuboost.scalar.selection import is_edge, is_reached, key_of, value_of, whole_weight

NUMBERS = st.floats(allow_nan=False)


@settings(derandomize=True, deadline=None, database=None)
@given(a=NUMBERS, b=NUMBERS)
def test_keys_are_in_the_order_of_numbers(a, b):
    assert (key_of(a) < key_of(b)) == (a < b)
    assert (key_of(a) == key_of(b)) == (a == b)
    assert value_of(key_of(a)) == a


def test_weights_are_at_least_one_unit():
    assert [whole_weight(w, 0.5) for w in (1e-9, 0.5, 1.2, 3.0)] == [1, 1, 2, 6]


def test_shares_that_are_just_missed_count_as_reached():
    assert is_reached(3, 30, 0.1) and not is_reached(2, 30, 0.1)  # 0.1 * 30 is above 3
    assert is_edge(3, 30, 0.1) and not is_edge(4, 30, 0.1) and not is_edge(30, 30, 0.99999)
    assert not is_reached(np.int64(0), 30, 1e-300)
