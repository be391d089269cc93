"""``gpuboost inspect``."""

import json

import numpy as np
import pandas as pd
import pytest

import gpuboost as gb
from gpuboost.cli import main


@pytest.fixture
def model(csv):
    arguments = [
        "--target",
        "good",
        "--drop",
        "price,grade",
        "n_estimators=6",
        "max_depth=3",
        "early_stopping_rounds=5",
        "--quiet",
    ]
    assert main(["train", "table.csv", *arguments]) == 0
    return gb.load_model("model.gb")


def test_people_see_what_matters(model, capsys):
    assert main(["inspect", "model.gb", "--top", "2"]) == 0
    out = capsys.readouterr().out
    assert "model:       GPUBoostClassifier, " in out
    assert "parameters:  early_stopping_rounds=5, max_depth=3, n_estimators=6" in out
    assert "target:      good (binary)" in out and "classes:     no, yes" in out
    assert "features:    4, text: colour" in out
    assert "best round:  6" in out
    assert model.fingerprint() in out
    bars = out.split("the first 2 of 4 features:\n")[1].splitlines()
    assert len(bars) == 2 and bars[0].endswith("#" * 40)


@pytest.mark.parametrize("kind", ["gain", "split", "cover"])
def test_scripts_see_everything(model, capsys, kind):
    assert main(["inspect", "model.gb", "--json", "--importance", kind]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["parameters"] == model.get_params()
    assert record["changed"] == {"early_stopping_rounds": 5, "max_depth": 3, "n_estimators": 6}
    assert record["feature_names"] == ["a", "b", "c", "colour"] == record["table"]["columns"]
    assert (record["trees"], record["depth"], record["best_round"]) == (6, 3, 6)
    total = model.ensemble_.importance(kind)
    np.testing.assert_allclose(list(record["importance"]["shares"].values()), total / total.sum())


def test_a_tree_as_text(model, capsys):
    assert main(["inspect", "model.gb", "--tree", "2"]) == 0
    assert capsys.readouterr().out == gb.export_text(model, tree=2)
    assert main(["inspect", "model.gb", "--tree", "6"]) == 2
    assert "tree must be" in capsys.readouterr().err


def test_other_models(csv, frame, capsys):
    gb.DecisionTreeRegressor(max_depth=2).fit(frame[["a", "b"]].to_numpy(), frame.price).save_model(
        "t.gb"
    )
    assert main(["inspect", "t.gb"]) == 0
    assert "trees:       1 with 4 leaves, at most 2 splits deep" in capsys.readouterr().out
    assert main(["inspect", "t.gb", "--importance", "cover"]) == 0
    assert "share of the cover of all splits" in capsys.readouterr().out


def test_columns_say_how_they_are_taken(csv, frame, capsys):
    days = frame.assign(day=pd.Timestamp("2024-05-01") + pd.to_timedelta(frame.index, "D"))
    gb.DecisionTreeRegressor(max_depth=2).fit(days[["a", "day", "colour"]], frame.index).save_model(
        "t.gb"
    )
    assert main(["inspect", "t.gb"]) == 0
    out = capsys.readouterr().out
    assert "  day: date; seconds since 1970-01-01T00:00 UTC" in out
    assert "  colour: category (text), 3 levels; sets of categories: blue, green, red" in out
    assert main(["inspect", "t.gb", "--json"]) == 0
    columns = json.loads(capsys.readouterr().out)["columns"]
    assert [column["kind"] for column in columns] == ["number", "date", "category (text)"]
    assert main(["inspect", "t.gb", "--tree", "0"]) == 0
    assert "day <= 2024-" in capsys.readouterr().out


def test_files_that_are_no_models(csv, capsys):
    assert main(["inspect", "table.csv"]) == 2
    assert "table.csv cannot be loaded" in capsys.readouterr().err
