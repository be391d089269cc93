"""The sections of a page: the right numbers for every kind of model and data."""

import os
import stat

import numpy as np
import pandas as pd
import pytest
from report_pages import SECTIONS, report
from sklearn import metrics
from sklearn.datasets import load_diabetes, load_digits, load_iris

import gpuboost as gb
from gpuboost.estimators.base import name_columns
from gpuboost.model.table_schema import TableSchema
from gpuboost.report.words import number, percent


def test_two_classes(cancer, tmp_path):
    X, X_new, y, y_new = cancer
    model = gb.GPUBoostClassifier(n_estimators=40, max_depth=3, early_stopping_rounds=5).fit(
        X, y, eval_set=[(X_new, y_new)]
    )
    page = report(
        model,
        tmp_path,
        X_new,
        y_new,
        title="Breast cancer",
        train=(X, y),
        timings={"read": 0.0125, "fit": 75.0},
    )
    p = model.predict_proba(X_new)[:, 1]
    prior = np.full(len(y_new), y.mean())
    for name, value, plain in (
        ("AUC", metrics.roc_auc_score(y_new, p), 0.5),
        ("log loss", metrics.log_loss(y_new, p), metrics.log_loss(y_new, prior)),
        (
            "accuracy",
            metrics.accuracy_score(y_new, p > 0.5),
            metrics.accuracy_score(y_new, prior > 0.5),
        ),
        ("Brier score", metrics.brier_score_loss(y_new, p), metrics.brier_score_loss(y_new, prior)),
    ):
        assert page.value(name) == number(value) and page.value(name, 3) == number(plain), name
    assert page.value("AUC", 2) == number(metrics.roc_auc_score(y, model.predict_proba(X)[:, 1]))
    assert page.figures[:3] == [
        "Learning curves: logloss by rounds",
        "Calibration of the probability of 1",
        f"ROC curve for 1: area {page.value('AUC')}",
    ]
    assert page.sections() == SECTIONS
    wrong = metrics.confusion_matrix(y_new, model.predict(X_new), normalize="true")
    row = next(row for row in page.rows if row[0] == "0" and len(row) == 3)
    assert row == ["0", *(f"{100 * share:.0f}" if share else "" for share in wrong[0])]
    assert page.value("max_depth") == "3" and page.value("max_depth", 2) == "None"
    assert page.value("read") == "12 ms" and page.value("fit") == "1 min 15 s"
    assert page.html.count(model.fingerprint()) == 3 and f">{model.fingerprint()}<" in page.html
    importance = gb.importance.mdi(model)
    best = int(importance.values.argmax())
    assert page.value(importance.names[best]) == percent(importance.values[best])


def test_numbers(tmp_path):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = gb.GPUBoostRegressor(n_estimators=20).fit(X[::2], y[::2])
    weight = np.linspace(0, 1, len(y[1::2]))
    page = report(model, tmp_path, X[1::2], y[1::2], weight)
    prediction, truth = model.predict(X[1::2]), y[1::2]
    assert page.value("RMSE") == number(
        metrics.root_mean_squared_error(truth, prediction, sample_weight=weight)
    )
    assert page.value("MAE") == number(
        metrics.mean_absolute_error(truth, prediction, sample_weight=weight)
    )
    assert page.value("R²") == number(metrics.r2_score(truth, prediction, sample_weight=weight))
    assert page.value("R²", 2) == "0" and "Rows count by their sample weight" in page.html
    assert page.figures[:4] == [
        "Learning curves: RMSE by rounds", "Predicted against true target",
        "Residuals of target against predictions", "Residuals of target",
    ]  # fmt: skip
    bmi = X["bmi"][1::2]
    assert next(row for row in page.rows if row[0] == "bmi" and len(row) == 9)[1:7] == [
        "number", "0 %", str(bmi.nunique()), number(bmi.min()),
        number(np.sort(bmi)[(len(bmi) - 1) // 2]), number(bmi.max()),
    ]  # fmt: skip


def test_many_classes(tmp_path):
    X, y = load_digits(return_X_y=True)
    model = gb.RandomForestClassifier(n_estimators=10).fit(X[::2], y[::2])
    page = report(model, tmp_path, X[1::2], y[1::2], train=(X[::2], y[::2]))
    prediction = model.predict(X[1::2])
    assert page.value("log loss") == number(metrics.log_loss(y[1::2], model.predict_proba(X[1::2])))
    precision, recall, _, counts = metrics.precision_recall_fscore_support(y[1::2], prediction)
    assert ["7", str(counts[7]), percent(precision[7]), percent(recall[7])] in page.rows
    assert (
        "MDI, out of bag" in page.html
        and "UFI, out of bag" in page.html
        and "10 classes" in page.html
    )
    oob = gb.importance.mdi_oob(model, X[::2], y[::2])
    line = page.value(f"x{gb.importance.mdi(model).values.argmax()}", 3)
    assert line.startswith(f"{oob.values[gb.importance.mdi(model).values.argmax()]:.3g} ± ")
    assert (
        "30 features with the highest decrease of impurity first" in page.html
        and "34 more features" in page.html
    )


def test_more_classes_than_a_matrix_can_show(rng, tmp_path):
    X = rng.normal(size=(400, 3))
    y = np.array(
        [
            f"class {c}"
            for c in np.digitize(X[:, 0] + 0.1 * rng.normal(size=400), np.linspace(-1.5, 1.5, 39))
        ]
    )
    model = gb.DecisionTreeClassifier(min_samples_leaf=3).fit(X, y)
    page = report(model, tmp_path, X, y)
    assert (
        "mistaken for each other" in page.html
        and "true \\ predicted" not in page.html
        and "more classes have fewer rows" in page.html
    )


@pytest.mark.parametrize(
    "model",
    [
        gb.GPUBoostClassifier(n_estimators=3),
        gb.GPUBoostRegressor(n_estimators=3),
        gb.AdaBoostClassifier(n_estimators=3),
        gb.AdaBoostRegressor(n_estimators=3),
        gb.DecisionTreeClassifier(max_depth=3),
        gb.DecisionTreeRegressor(max_depth=3),
        gb.ExtraTreesClassifier(n_estimators=3),
        gb.ExtraTreesRegressor(n_estimators=3),
        gb.RandomForestClassifier(n_estimators=3),
        gb.RandomForestRegressor(n_estimators=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_without_rows_the_page_says_what_it_lacks(model, tmp_path):
    model.fit(*load_iris(return_X_y=True))
    page = report(model, tmp_path)
    assert page.html.count("No rows were given.") == 3 and "model.report(path, X, y)" in page.html
    assert page.sections() == ["metrics", "importances", "data", "tree", "parameters", "model"]
    assert len(page.figures) == 2 and type(model).__name__ in page.html


@pytest.mark.parametrize(
    "model",
    [
        gb.AdaBoostClassifier(n_estimators=3),
        gb.AdaBoostRegressor(n_estimators=3),
        gb.ExtraTreesRegressor(n_estimators=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_estimators_with_rows(model, tmp_path):
    x, y = load_iris(return_X_y=True)
    page = report(model.fit(x, y), tmp_path, x, y)
    name = "accuracy" if hasattr(model, "classes_") else "R²"
    assert page.value(name) == number(model.score(x, y))
    assert ("curves" in page.sections()) == hasattr(model, "staged_predict")


def test_several_outputs(tmp_path):
    x, y = load_iris(return_X_y=True)
    page = report(
        gb.RandomForestRegressor(n_estimators=3).fit(x, x[:, :2]),
        tmp_path,
        x,
        pd.DataFrame(x[:, :2], columns=["long", "wide"]),
    )
    assert [row[:2] for row in page.rows if row[0] in ("long", "wide")][:6] == [
        [o, m] for o in ("long", "wide") for m in ("RMSE", "MAE", "R²")
    ]
    both = np.column_stack([y, y > 0, y, y, y])
    page = report(gb.DecisionTreeClassifier(max_depth=1).fit(x, both), tmp_path, x, both)
    assert (
        "Figures of the first 4 of 5 outputs" in page.html
        and "classification, 5 outputs" in page.html
    )
    assert ["output 1", "AUC", "1", "0.5"] in page.rows


def test_hostile_names_are_only_text(rng, tmp_path):
    names = ["<script>alert(1)</script>", "\"' onload=x", "a\0b\ud800\n", "$\\frac{1}$", "x" * 200]
    X = pd.DataFrame(rng.normal(size=(60, 5)), columns=pd.Index(names, dtype=object))
    y = np.where(X.iloc[:, 4] + X.iloc[:, 0] > 0, "</title><img src=x>", "&amp;")
    model = gb.RandomForestClassifier(n_estimators=3).fit(X, y)
    page = report(
        model, tmp_path, X, y, title="</title><b>&", timings={"<i>": 1.0}, model_path="'\"</pre><u>"
    )
    assert not {"script", "img", "b", "i", "u"} & set(page.tags)
    text = "".join(page.text)
    assert (
        "<script>alert(1)</script>" in text
        and "</title><img src=x>" in text
        and "a\ufffdb\ufffd " in text
    )
    assert f'title="{"x" * 200}"' in page.html and "x" * 24 + "…" in text


def test_missing_empty_and_constant_columns(rng, tmp_path):
    X = rng.normal(size=(200, 4))
    X[::4, 0], X[:, 1], X[:, 2] = np.nan, np.nan, 3.0
    X[0, 3] = np.inf
    page = report(
        gb.GPUBoostRegressor(n_estimators=3).fit(X, np.arange(200.0)), tmp_path, X, np.arange(200.0)
    )
    lines = {row[0]: row for row in page.rows if len(row) == 9}
    assert lines["x0"][1:4] == ["number", "25.0 %", "150"]
    assert lines["x1"][1:7] == ["empty", "100 %", "0", "–", "–", "–"]
    assert lines["x2"][1:7] == ["constant", "0 %", "1", "3", "3", "3"] and lines["x3"][6] == "∞"
    assert "1 of them without any value, 1 of them constant" in " ".join(page.html.split())


def test_categories_and_texts_have_their_names(rng, tmp_path):
    frame = pd.DataFrame(
        {"colour": rng.choice(["red", "green"], 100, p=[0.8, 0.2]), "size": rng.normal(size=100)}
    )
    y = (frame["colour"] == "red") + frame["size"]
    page = report(
        gb.DecisionTreeRegressor(max_depth=3, categorical_features=["colour"]).fit(frame, y),
        tmp_path,
        frame,
        y,
    )
    line = next(row for row in page.rows if row[0] == "colour" and "text" in row)
    assert line[3] == "2" and line[4].startswith("red ") and "colour in {green}" in page.html
    # a model from the command line knows texts by its table
    numbers = frame.assign(colour=(frame["colour"] == "red") * 1.0).to_numpy()
    model = gb.GPUBoostRegressor(n_estimators=3).fit(numbers, y)
    model.table_ = TableSchema("price", "regression", ["colour", "size"])
    name_columns(model, model.table_.columns, None, {"colour": ["green", "red"]}, {})
    page = report(model, tmp_path, frame[model.table_.columns], y)
    line = next(row for row in page.rows if row[0] == "colour" and "text" in row)
    assert line[4].startswith("red ") and "target: price" in page.html


def test_dates_are_dates_and_every_column_says_how_it_was_taken(tmp_path):
    days = pd.date_range("2020-01-01", periods=60)
    frame = pd.DataFrame({"day": days, "ok": np.arange(60) % 2 == 0, "n": np.arange(60.0)})
    model = gb.DecisionTreeRegressor(max_depth=2).fit(frame[["day", "ok"]], frame["n"])
    page = report(model, tmp_path, frame[["day", "ok"]], frame["n"])
    lines = sorted((row for row in page.rows if row[0] == "day"), key=len, reverse=True)
    assert [lines[0][1], *lines[0][4:7]] == ["date", "2020-01-01", "2020-01-30", "2020-02-29"]
    assert "seconds since 1970-01-01T00:00 UTC" in lines[1]
    assert "day &lt;= 2020-01-30T12:00:00" in page.html
    without = report(model, tmp_path)
    assert any(row[:2] == ["ok", "true or false"] for row in without.rows)


def test_ten_rows_one_class_and_one_value(tmp_path):
    x, y = load_iris(return_X_y=True)
    model = gb.GPUBoostClassifier(n_estimators=3).fit(x[:100], y[:100])
    page = report(model, tmp_path, x[:10], y[:10])
    assert (
        page.value("AUC") == "–" and page.value("accuracy") == "1" and "only one class" in page.html
    )
    assert not any(figure.startswith("ROC") for figure in page.figures)
    page = report(
        gb.DecisionTreeRegressor().fit(x, 0.0 * y + 5), tmp_path, x[:10], np.full(10, 5.0)
    )  # one leaf, one value
    assert page.value("RMSE") == "0" and page.value("R²") == "–"
    page = report(
        gb.DecisionTreeClassifier().fit(x, 0 * y), tmp_path, x[:1], [0]
    )  # one class, one row
    assert page.value("accuracy") == "1" and "classification, 1 class" in page.html


def test_training_rows_alone(tmp_path):
    x, y = load_iris(return_X_y=True)
    model = gb.RandomForestClassifier(n_estimators=3).fit(x, y)
    page = report(model, tmp_path, train=(x, y))
    assert "trained on: new rows will do worse" in page.html and "UFI, out of bag" in page.html
    assert report(model, tmp_path, train=(x, y, np.ones(150))).value("accuracy") == number(
        model.score(x, y)
    )
    assert "pass <code>train=(X, y)</code>" in report(model, tmp_path, x, y).html


def test_equal_input_gives_equal_bytes(cancer, tmp_path):
    import matplotlib

    X, X_new, y, y_new = cancer
    model = gb.GPUBoostClassifier(n_estimators=5).fit(X, y)
    before = dict(model.__dict__)
    model.report(tmp_path / "a.html", X_new, y_new)
    with matplotlib.rc_context(
        {"font.size": 20, "axes.facecolor": "red"}
    ):  # whatever style the user has
        model.report(str(tmp_path / "b.html"), X_new, y_new)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert model.__dict__ == before and "dc:date" not in (tmp_path / "a.html").read_text()
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.html").stat().st_mode) == 0o666 & ~mask


def test_a_loaded_model_gives_the_same_page(cancer, tmp_path):
    X, X_new, y, y_new = cancer
    model = gb.GPUBoostClassifier(n_estimators=5, early_stopping_rounds=2).fit(
        X, y, eval_set=(X_new, y_new)
    )
    model.save_model(tmp_path / "model.gb")
    for name, one in (("a", model), ("b", gb.load_model(tmp_path / "model.gb"))):
        one.report(tmp_path / f"{name}.html", X_new, y_new)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_nothing_is_left_behind_when_it_fails(tmp_path, monkeypatch):
    model = gb.DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1])
    (tmp_path / "old.html").write_text("old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(OSError, match="no space left"):
        model.report(tmp_path / "old.html")
    assert os.listdir(tmp_path) == ["old.html"] and (tmp_path / "old.html").read_text() == "old"


def test_a_feature_that_gives_the_target_away_is_named(rng, tmp_path):
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=["a", "b", "<leak>"])
    kinds, numbers = (X.a + X.b > 0).astype(int), X.a + X.b
    for model, y, extent in (
        (gb.DecisionTreeClassifier(max_depth=3), kinds, "0 % of the errors of guessing"),
        (gb.DecisionTreeRegressor(max_depth=3), numbers, "< 0.1 % of the variance"),
    ):
        X["<leak>"] = 3.0 * y
        html = report(model.fit(X, y), tmp_path, X, y).html
        assert "<code>&lt;leak&gt;</code> alone nearly tells the target (it leaves" in html
        assert extent.replace("<", "&lt;") in html and html.count("Possible leakage") == 1
        other = model.fit(X[["a", "b"]], rng.permutation(y))
        assert "leakage" not in report(other, tmp_path, X[["a", "b"]], y[::-1]).html
