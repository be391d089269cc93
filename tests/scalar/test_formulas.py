import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboost.kernels.cpu._jit import kernel
from gpuboost.scalar import formulas


@kernel
def compiled(x, out):
    for i in range(x.shape[0]):
        out[0, i] = formulas.exp(x[i])
        out[1, i] = formulas.log(abs(x[i]))
        out[2, i] = formulas.sigmoid(x[i])
        out[3, i] = formulas.softplus(x[i])


@given(st.floats(-700, 700))
def test_exp(x):
    assert formulas.exp(x) == pytest.approx(np.exp(x), rel=4e-16)


@given(st.floats(1e-300, 1e300))
def test_log(x):
    assert formulas.log(x) == pytest.approx(np.log(x), rel=5e-16, abs=3e-16)


@given(st.floats(-1e4, 1e4))
def test_sigmoid_and_softplus_stay_finite(x):
    assert formulas.sigmoid(x) == pytest.approx(
        1 / (1 + np.exp(np.float64(min(max(-x, -700), 700)))), rel=1e-15, abs=1e-300
    )
    assert formulas.softplus(x) == pytest.approx(np.logaddexp(0, x), rel=1e-14, abs=3e-16)


def test_compiled_and_plain_python_give_the_same_bits(rng):
    x = rng.normal(size=2000) * 30
    out = np.empty((4, x.size))
    compiled(x, out)
    plain = np.array(
        [
            [formulas.exp(v), formulas.log(abs(v)), formulas.sigmoid(v), formulas.softplus(v)]
            for v in x.tolist()
        ]
    ).T
    np.testing.assert_array_equal(out, plain)


@given(
    st.floats(-100, 100),
    st.floats(0.1, 100),
    st.floats(0, 10),
    st.floats(0, 10),
    st.sampled_from([0.0, 0.5, 3.0]),
)
def test_leaf_weight_minimises_the_penalised_loss(g, h, reg_lambda, reg_alpha, step):
    w = formulas.leaf_weight(g, h, reg_lambda, reg_alpha, step)

    def loss(v):
        return g * v + 0.5 * (h + reg_lambda) * v * v + reg_alpha * abs(v)

    for other in np.linspace(-step, step, 41) if step else w + np.linspace(-1, 1, 41):
        assert loss(w) <= loss(other) + 1e-9
    assert formulas.leaf_score(g, h, reg_lambda, reg_alpha, step) == pytest.approx(
        -2 * loss(w), abs=1e-9
    )


def test_a_node_may_be_split():
    """One node and an array of nodes get the same answer."""
    n_rows, depth = np.array([9, 10, 10, 10, 7]), np.array([0, 0, 2, 3, 0])
    expected = [False, True, True, False, False]
    assert formulas.may_be_split(n_rows, depth, 3, 10, 4).tolist() == expected
    ones = [formulas.may_be_split(n, d, 3, 10, 4) for n, d in zip(n_rows, depth, strict=True)]
    assert ones == expected
    assert formulas.may_be_split(8, 0, 3, 2, 4) and not formulas.may_be_split(7, 0, 3, 2, 4)


def test_times_of_arrival_are_exponential_with_their_weight_as_rate():
    words = (np.arange(2**12, dtype=np.uint64) << np.uint64(20)) + np.uint64(2**19)
    for weight in (0.5, 1.0, 8.0):
        times = np.array([formulas.arrival(int(word), weight) for word in words])
        assert times.mean() == pytest.approx(1 / weight, rel=0.01)
        np.testing.assert_allclose((times > 1 / weight).mean(), np.exp(-1), atol=1e-3)
    extremes = [formulas.arrival(word, 1.0) for word in (0, 2**32 - 1)]
    assert 0 < extremes[1] < extremes[0] < np.inf
    assert formulas.arrival(5, np.inf) == 0.0
