"""Tables for the commands."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def frame():
    """Numbers with holes, a text column, and targets for every task."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3)).round(3)
    colour = rng.choice(["red", "green", "blue"], 600)
    score = x[:, 0] - x[:, 1] + (colour == "red") + rng.normal(scale=0.3, size=600)
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "colour": colour})
    frame.loc[::9, "c"] = np.nan
    frame["price"] = score.round(4)
    frame["good"] = np.where(score > 0, "yes", "no")
    frame["grade"] = np.digitize(score, [-1, 1])
    return frame


@pytest.fixture
def csv(frame, tmp_path, monkeypatch):
    """The working folder, with the table as table.csv."""
    monkeypatch.chdir(tmp_path)
    frame.to_csv("table.csv", index=False)
    return tmp_path
