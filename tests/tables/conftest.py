"""Fixtures of these tests."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def write(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


@pytest.fixture
def frame(rng):
    x = rng.normal(size=(500, 3)).round(4)
    x[::7, 1] = np.nan
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": rng.integers(0, 2, 500), "c": x[:, 2]})
