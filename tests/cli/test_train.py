"""``gpuboost train``: models from files equal those from memory.

And mistakes cost a sentence and no time.
"""

import gzip
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command_process import interrupt, start
from sklearn import metrics
from sklearn.datasets import dump_svmlight_file

import gpuboost as gb
from gpuboost.cli import main
from gpuboost.cli.measure import fold_numbers

ROOT = Path(__file__).parents[2]
FEW = ["n_estimators=8", "max_depth=3"]


def train(*arguments):
    return main(["train", "table.csv", *arguments])


def result(capsys):
    return json.loads(capsys.readouterr().out)


# --- the model


@pytest.mark.parametrize(
    "ending", ["csv", "tsv", "csv.gz", "csv.zst", "parquet", "feather", "npz", "svm"]
)
def test_every_format_gives_the_model_of_the_same_data_in_memory(ending, frame, tmp_path, capsys):
    x, y = frame[["a", "b"]].to_numpy(), frame.price.to_numpy()
    numbers = frame[["a", "b", "price"]]
    path = tmp_path / f"t.{ending}"
    text = numbers.to_csv(index=False).encode()
    {
        "csv": lambda: path.write_bytes(text),
        "tsv": lambda: numbers.to_csv(path, index=False, sep="\t"),
        "csv.gz": lambda: path.write_bytes(gzip.compress(text)),
        "csv.zst": lambda: path.write_bytes(pa.compress(text, "zstd", asbytes=True)),
        "parquet": lambda: numbers.to_parquet(path),
        "feather": lambda: numbers.to_feather(path),
        "npz": lambda: np.savez(path, X=x, price=y),
        "svm": lambda: dump_svmlight_file(x, y, str(path), zero_based=False),
    }[ending]()
    target = [] if ending == "svm" else ["--target", "price"]
    out = str(tmp_path / "m.gb")
    assert (
        main(
            [
                "train",
                str(path),
                *target,
                *FEW,
                "--valid-fraction",
                "0",
                "--out",
                out,
                "--quiet",
                "--json",
            ]
        )
        == 0
    )
    model = gb.GPUBoostRegressor(n_estimators=8, max_depth=3).fit(x, y)
    assert result(capsys)["fingerprint"] == model.fingerprint() == gb.load_model(out).fingerprint()


def test_texts_are_categories_as_in_a_frame(csv, frame):
    assert train("--target", "good", "--drop", "price,grade", *FEW, "--valid-fraction", "0") == 0
    loaded = gb.load_model("model.gb")
    texts = frame[["a", "b", "c", "colour"]]
    model = gb.GPUBoostClassifier(n_estimators=8, max_depth=3).fit(texts, frame.good)
    assert loaded.classes_.tolist() == ["no", "yes"]
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "colour"]
    assert loaded.ensemble_.features.categories[3].tolist() == ["blue", "green", "red"]
    assert loaded.ensemble_.features.features[3].kind == "categorical"
    assert loaded.table_.task == "binary"
    assert loaded.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))


@pytest.mark.parametrize("name", ["forest", "extra-trees", "tree", "adaboost"])
def test_other_models_split_texts_into_sets(name, csv, frame, capsys):
    few = [] if name == "tree" else ["n_estimators=3"]
    assert (
        train(
            "--model",
            name,
            "--target",
            "grade",
            "--drop",
            "price,good",
            "max_depth=3",
            *few,
            "--valid-fraction",
            "0",
            "--json",
        )
        == 0
    )
    loaded = gb.load_model("model.gb")
    x = frame[["a", "b", "c", "colour"]]
    kind = type(loaded)
    model = kind(
        max_depth=3,
        categorical_features=["colour"],
        **({} if name == "tree" else {"n_estimators": 3}),
    ).fit(x, frame.grade)
    np.testing.assert_array_equal(loaded.predict(x), model.predict(x))
    assert result(capsys)["classes"] == [0, 1, 2]


def test_numbers_can_be_categories_too(csv, frame):
    chosen = 'categorical_features=["grade"]'
    assert (
        train(
            "--model",
            "tree",
            "--target",
            "price",
            "--drop",
            "good,colour",
            chosen,
            "max_depth=3",
            "--valid-fraction",
            "0",
        )
        == 0
    )
    x = frame[["a", "b", "c", "grade"]]
    model = gb.DecisionTreeRegressor(max_depth=3, categorical_features=["grade"]).fit(
        x, frame.price
    )
    assert gb.load_model("model.gb").fingerprint() == model.fingerprint()


def test_the_report_is_about_the_rows_that_were_held_out(csv, monkeypatch):
    asked = {}

    def report(model, path, x, y, sample_weight, **more):
        asked.update(more, path=path, shape=x.shape, labels=set(y), sample_weight=sample_weight)

    monkeypatch.setattr("gpuboost.cli.train.write_report", report)
    assert train("--target", "good", "--drop", "price,grade", *FEW, "--report", "page.html") == 0
    assert (
        asked["path"] == "page.html"
        and asked["shape"][0] < 100
        and asked["labels"] == {"no", "yes"}
    )
    assert asked["title"] == "good from table.csv" and asked["model_path"] == "model.gb"
    assert set(asked["timings"]) == {"read", "fit"} and len(asked["train"][0]) > 500


def test_the_report_is_a_page(csv):
    """With names and classes of the table, and without a warning about either."""
    assert train("--target", "good", "--drop", "price,grade", *FEW, "--report", "page.html") == 0
    page = Path("page.html").read_text()
    assert (
        gb.load_model("model.gb").fingerprint() in page
        and "colour" in page
        and ">yes<" in page
        and "good from table.csv" in page
    )


def test_a_tenth_of_the_rows_is_held_out(csv, capsys):
    assert train("--target", "price", *FEW, "--json") == 0
    out, said = capsys.readouterr()
    record = json.loads(out)
    assert record["rows"] + record["valid_rows"] == 600 and 40 < record["valid_rows"] < 80
    assert set(record["metrics"]["valid"]) == {"rmse", "mae", "r2"}
    assert f"held out: {record['valid_rows']} rows" in said
    assert "task: regression: its values are numbers (--task changes it)" in said
    assert record["fingerprint"][:16] in said


def test_few_rows_are_all_trained_on(csv, frame, capsys):
    frame[:150].to_csv("table.csv", index=False)
    assert train("--target", "price", *FEW, "--json") == 0
    out, said = capsys.readouterr()
    assert json.loads(out)["rows"] == 150
    assert "fewer than 200 rows: none is held out" in said


def test_a_table_to_watch_and_early_stopping(csv, frame, capsys):
    frame[400:].to_csv("valid.csv", index=False)
    frame[:400].to_csv("table.csv", index=False)
    arguments = [
        "--target",
        "good",
        "--drop",
        "price,grade",
        "--valid",
        "valid.csv",
        "early_stopping_rounds=3",
        "learning_rate=0.5",
    ]
    assert train(*arguments, "--json") == 0
    record = result(capsys)
    x = frame[["a", "b", "c", "colour"]].assign(
        colour=frame.colour.map({"blue": 0, "green": 1, "red": 2})
    )
    model = gb.GPUBoostClassifier(early_stopping_rounds=3, learning_rate=0.5)
    model.fit(x[:400], frame.good[:400], eval_set=(x[400:], frame.good[400:]))
    rows = frame[["a", "b", "c", "colour"]]
    loaded = gb.load_model("model.gb")
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(x))
    assert record["best_round"] == model.best_iteration_ + 1
    assert record["metrics"]["valid"]["logloss"] == pytest.approx(model.best_score_, rel=1e-12)


def test_metrics_and_weights(csv, frame, capsys):
    frame.assign(w=np.arange(600) % 3).to_csv("table.csv", index=False)
    assert (
        train(
            "--target",
            "grade",
            "--drop",
            "price,good,colour",
            "--weight",
            "w",
            *FEW,
            "--valid-fraction",
            "0",
            "--json",
        )
        == 0
    )
    x = frame[["a", "b", "c"]]
    model = gb.GPUBoostClassifier(n_estimators=8, max_depth=3).fit(
        x, frame.grade, np.arange(600) % 3
    )
    record = result(capsys)
    assert record["fingerprint"] == model.fingerprint()
    assert record["metrics"]["train"]["merror"] == pytest.approx(
        1 - model.score(x, frame.grade, np.arange(600) % 3)
    )


def test_parameters_from_a_file_and_from_the_line(csv, capsys):
    Path("p.toml").write_text(
        'n_estimators = 5\nmax_depth = 2\nmax_leaves = "none"\n[class_weight]\nno = 2.0\nyes = 1\n'
    )
    assert (
        train(
            "--target",
            "good",
            "--params",
            "p.toml",
            "max_depth=3",
            "subsample=0.5",
            "random_state=7",
        )
        == 0
    )
    model = gb.load_model("model.gb")
    assert (model.n_estimators, model.max_depth, model.max_leaves, model.subsample) == (
        5,
        3,
        None,
        0.5,
    )
    assert model.class_weight == {"no": 2.0, "yes": 1}
    assert model.verbose == 0


def test_true_and_false_are_classes(csv, frame):
    frame.assign(price=frame.price > 0).to_csv("table.csv", index=False)
    assert train("--target", "price", *FEW) == 0
    assert gb.load_model("model.gb").classes_.tolist() == [False, True]


def test_the_task_can_be_changed(csv, capsys):
    assert train("--target", "grade", "--task", "regression", *FEW, "--json") == 0
    assert result(capsys)["model"] == "GPUBoostRegressor"


def test_quiet(csv, capsys):
    assert train("--target", "price", *FEW, "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_standard_input(csv):
    command = [
        sys.executable,
        "-m",
        "gpuboost",
        "train",
        "-",
        "--target",
        "price",
        *FEW,
        "--json",
        "--quiet",
        "--out",
        str(csv / "m.gb"),
    ]
    with open("table.csv", "rb") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, cwd=ROOT, check=True)
    assert json.loads(done.stdout)["fingerprint"] == gb.load_model("m.gb").fingerprint()


# --- mistakes


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, r"--target is missing: .* a, b, c, colour, price, good, grade"),
        (
            ["--target", "prize"],
            2,
            r"table.csv: there is no target column 'prize' \(did you mean 'price'\?\); the "
            r"columns are a, b, c, ",
        ),
        (["--target", "price", "--drop", "x"], 2, "there is no column 'x'"),
        (
            ["--target", "price", "max_deph=3"],
            2,
            r"no parameter 'max_deph' \(did you mean 'max_depth'\?\); it has ",
        ),
        (["--target", "price", "max_depth=-3"], 2, "max_depth must be .* -3"),
        (["--target", "price", "learning_rate=fast"], 2, "learning_rate must be .*'fast'"),
        (["--target", "price", "objective=hinge"], 2, "objective must be .*'hinge'"),
        (["--target", "price", "eval_metric=loss"], 2, "eval_metric must be .*'loss'"),
        (["--target", "price", "device=cuda:77"], 1, "cuda:77"),
        (["--target", "price", "max_depth"], 2, "'max_depth' is no parameter: write name=value"),
        (["--target", "price", "--params", "no.toml"], 2, "no.toml: No such file"),
        (["--target", "price", "--out", "no/m.gb"], 2, "no/m.gb: there is no folder"),
        (["--target", "price", "--out", "."], 2, "is a folder"),
        (["--target", "price", "--out", "table.csv"], 2, "would be written over what is read"),
        (
            ["--target", "price", "--valid-fraction", "2"],
            2,
            "--valid-fraction must be at least 0 and less than 1; got 2",
        ),
        (
            ["--target", "price", "--valid-fraction", "0", "early_stopping_rounds=2"],
            2,
            "early_stopping_rounds needs rows to watch",
        ),
        (
            ["--target", "colour", "--task", "regression"],
            2,
            "the target 'colour' holds text, such as 'blue'",
        ),
        (["--target", "good", "objective=squared_error"], 2, "objective must be"),
        (
            ["--target", "price", "--weight", "colour"],
            2,
            "the column of weights, 'colour', must hold numbers",
        ),
    ],
)
def test_mistakes_get_a_sentence(csv, capsys, arguments, code, message):
    assert train(*arguments) == code
    said = capsys.readouterr().err
    assert re.search(message, said), said
    assert (
        len([line for line in said.splitlines() if "error:" in line]) == 1
        and "Traceback" not in said
    )
    assert os.listdir() == ["table.csv"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,y\n1,2\n3\n", "table.csv, line 3: expected 2 fields, found 1"),
        ("", "table.csv: the file is empty"),
        ("a;y\n1;2\n", "does --delimiter ';' help?"),
    ],
)
def test_bad_tables_get_a_sentence(csv, capsys, text, message):
    Path("table.csv").write_text(text)
    assert train("--target", "y") == 2
    assert message in capsys.readouterr().err


def test_parameters_are_checked_before_the_table_is_opened(csv, capsys):
    assert main(["train", "nowhere.csv", "--target", "y", "max_bins=1"]) == 2
    assert "max_bins" in capsys.readouterr().err
    assert main(["train", "nowhere.csv", "--target", "y"]) == 2
    assert "nowhere.csv: No such file or directory" in capsys.readouterr().err


def test_an_unreadable_file(csv, capsys, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied", "table.csv")

    monkeypatch.setattr("builtins.open", refuse)  # whoever runs the tests may read everything
    assert train("--target", "y") == 1
    assert "table.csv: Permission denied" in capsys.readouterr().err


def test_unknown_options_are_not_taken_for_parameters(csv, capsys):
    with pytest.raises(SystemExit, match="2"):
        train("--target", "price", "--depth", "3")
    assert "unrecognized arguments: --depth" in capsys.readouterr().err


# --- interruptions


def begin(csv, *more, **options):
    return start(
        "train",
        csv / "table.csv",
        "--target",
        "price",
        "--out",
        csv / "model.gb",
        *more,
        text=True,
        **options,
    )


def wait_for(process, word):
    for line in process.stderr:
        if word in line:
            return
    raise AssertionError(f"{word} was never said")


def test_ctrl_c_during_training_leaves_nothing(csv):
    process = begin(csv, "n_estimators=1000000", "verbose=1000")
    wait_for(process, "training: ")
    said = interrupt(process)
    assert process.returncode == 130
    assert "interrupted" in said and "Traceback" not in said
    assert os.listdir(csv) == ["table.csv"]


def test_ctrl_c_during_reading_leaves_nothing(csv):
    options = {"stdin": subprocess.PIPE, "env": {**os.environ, "TMPDIR": str(csv)}}
    process = start("train", "-", "--target", "price", "--out", csv / "model.gb", **options)
    process.stdin.write(b"a,price\n")
    process.stdin.flush()
    while not any(
        name.startswith("gpuboost-") for name in os.listdir(csv)
    ):  # the copy of standard input
        assert process.poll() is None
        time.sleep(0.01)
    said = interrupt(process)
    assert process.returncode == 130 and b"Traceback" not in said
    assert os.listdir(csv) == ["table.csv"]


def test_a_full_disk_leaves_the_old_model(csv):
    Path("model.gb").write_bytes(b"the old one")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    process = begin(
        csv, "n_estimators=50", before=limit, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    )
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1
    assert re.search("error: .*model.gb: File too large", said) and "Traceback" not in said
    assert Path("model.gb").read_bytes() == b"the old one"
    assert sorted(os.listdir(csv)) == ["model.gb", "table.csv"]


@pytest.mark.parametrize("name", ["nothing.xyz", "nothing.csv", "table.csv/x.csv"])
def test_a_file_that_is_not_there_is_said_to_be_just_that(csv, capsys, name):
    assert main(["train", name, "--target", "y"]) == 2
    assert re.search(f"error: {name}: (No such file|Not a dir)", capsys.readouterr().err)


def test_a_folder_is_wrong_input(csv, capsys):
    for name in ("folder", "folder.csv"):
        os.mkdir(name)
        assert main(["train", name, "--target", "y"]) == 2
        assert f"error: {name}: is a folder; name a file" in capsys.readouterr().err


# --- what columns were read as


def test_formatted_values_are_predicted_as_they_were_trained(csv, frame, capsys):
    """$1,234.50 and 31/12/2024 in training and in later tables are the numbers that they say."""
    day = np.datetime64("2024-01-01") + np.arange(600) % 366
    plain = frame[["a", "price"]].assign(day=day, cost=1000 * frame.b)
    text = plain.assign(
        day=pd.Series(day).dt.strftime("%d/%m/%Y"),
        cost=[f"${1000 * b:,.0f}" for b in frame.b],
        price=[f"{100 * p:.2f}%" for p in frame.price],
    )
    text.to_csv("table.csv", index=False)
    assert train("--target", "price", *FEW, "--json") == 0
    said = capsys.readouterr()
    assert "columns: 2 numbers, 1 date, in seconds since 1970 (day)" in said.err
    assert re.search(r"note: column 'price' is read as numbers: '[-0-9.]+%' is ", said.err)
    record = json.loads(said.out)
    assert record["task"] == "regression"
    assert record["kinds"] == {"a": "number", "day": "date", "cost": "number", "price": "number"}
    assert record["formats"] == {"day": "day/month/year", "cost": ".$", "price": ".%"}
    assert main(["predict", "model.gb", "table.csv", "--out", "p.csv", "--quiet"]) == 0
    model = gb.load_model("model.gb")
    seconds = day.astype("datetime64[s]").astype(np.int64)
    x = np.column_stack([frame.a, seconds, 1000 * frame.b])
    predicted = pd.read_csv("p.csv").prediction
    np.testing.assert_allclose(predicted, model.predict(x))
    as_read = pd.read_csv("table.csv").drop(columns="price")  # with texts of days and costs
    np.testing.assert_allclose(predicted, model.predict(as_read))
    assert main(["inspect", "model.gb"]) == 0
    assert "day day/month/year, cost 1,234.5 $" in capsys.readouterr().out
    text[:3].assign(cost=["$5", "free", ""]).to_csv("new.csv", index=False)
    assert main(["predict", "model.gb", "new.csv"]) == 2
    said = capsys.readouterr().err
    assert "'cost' must hold numbers as in training, written 1,234.5 $; row 2 has 'free'" in said


def test_a_target_with_too_many_texts_is_not_trained_on(csv, frame, capsys):
    frame.assign(price=[f"{p}!" for p in frame.price]).to_csv("table.csv", index=False)
    assert train("--target", "price", *FEW) == 2
    said = capsys.readouterr().err
    assert "say --task multiclass" in said and "training" not in said


def test_columns_can_be_kept_as_text(csv, frame):
    assert train("--target", "price", "--text", "grade", *FEW, "--quiet") == 0
    model = gb.load_model("model.gb")
    assert model.ensemble_.features.categories[5].tolist() == ["0", "1", "2"]
    assert main(["predict", "model.gb", "table.csv", "--out", "p.csv"]) == 0
    assert len(set(pd.read_csv("p.csv").prediction)) > 2


# --- leakage


def test_a_column_that_gives_the_target_away_is_warned_of(csv, frame, capsys):
    frame.assign(**{"sold for": 2 * frame.price + 1}).to_csv("table.csv", index=False)
    assert train("--target", "price", *FEW, "--json") == 0
    said = capsys.readouterr()
    assert "warning: column 'sold for' alone nearly tells 'price': it leaves " in said.err
    assert "--drop 'sold for'" in said.err and "so do" not in said.err
    assert list(json.loads(said.out)["leakage"]) == ["sold for"]
    assert train("--target", "price", "--drop", "sold for,grade,good", *FEW, "--json") == 0
    said = capsys.readouterr()
    assert "leakage" not in said.err and json.loads(said.out)["leakage"] == {}


# --- cross-validation


@pytest.mark.parametrize("target", ["price", "good", "grade"])
def test_cross_validation_is_what_folds_by_hand_give(csv, frame, capsys, target):
    drop = ",".join({"price", "good", "grade"} - {target})
    assert train("--target", target, "--drop", f"colour,{drop}", "--cv", "4", *FEW, "--json") == 0
    said = capsys.readouterr()
    record = json.loads(said.out)
    x, y = frame[["a", "b", "c"]].to_numpy(), frame[target].to_numpy()
    classes = target != "price"
    codes = np.unique(y, return_inverse=True)[1] if classes else y
    folds = fold_numbers(codes, 4, seed=0, classes=classes)
    kind = gb.GPUBoostClassifier if classes else gb.GPUBoostRegressor
    expected = []
    for fold in range(4):
        model = kind(n_estimators=8, max_depth=3).fit(x[folds != fold], y[folds != fold])
        held, truth = x[folds == fold], y[folds == fold]
        if classes:
            expected.append(metrics.log_loss(truth, model.predict_proba(held)))
        else:
            expected.append(metrics.root_mean_squared_error(truth, model.predict(held)))
    name = {"price": "rmse", "good": "logloss", "grade": "mlogloss"}[target]
    got = record["cv"]["metrics"][name]
    np.testing.assert_allclose(got["folds"], expected)
    np.testing.assert_allclose(
        [got["mean"], got["std"]], [np.mean(expected), np.std(expected, ddof=1)]
    )
    assert f"  {name} {np.mean(expected):.6g} ± " in said.err
    assert record["rows"] == 600 and record["valid_rows"] == 0
    assert record["fingerprint"] == kind(n_estimators=8, max_depth=3).fit(x, y).fingerprint()


def test_cross_validation_with_weights_texts_and_early_stopping(csv, frame, capsys):
    """Models of the folds stop by the table of ``--valid``."""
    frame.assign(w=np.arange(600) % 3).to_csv("table.csv", index=False)
    few = ["n_estimators=30", "max_depth=2", "early_stopping_rounds=3", "--weight", "w", "--json"]
    assert train("--target", "good", "--drop", "price,grade", "--cv", "2", *few) == 2
    assert "early_stopping_rounds needs rows to watch" in capsys.readouterr().err
    valid = ["--valid", "table.csv"]
    assert train("--target", "good", "--drop", "price,grade", "--cv", "2", *few, *valid) == 0
    assert set(json.loads(capsys.readouterr().out)["cv"]["metrics"]) == {"logloss", "error", "auc"}


def test_libsvm_files_stay_sparse(tmp_path, monkeypatch, capsys):
    """Without the memory of a dense matrix, and with the model and the predictions of Python."""
    from scipy.sparse import random_array
    from sklearn.datasets import dump_svmlight_file

    from gpuboost.tables import arrays

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(arrays, "MAX_DENSE_BYTES", 1 << 20)
    rng = np.random.default_rng(0)
    x = random_array((300, 3000), density=0.01, rng=rng, format="csr")
    x.data[:] = np.round(x.data, 2) + 1
    signal = np.asarray(x[:, :1500].sum(axis=1)) - np.asarray(x[:, 1500:].sum(axis=1))
    y = (signal > 0).astype(int)
    for name, rows in (("a.svm", slice(0, 250)), ("b.svm", slice(250, 300))):
        dump_svmlight_file(x[rows], y[rows], name, zero_based=False)
    options = ["n_estimators=4", "max_depth=3", "min_child_weight=0", "early_stopping_rounds=3"]
    for missing in (False, True):
        model = gb.GPUBoostClassifier(
            n_estimators=4, max_depth=3, min_child_weight=0, early_stopping_rounds=3,
            sparse_missing=missing,
        ).fit(x[:250], y[:250], eval_set=(x[250:], y[250:]))  # fmt: skip
        command = [
            "train",
            "a.svm",
            "--valid",
            "b.svm",
            *options,
            f"sparse_missing={str(missing).lower()}",
        ]
        extra = ["--cv", "2", "--report", "page.html"] if missing else []
        assert main([*command, *extra, "--out", "m.gb"]) == 0, capsys.readouterr().err
        assert gb.load_model("m.gb").fingerprint() == model.fingerprint()
        assert main(["predict", "m.gb", "b.svm", "--id", "y", "--proba", "--out", "p.csv"]) == 0
        table = pd.read_csv("p.csv")
        assert table.prediction.tolist() == model.predict(x[250:]).tolist()
        assert table.y.tolist() == y[250:].tolist()
    assert main(["train", "a.svm", "--model", "forest"]) == 2
    assert "would take 0 GB with all zeros written out" in capsys.readouterr().err
