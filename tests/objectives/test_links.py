"""Links from raw scores to predictions."""

import numpy as np
import pytest

from gpuboost.objectives.links import IDENTITY, LOGISTIC, SOFTMAX, Link


def test_links_that_no_device_knows_are_refused():
    with pytest.raises(ValueError, match="link must be one of identity, log, .*softmax"):
        Link("probit")
    for name in ("identity", "softmax"):
        with pytest.raises(ValueError, match="only the logistic link has a scale; got 2.0"):
            Link(name, 2.0)


def test_what_links_make_of_raw_scores(backend, rng):
    one, three = rng.normal(size=(1, 6)), rng.normal(size=(3, 6))
    np.testing.assert_array_equal(backend.apply_link(one, IDENTITY), one[0])
    np.testing.assert_allclose(
        backend.apply_link(one, Link("logistic", 2.0))[:, 1], 1 / (1 + np.exp(-2 * one[0]))
    )
    np.testing.assert_allclose(backend.apply_link(one, LOGISTIC).sum(axis=1), 1.0)
    shares = backend.apply_link(three, SOFTMAX)
    np.testing.assert_allclose(shares, (np.exp(three) / np.exp(three).sum(axis=0)).T)
