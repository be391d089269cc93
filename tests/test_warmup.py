"""Trainings that compile the kernels ahead."""

import pytest

from gpuboost.warmup import STEPS


@pytest.mark.parametrize("step", STEPS)
def test_every_step_trains(step):
    assert STEPS[step]() is None


def test_there_is_a_step_for_every_family():
    assert {"regression", "two classes", "several classes", "trees", "forests", "AdaBoost"} <= set(
        STEPS
    )
