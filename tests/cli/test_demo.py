"""``gpuboost demo``: from nothing to a model, figures beside those of others, and a page."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

import gpuboost as gb
from gpuboost.cli import demo, main


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """One fit of each library."""
    monkeypatch.setattr(demo, "REPEAT", 1)


def test_model_page_and_figures(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "new"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    model = gb.load_model(record["model"])
    assert (
        model.fingerprint() == record["fingerprint"] and model.feature_names_in_[0] == "mean radius"
    )
    page = (tmp_path / "new" / "gpuboost-breast-cancer.html").read_text()
    assert (
        record["fingerprint"] in page
        and "mean radius" in page
        and "gpuboost-breast-cancer.gb" in page
    )
    found = {row["library"]: row for row in record["libraries"]}
    assert {"gpuboost", "sklearn", "xgboost", "lightgbm"} <= set(found)
    assert all(
        row["loss"] < 0.12 and row["accuracy"] > 0.95 and row["seconds"] > 0
        for row in found.values()
    )


@pytest.mark.parametrize(("data", "metric"), [("wine", "accuracy"), ("diabetes", "R2")])
def test_figures_for_people(tmp_path, capsys, monkeypatch, data, metric):
    monkeypatch.setattr(demo, "_report", lambda *_: None)
    assert main(["demo", "--data", data, "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert metric in out.splitlines()[1] and out.splitlines()[2].startswith("gpuboost ")
    assert (
        "the same model, bit for bit" in out
        and str(tmp_path / f"gpuboost-{data}.gb") in out
        and "report " not in out
    )


def test_the_data_as_a_table(tmp_path, capsys, monkeypatch):
    """What ``train`` reads is what the demo has trained on."""
    monkeypatch.setattr(demo, "_report", lambda *_: None)
    path = tmp_path / "wine.csv"
    assert main(["demo", "--data", "wine", "--out", str(tmp_path), "--csv", str(path)]) == 0
    frame, source = pd.read_csv(path), load_wine(as_frame=True)
    np.testing.assert_array_equal(frame.drop(columns="target"), source.data)
    assert (frame["target"] == source.target_names[source.target]).all()


def test_without_the_packages_of_the_page(tmp_path, capsys, monkeypatch):
    """The rest works, and a line says what to install."""

    def report(*_args, **_options):
        raise ImportError('report pages need jinja2: pip install ".[cli]"')

    monkeypatch.setattr(gb.GPUBoostClassifier, "report", report)
    assert main(["demo", "--data", "wine", "--out", str(tmp_path)]) == 0
    assert (
        'no report page: report pages need jinja2: pip install ".[cli]"' in capsys.readouterr().err
    )
    assert (tmp_path / "gpuboost-wine.gb").exists() and not list(tmp_path.glob("*.html"))


def test_no_time_left_for_further_fits(tmp_path, capsys, monkeypatch):
    """Every library is fitted once, however long it takes."""
    monkeypatch.setattr(demo, "REPEAT", 3)
    monkeypatch.setattr(demo, "COMPARE_SECONDS", 0.0)
    monkeypatch.setattr(demo, "_report", lambda *_: None)
    assert main(["demo", "--data", "wine", "--out", str(tmp_path), "--json"]) == 0
    libraries = [row["library"] for row in json.loads(capsys.readouterr().out)["libraries"]]
    assert len(libraries) == len(set(libraries)) >= 4


def test_unknown_data(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["demo", "--data", "iris"])
    assert (
        stop.value.code == 2
        and "'breast-cancer', 'digits', 'wine', 'diabetes'" in capsys.readouterr().err
    )


@pytest.mark.parametrize("seconds", [0.0, 2.0])
def test_compilation_is_told_if_there_was_one(monkeypatch, capsys, seconds):
    class Peer:
        def fit(self, x, y):
            demo.compilation.took(seconds)

        def predict(self, x):
            pass

    monkeypatch.setattr(demo, "make", lambda *_: Peer())
    monkeypatch.setattr(demo, "compilation", type(demo.compilation)())
    assert demo._compile(demo.DemoSet("wine", "multiclass")) == seconds
    assert ("compiled: 2.0 s" in capsys.readouterr().err) == (seconds > 0)
