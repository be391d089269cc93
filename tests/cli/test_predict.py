"""``gpuboost predict``: what it writes is what the model says in memory, bit for bit."""

import gzip
import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from command_process import interrupt, start

import gpuboost as gb
from gpuboost.cli import main
from gpuboost.cli import predict as command
from gpuboost.tables import delimited

ROOT = Path(__file__).parents[2]
FEATURES = ["a", "b", "c", "colour"]


@pytest.fixture
def trained(csv):
    """A classifier of a text target in model.gb."""
    assert (
        main(
            [
                "train",
                "table.csv",
                "--target",
                "good",
                "--drop",
                "price,grade",
                "n_estimators=8",
                "--quiet",
            ]
        )
        == 0
    )
    return gb.load_model("model.gb")


def coded(frame):
    return frame[FEATURES].assign(colour=frame.colour.map({"blue": 0, "green": 1, "red": 2}))


def exact(path, delimiter=","):
    return pa.csv.read_csv(path, parse_options=pa.csv.ParseOptions(delimiter=delimiter)).to_pandas()


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "csv.zst", "parquet", "feather"])
def test_streamed_predictions_are_those_in_memory(trained, frame, ending, monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK", 700)  # many batches, and blocks that end inside of them
    monkeypatch.setattr(command, "BLOCK_BYTES", 1)
    assert (
        main(["predict", "model.gb", "table.csv", "--out", f"p.{ending}", "--proba", "--raw"]) == 0
    )
    readers = {
        "parquet": pd.read_parquet,
        "feather": pd.read_feather,
        "tsv": lambda path: exact(path, "\t"),
    }
    out = readers.get(ending, exact)(f"p.{ending}")
    assert list(out) == ["prediction", "probability_no", "probability_yes", "raw"]
    x = frame[FEATURES]
    assert out.prediction.tolist() == trained.predict(x).tolist()
    np.testing.assert_array_equal(
        out[["probability_no", "probability_yes"]], trained.predict_proba(x)
    )
    np.testing.assert_array_equal(out.raw, trained.decision_function(x))


def test_the_same_in_python(trained, frame):
    """A model knows the columns of its table, and how texts became numbers."""
    other = frame.assign(colour=frame.colour.where(frame.index % 2 == 0, "mauve"))[
        [*FEATURES[::-1], "price"]
    ]
    x = trained.table_.features(other)
    assert list(x.columns) == FEATURES
    missing = frame[FEATURES].assign(colour=frame.colour.where(frame.index % 2 == 0, None))
    assert trained.predict(x).tolist() == trained.predict(missing).tolist()
    numbers = coded(frame).assign(colour=lambda t: t.colour.where(t.index % 2 == 0))
    np.testing.assert_array_equal(trained.check_rows(x), numbers.to_numpy(float))
    with pytest.raises(ValueError, match="frame lacks columns that the model needs: 'colour'"):
        trained.table_.features(frame.drop(columns="colour"))


def test_commands_and_python_take_each_others_models(csv, frame, capsys):
    """Dates, texts and booleans have the same numbers in a file and in a frame."""
    days = pd.to_datetime("2024-01-01T06:00") + pd.to_timedelta(np.arange(600) % 90, "h")
    table = frame[["a", "colour", "price"]].assign(day=days, ok=frame.a > 0)
    table.to_csv("days.csv", index=False)
    arguments = [
        "--target",
        "price",
        "--model",
        "forest",
        "n_estimators=3",
        "max_depth=4",
        "--quiet",
    ]
    assert main(["train", "days.csv", *arguments, "--valid-fraction", "0"]) == 0
    x = table[["a", "colour", "day", "ok"]]
    trained, own = gb.load_model("model.gb"), gb.RandomForestRegressor(n_estimators=3, max_depth=4)
    own.fit(x, table.price)
    assert trained.fingerprint() == own.fingerprint()
    assert [row.kind for row in trained.features_] == [row.kind for row in own.features_]
    for known in (x, pl.from_pandas(x)):
        np.testing.assert_array_equal(trained.predict(known), own.predict(known))
    own.save_model("own.gb")
    for model in ("model.gb", "own.gb"):
        assert main(["predict", model, "days.csv", "--out", "p.csv", "--quiet"]) == 0
        np.testing.assert_array_equal(exact("p.csv").prediction, own.predict(x))


def test_columns_are_found_by_name_and_kept_on_request(trained, frame, capsys):
    table = frame[FEATURES[::-1]].assign(id=[f"{10**17 + i}" for i in range(600)], spare=1)
    table.to_csv("new.csv", index=False)
    assert (
        main(["predict", "model.gb", "new.csv", "--out", "p.csv", "--id", "id,colour", "--json"])
        == 0
    )
    out, said = capsys.readouterr()
    result = pd.read_csv("p.csv", dtype=str)
    assert list(result) == ["id", "colour", "prediction"]
    assert result.id.tolist() == table.id.tolist()
    assert result.colour.tolist() == table.colour.tolist()
    assert result.prediction.tolist() == trained.predict(frame[FEATURES]).tolist()
    assert "ignored columns: id, spare" in said
    assert json.loads(out)["rows"] == 600


def test_texts_that_training_has_not_seen_count_as_missing(trained, frame, capsys):
    frame.assign(colour="mauve").to_csv("new.csv", index=False)
    assert main(["predict", "model.gb", "new.csv", "--out", "p.csv"]) == 0
    said = capsys.readouterr().err
    assert said.count("600 rows have a text that training has not seen, such as 'mauve'") == 1
    assert (
        exact("p.csv").prediction.tolist()
        == trained.predict(frame[FEATURES].assign(colour=None)).tolist()
    )


def test_new_categories_are_an_error_if_the_model_says_so(csv, frame, capsys):
    model = gb.DecisionTreeRegressor(unknown_category="error", categorical_features=["colour", "n"])
    table = frame[["colour"]].assign(n=np.arange(600) % 3)
    model.fit(table, frame.price).save_model("strict.gb")
    for new, example in ((table.assign(colour="mauve"), "'mauve'"), (table.assign(n=7), "7.0")):
        new.to_csv("new.csv", index=False)
        assert main(["predict", "strict.gb", "new.csv", "--out", "p.csv"]) == 2
        assert f"has a category that training has not seen, {example}, which" in (
            capsys.readouterr().err
        )
    table.to_csv("old.csv", index=False)
    assert main(["predict", "strict.gb", "old.csv", "--out", "p.csv", "--quiet"]) == 0


def test_new_categories_have_the_mean_of_all_if_the_model_says_so(csv, frame, capsys):
    table = frame[["colour"]].assign(n=np.arange(600) % 90)
    model = gb.GPUBoostRegressor(
        n_estimators=3, unknown_category="prior", categorical_encoding="target",
        categorical_features=["colour", "n"],
    )  # fmt: skip
    model.fit(table, frame.price).save_model("prior.gb")
    new = table.assign(colour="mauve", n=777)
    new.to_csv("new.csv", index=False)
    assert main(["predict", "prior.gb", "new.csv", "--out", "p.csv"]) == 0
    assert "such as 'mauve'; it has the mean of all rows" in capsys.readouterr().err
    assert exact("p.csv").prediction.tolist() == model.predict(new).tolist()


@pytest.mark.parametrize("ending", ["parquet", "npz"])
def test_typed_tables(trained, frame, ending):
    if ending == "parquet":
        frame.astype({"colour": "category"}).to_parquet("new.parquet")
    else:
        np.savez(
            "new.npz",
            X=frame[["a", "b", "c"]],
            colour=frame.colour.to_numpy(str),
            feature_names=["a", "b", "c"],
        )
    assert main(["predict", "model.gb", f"new.{ending}", "--out", "p.csv"]) == 0
    assert exact("p.csv").prediction.tolist() == trained.predict(frame[FEATURES]).tolist()


def test_models_from_python_without_names(csv, frame, capsys):
    x = frame[["a", "b"]].to_numpy()
    model = gb.GPUBoostRegressor(n_estimators=4).fit(x, frame.price)
    model.save_model("m.gb")
    frame[["a", "b", "price"]].to_csv("new.csv", index=False)
    assert main(["predict", "m.gb", "new.csv"]) == 2
    assert (
        "the model has 2 features without names, the table has 3 columns: a, b, price; leave "
        "out others with --drop" in (capsys.readouterr().err)
    )
    assert main(["predict", "m.gb", "new.csv", "--drop", "price", "--out", "p.csv"]) == 0
    np.testing.assert_array_equal(exact("p.csv").prediction, model.predict(x))


def test_models_from_python_that_know_texts_themselves(csv, frame):
    x = frame[FEATURES]
    model = gb.RandomForestClassifier(n_estimators=4, categorical_features=["colour"]).fit(
        x, frame.grade
    )
    model.save_model("m.gb")
    assert main(["predict", "m.gb", "table.csv", "--out", "p.csv", "--proba"]) == 0
    out = exact("p.csv")
    assert out.prediction.tolist() == model.predict(x).tolist()
    np.testing.assert_array_equal(
        out[[f"probability_{k}" for k in range(3)]], model.predict_proba(x)
    )


def test_several_outputs(csv, frame):
    x, y = frame[["a", "b"]], frame[["good", "grade"]].astype({"good": "category"})
    y = np.column_stack([y.good.cat.codes, y.grade])
    model = gb.RandomForestClassifier(n_estimators=4).fit(x, y)
    model.save_model("m.gb")
    assert main(["predict", "m.gb", "table.csv", "--out", "p.csv", "--proba"]) == 0
    out = exact("p.csv")
    np.testing.assert_array_equal(out[["prediction_0", "prediction_1"]], model.predict(x))
    np.testing.assert_array_equal(
        out[[f"probability_1_{k}" for k in range(3)]], model.predict_proba(x)[1]
    )


def test_standard_input_and_output(trained, frame, csv):
    data = gzip.compress(frame[FEATURES].to_csv(index=False).encode())
    done = subprocess.run(
        [sys.executable, "-m", "gpuboost", "predict", str(csv / "model.gb"), "-"],
        input=data,
        capture_output=True,
        cwd=ROOT,
        check=True,
    )
    assert (
        exact(io.BytesIO(done.stdout)).prediction.tolist()
        == trained.predict(frame[FEATURES]).tolist()
    )
    assert b"600 rows predicted" in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,b,colour\n1,2,red\n",
            "columns that the model needs are missing: c; there are a, b, colour",
        ),
        (
            "a,b,c,colour\n1,2,3,red\n1,x,3,red\n",
            "column 'b' must hold numbers, as it did in training; line 3 has 'x'",
        ),
        ("a,b,c,colour\n1,2,3,red\n1,2,3\n", "new.csv, line 3: expected 4 fields, found 3"),
        ("a,b,c,colour\n", "has a header but no rows"),
    ],
)
def test_bad_tables_leave_the_old_result(trained, capsys, text, message, monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK", 30)
    Path("new.csv").write_text(text)
    Path("p.csv").write_text("the old one")
    assert main(["predict", "model.gb", "new.csv", "--out", "p.csv"]) == 2
    assert message in capsys.readouterr().err
    assert Path("p.csv").read_text() == "the old one"
    assert sorted(os.listdir()) == ["model.gb", "new.csv", "p.csv", "table.csv"]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "feather"])
def test_a_full_disk(trained, capfd, ending):
    os.symlink("/dev/full", f"p.{ending}")
    assert main(["predict", "model.gb", "table.csv", "--out", f"p.{ending}", "--quiet"]) == 1
    assert capfd.readouterr().err == f"gpuboost: error: p.{ending}: No space left on device\n"


@pytest.mark.parametrize("ending", ["csv.gz", "parquet", "feather"])
def test_an_error_halfway_leaves_nothing(trained, capfd, ending, monkeypatch):
    monkeypatch.setattr(command, "BLOCK_BYTES", 1)
    with open("table.csv", "a") as file:
        file.write("1,2\n")
    monkeypatch.setattr(delimited, "CHUNK", 700)
    assert main(["predict", "model.gb", "table.csv", "--out", f"p.{ending}", "--quiet"]) == 2
    assert (
        capfd.readouterr().err
        == "gpuboost: error: table.csv, line 602: expected 7 fields, found 2\n"
    )
    assert sorted(os.listdir()) == ["model.gb", "table.csv"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["none.gb", "table.csv"], 2, "none.gb: No such file"),
        (["table.csv", "table.csv"], 2, "table.csv cannot be loaded"),
        (["model.gb", "none.csv"], 2, "none.csv: No such file"),
        (["model.gb", "table.csv", "--out", "p.npz"], 2, "npz is for reading only"),
        (["model.gb", "table.csv", "--out", "table.csv"], 2, "would be written over"),
        (["model.gb", "table.csv", "--id", "aa"], 2, "there is no column 'aa'"),
        (["model.gb", "table.csv", "--json"], 2, "cannot both go to standard output"),
    ],
)
def test_mistakes_get_a_sentence(trained, capsys, arguments, code, message):
    assert main(["predict", *arguments]) == code
    assert re.search(message, capsys.readouterr().err)


def test_numbers_have_no_probabilities(csv, capsys):
    assert main(["train", "table.csv", "--target", "price", "n_estimators=2", "--quiet"]) == 0
    assert main(["predict", "model.gb", "table.csv", "--proba", "--out", "p.csv"]) == 2
    assert "--proba: a GPUBoostRegressor has no predict_proba" in capsys.readouterr().err


def test_ctrl_c_leaves_no_half_of_a_result(trained, csv):
    """Neither under the name of the result nor beside it, and what was there before stays."""
    Path("p.csv").write_text("the old one")
    process = start("predict", csv / "model.gb", "-", "--out", csv / "p.csv", stdin=subprocess.PIPE)
    process.stdin.write(b"a,b,c,colour\n" + b"1,2,3,red\n" * 500_000)
    process.stdin.flush()
    while not list(csv.glob(".gpuboost-*.tmp")):  # the result so far
        assert process.poll() is None
        time.sleep(0.01)
    said = interrupt(process)
    assert process.returncode == 130 and b"interrupted" in said and b"Traceback" not in said
    assert Path("p.csv").read_text() == "the old one"
    assert sorted(os.listdir(csv)) == ["model.gb", "p.csv", "table.csv"]


def test_formulas_in_the_result(csv, frame, capsys):
    """A note says that there are some; an option makes them harmless."""
    frame.assign(account=np.where(frame.a > 0, "=cmd|' /C calc'!A0", "-7")).to_csv("table.csv")
    few = ["--drop", "account", "n_estimators=1", "--quiet"]
    assert main(["train", "table.csv", "--target", "price", *few]) == 0
    predict = ["predict", "model.gb", "table.csv", "--id", "account", "--out", "p.csv"]
    n = int((frame.a > 0).sum())
    assert main(predict) == 0
    assert f"note: {n} text cells begin with = + - @" in capsys.readouterr().err
    assert pd.read_csv("p.csv").account.str.startswith("=cmd").sum() == n
    assert main([*predict, "--escape-formulas"]) == 0
    assert "spreadsheets" not in capsys.readouterr().err
    account = pd.read_csv("p.csv").account
    assert account.str.startswith("'=cmd").sum() == n and (account == "-7").sum() == 600 - n
