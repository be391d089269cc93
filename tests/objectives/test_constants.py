import numpy as np
import pytest

from gpuboost.objectives.constants import LEAST_PRIOR, exact_mean, log_mean_score, weighted_quantile


def test_exact_mean_does_not_depend_on_order(rng, backend):
    y = rng.normal(size=5000) * 10.0 ** rng.integers(-3, 4, 5000)
    weight = rng.random(5000)
    order = rng.permutation(5000)
    assert exact_mean(y, weight, backend) == pytest.approx(
        exact_mean(y[order], weight[order], backend), rel=1e-15
    )
    assert exact_mean(y, np.empty(0), backend) == exact_mean(y[order], np.empty(0), backend)


@pytest.mark.parametrize("level", [0.1, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("n", [1, 2, 7, 10, 400])
def test_quantiles_are_those_of_numpy(rng, backend, n, level):
    y = rng.normal(size=n).round(1)
    found = weighted_quantile(y, np.empty(0), level, backend)
    assert found == np.quantile(y, level, method="averaged_inverted_cdf")


def test_a_row_of_weight_k_is_k_rows_of_a_quantile(rng, backend):
    y, weight = rng.normal(size=300), rng.integers(0, 4, 300)
    for level in (0.3, 0.5):
        found = weighted_quantile(y, 0.375 * weight, level, backend)
        assert found == weighted_quantile(np.repeat(y, weight), np.empty(0), level, backend)


def test_counts_that_are_all_zero_start_low(backend):
    np.testing.assert_allclose(
        log_mean_score(np.zeros(5), np.empty(0), 1, backend), np.log(LEAST_PRIOR)
    )
