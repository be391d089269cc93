"""Fixtures of these tests."""

import numpy as np
import pytest
from small_forests import grow_forest


@pytest.fixture(scope="module")
def small():
    """Tiny forests with their data: two classes, three classes, numbers, two outputs."""
    rng = np.random.default_rng(1)
    x = np.round(rng.normal(size=(40, 4)), 1)
    x[:, 3] = 0.0  # never asked for
    signal = x[:, 0] + 0.5 * x[:, 1] * x[:, 2] + 0.3 * rng.normal(size=40)
    targets = {
        "two classes": (signal > 0).astype(int),
        "three classes": np.array(["a", "b", "c"])[np.digitize(signal, [-0.5, 0.5])],
        "numbers": signal + 100,
        "two outputs": np.stack([signal, x[:, 1] ** 2], axis=1),
    }
    return {
        name: (grow_forest(x, y, 6, classes="classes" in name, max_depth=4), x, y)
        for name, y in targets.items()
    }
