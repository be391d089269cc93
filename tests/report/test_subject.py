"""What a report is about, and what is wrong with its data."""

import os
import sys

import numpy as np
import pytest

import gpuboost as gb


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (([[0.0]],), {}, "X was given without y: a report needs both, or neither"),
        ((None, [0.0]), {}, "y was given without X"),
        ((None, None, [1.0]), {}, "sample_weight was given without X and y"),
        (([[0.0, 1.0]], [0.0]), {}, "X has 2 features, but DecisionTreeRegressor is expecting 1"),
        (
            ([[0.0]], [0.0, 1.0]),
            {},
            r"y of X must have one entry for each of the 1 rows of X; got shape \(2,\)",
        ),
        (([[0.0]], [np.nan]), {}, "y of X contains NaN or infinity: nan at row 0"),
        (([[0.0]], [0.0], [-1.0]), {}, "sample_weight of X must not be negative"),
        ((), {"train": ([[0.0]],)}, r"train must be \(X, y\) or \(X, y, sample_weight\)"),
        ((), {"timings": {"fit": -1.0}}, "timings must be seconds, at least 0; got -1.0 for 'fit'"),
    ],
)
def test_complaints(data, options, message, tmp_path):
    model = gb.DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=message):
        model.report(tmp_path / "report.html", *data, **options)
    assert not os.listdir(tmp_path)


def test_other_complaints(tmp_path, monkeypatch):
    model = gb.DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(
        ValueError, match="y of X has a class that the training data does not have: 'c'"
    ):
        model.report(tmp_path / "report.html", [[0.0]], ["c"])
    with pytest.raises(TypeError, match="timings must be a mapping of names to seconds; got list"):
        model.report(tmp_path / "report.html", timings=[1.0])
    with pytest.raises(FileNotFoundError, match="path must be in a folder that exists: .*missing"):
        model.report(tmp_path / "missing" / "report.html")
    with pytest.raises(IsADirectoryError, match="path must be a file to write, but it is a folder"):
        model.report(tmp_path)
    with pytest.raises(ValueError, match="not fitted yet"):
        gb.DecisionTreeClassifier().report(tmp_path / "report.html")
    forest = gb.RandomForestClassifier(n_estimators=2).fit([[0.0], [1.0]] * 5, ["a", "b"] * 5)
    with pytest.raises(
        ValueError, match="X must be the training data of the forest, which has 10 rows; got 2"
    ):
        forest.report(tmp_path / "report.html", train=([[0.0], [1.0]], ["a", "b"]))
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match="a report needs jinja2: pip install jinja2"):
        model.report(tmp_path / "report.html")
