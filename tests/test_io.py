"""A saved model comes back as it was, whatever it is; a damaged file says so; a file is there or it is not."""

import importlib.util
import json
import os
import pickle
import re
import stat
import subprocess
import sys
import textwrap
import warnings
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

import gpuboost as gb
from gpuboost.estimators._saving import KINDS
from gpuboost.io import atomic_write
from gpuboost.model_file import MAGIC, PREAMBLE
from gpuboost.schema import TableSchema

ROOT = Path(__file__).parents[1]
FOREST = {"n_estimators": 4, "max_depth": 5}


def load_fuzz():
    spec = importlib.util.spec_from_file_location("fuzz_model_files", ROOT / "benchmarks" / "fuzz_model_files.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FUZZ = load_fuzz()


def data(n=90, seed=0):
    """Rows with missing values and a nominal column, numbers, and classes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    x[:, 2] = rng.integers(0, 70, n)
    x[rng.random(x.shape) < 0.1] = np.nan
    value = np.nan_to_num(x[:, 0]) + np.nan_to_num(x[:, 1]) ** 2 + 0.1 * rng.normal(size=n)
    return x, value, np.digitize(value, [0.0, 1.0])


X, Y, CLASSES = data()
WEIGHT = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
FRAME = pd.DataFrame(
    {
        "a long name, with ünïcode": X[:, 0],
        "kind": pd.Categorical(np.array(["red", "green", "blue"])[CLASSES]),
        "number": X[:, 1],
        "flag": X[:, 3] > 0,
    }
)


def boosted(kind, y, fit=None, **options):
    return kind(**{"n_estimators": 4, "max_depth": 3, **options}).fit(X, y, **(fit or {}))


def many_models():
    """Every estimator in many variations, by name."""
    two, names = CLASSES > 0, np.array(["low", "middle", "high"])[CLASSES]
    both, pair = np.stack([CLASSES, two], axis=1), np.stack([Y, -Y], axis=1)
    valid = {"eval_set": [(X, CLASSES), (X[:30], CLASSES[:30])]}
    early = {"early_stopping_rounds": 1, "n_estimators": 30, "learning_rate": 2.0}
    nominal = {"categorical_features": [2]}
    yield "boost", boosted(gb.GPUBoostRegressor, Y)
    yield "boost of huge numbers", boosted(gb.GPUBoostRegressor, Y * 1e300)
    yield "boost with weights", boosted(gb.GPUBoostRegressor, Y, {"sample_weight": WEIGHT}, grow_policy="symmetric", subsample=0.7)
    yield "boost of a constant", boosted(gb.GPUBoostRegressor, np.ones(len(X)), grow_policy="leafwise")
    yield "boost, early", boosted(gb.GPUBoostRegressor, Y, {"eval_set": (X[:20], -Y[:20])}, **early)
    yield "boost of names", gb.GPUBoostRegressor(n_estimators=2).fit(FRAME[["number", "flag"]], Y)
    yield "boost of integers", gb.GPUBoostRegressor(n_estimators=2, random_state=2**40, n_jobs=-1).fit(X[:, :2].round(), Y)
    yield "classes", boosted(gb.GPUBoostClassifier, CLASSES, valid, eval_metric=["merror", "mlogloss"], **early)
    yield "one metric twice", boosted(gb.GPUBoostClassifier, CLASSES, valid, eval_metric=["merror", "merror"])
    yield "bool classes", boosted(gb.GPUBoostClassifier, two, objective="exponential", class_weight={False: 1.5, True: 2})
    yield "float classes", boosted(gb.GPUBoostClassifier, two.astype(np.float32), class_weight={np.float32(0): 1, 1.0: np.int8(2)})
    yield "text classes", boosted(gb.GPUBoostClassifier, names, class_weight="balanced", verbose=np.int64(0))
    yield "object classes", boosted(gb.GPUBoostClassifier, names.astype(object))
    yield "wide text classes", boosted(gb.GPUBoostClassifier, names.astype("U100"))
    yield "small classes", boosted(gb.GPUBoostClassifier, CLASSES.astype(np.uint8))
    yield "tree", gb.DecisionTreeRegressor().fit(X, Y)
    yield "tree of huge numbers", gb.DecisionTreeRegressor(max_depth=3).fit(X, Y * 1e200)
    yield "tree by medians", gb.DecisionTreeRegressor(criterion="absolute_error", max_leaf_nodes=7, **nominal).fit(X, Y, WEIGHT)
    yield "tree of two", gb.DecisionTreeRegressor(ccp_alpha="cv", cv=3, max_features=np.int32(2)).fit(X, pair)
    yield "tree, pruned", gb.DecisionTreeRegressor().fit(X, Y).prune_reduced_error(X[:30], Y[:30])
    yield "tree by midpoints", gb.DecisionTreeRegressor(splitter="midpoint", max_depth=4, feature_probabilities=[1, 2, 3, 4]).fit(X, Y)
    yield (
        "tree of classes",
        gb.DecisionTreeClassifier(splitter="hist", max_features="sqrt", class_weight={"high": 2.0, "low": 1, "middle": 1}, **nominal).fit(
            X, names
        ),
    )
    yield "tree of both", gb.DecisionTreeClassifier(class_weight=[{0: 1, 1: 2, 2: 3}, {0: 1, 1: 5}], max_depth=3).fit(X, both)
    yield "tree of one class", gb.DecisionTreeClassifier().fit(X, np.zeros(len(X)))
    yield "tree of a frame", gb.DecisionTreeClassifier(categorical_features="from_dtype").fit(FRAME, CLASSES)
    yield "tree of a misclassification", gb.DecisionTreeClassifier(criterion="entropy", ccp_alpha=np.float16(0.01)).fit(X, two)
    yield "forest", gb.RandomForestRegressor(**FOREST, oob_score=True, max_samples=0.5, criterion="poisson").fit(X, Y**2, WEIGHT)
    yield "forest with targets", gb.RandomForestRegressor(**FOREST, keep_targets=True, oob_score=True).fit(X, pair, WEIGHT)
    yield "forest of classes", gb.RandomForestClassifier(**FOREST, **nominal, oob_score=True, voting="hard", max_samples=20).fit(X, names)
    yield "forest of both", gb.RandomForestClassifier(**FOREST, oob_score=True, class_weight="balanced_subsample").fit(X, both)
    yield "forest without bags", gb.RandomForestClassifier(**FOREST, bootstrap=False, class_weight={0: 1, 1: 2, 2: 3}).fit(X, CLASSES)
    yield "extra trees", gb.ExtraTreesRegressor(**FOREST, keep_targets=True, max_features=0.5, **nominal).fit(X, Y)
    yield "extra trees of a frame", gb.ExtraTreesClassifier(**FOREST, categorical_features=["kind"], bootstrap=True).fit(FRAME, CLASSES)
    yield "adaboost", gb.AdaBoostClassifier(n_estimators=4).fit(X, two)
    yield "adaboost of names", gb.AdaBoostClassifier(n_estimators=4, max_depth=2, **nominal).fit(X, names, WEIGHT)
    yield "adaboost of numbers", gb.AdaBoostRegressor(n_estimators=4, loss="square", categorical_features=(2,)).fit(X, Y)
    yield "adaboost of a frame", gb.AdaBoostRegressor(n_estimators=2, categorical_features=np.array(["kind"])).fit(FRAME, Y)


@pytest.fixture(scope="module")
def models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows without out-of-bag prediction, AdaBoost that stops early
        return dict(many_models())


NAMES = re.findall(r'yield "([^"]+)"', Path(__file__).read_text())


def round_trip(model, folder):
    gb.save_model(model, folder / "model.gb")
    return gb.load_model(folder / "model.gb")


def assert_same(a, b, where="model"):
    """Equal in type, dtype and every bit, all the way down."""
    assert type(a) is type(b), where
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape, where
        if a.dtype == object:
            assert_same(a.tolist(), b.tolist(), where)
        else:
            assert a.tobytes() == b.tobytes(), where
    elif isinstance(a, dict):
        assert set(a) == set(b), where
        kinds = {k: type(k) for k in b}
        for key in a:
            assert kinds[key] is type(key) or any(type(k) is type(key) and k == key for k in b), where
            assert_same(a[key], b[key], f"{where}[{key!r}]")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), where
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            assert_same(one, other, f"{where}[{i}]")
    elif is_dataclass(a):
        for field in fields(a):
            if field.compare:
                assert_same(getattr(a, field.name), getattr(b, field.name), f"{where}.{field.name}")
    elif isinstance(a, (float, np.floating)):
        assert a == b or (a != a and b != b), where
    else:
        assert a == b, where


def everything_said(model):
    """All that a fitted model can be asked, by name."""
    x = X if not hasattr(model, "feature_names_in_") else FRAME[list(model.feature_names_in_)]
    x = x if model.n_features_in_ == x.shape[1] else X[:, : model.n_features_in_].round()
    out = {"fingerprint": model.fingerprint(), "importances": model.feature_importances_}
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function", "apply"):
        if hasattr(model, name):
            out[name], out[f"{name} of few"] = getattr(model, name)(x), getattr(model, name)(x[:3])
    for name in ("staged_predict", "staged_predict_proba", "staged_decision_function"):
        if hasattr(model, name):
            out[name] = list(getattr(model, name)(x))
    if hasattr(model, "decision_path"):
        paths = model.decision_path(x)
        out["paths"] = (paths[0] if isinstance(paths, tuple) else paths).toarray()
    if getattr(model, "_leaf_targets", None) is not None:
        out["quantiles"] = model.predict_quantiles(x, [0.0, 0.3, 1.0])
    if getattr(model, "_bags", None) is not None:
        out["bag"] = model._bag_counts(1)
    return out


# --- the round trip


def test_every_estimator_is_among_the_models(models):
    assert {type(model).__name__ for model in models.values()} == set(KINDS)
    assert set(KINDS) == {name for name in gb.__all__ if hasattr(getattr(gb, name), "fit")}
    assert list(models) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_model_comes_back_as_it_was(name, models, tmp_path):
    """Every attribute, those of ``fit`` and those of the constructor: one that is forgotten in ``_state.py`` is missing here."""
    model = models[name]
    loaded = round_trip(model, tmp_path)
    assert type(loaded) is type(model)
    assert_same(dict(vars(model)), dict(vars(loaded)))
    assert_same(everything_said(model), everything_said(loaded))


def test_equal_models_are_equal_files(models, tmp_path):
    for name, model in many_models_again():
        gb.save_model(models[name], tmp_path / "one.gb")
        gb.save_model(model, tmp_path / "two.gb")
        gb.save_model(gb.load_model(tmp_path / "one.gb"), tmp_path / "three.gb")
        assert (tmp_path / "one.gb").read_bytes() == (tmp_path / "two.gb").read_bytes() == (tmp_path / "three.gb").read_bytes(), name


def many_models_again():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield from many_models()


@pytest.mark.parametrize("kind", [gb.RandomForestClassifier, gb.ExtraTreesClassifier])
def test_a_warm_start_goes_on_after_loading(kind, tmp_path):
    options = {"max_depth": 5, "warm_start": True, "class_weight": {0: 1, 1: 2, 2: 3}, "max_samples": 0.7, "bootstrap": True}
    whole = kind(n_estimators=9, **options).fit(X, CLASSES, WEIGHT)
    loaded = round_trip(kind(n_estimators=4, **options).fit(X, CLASSES, WEIGHT), tmp_path)
    assert loaded.set_params(n_estimators=9).fit(X, CLASSES, WEIGHT).fingerprint() == whole.fingerprint()
    with pytest.raises(ValueError, match="y is not what they were fitted with"):
        loaded.set_params(n_estimators=10).fit(X, CLASSES[::-1], WEIGHT)


def test_out_of_bag_importances_after_loading(tmp_path):
    model = gb.RandomForestRegressor(**FOREST).fit(X, Y, WEIGHT)
    loaded = round_trip(model, tmp_path)
    for function in (gb.importance.mda_oob, gb.importance.mdi_oob, gb.importance.sobol_mda):
        assert_same(function(model, X, Y), function(loaded, X, Y))


def test_a_pruned_tree_can_be_pruned_again(models, tmp_path):
    loaded = round_trip(gb.DecisionTreeRegressor().fit(X, Y), tmp_path)
    assert loaded.prune_reduced_error(X[:30], Y[:30]).fingerprint() == models["tree, pruned"].fingerprint()


def test_the_schema_of_a_table_is_kept(tmp_path):
    model = boosted(gb.GPUBoostRegressor, Y)
    model.table_ = TableSchema("price", "regression", ["a", "b", "c", "d"], {"b": ["x", "y"]})
    assert round_trip(model, tmp_path).table_ == model.table_
    model.table_ = TableSchema("price", "regression", ["a", "b"])
    with pytest.raises(gb.ModelFormatError, match="this GPUBoostRegressor cannot be saved: the table has 2 columns for 4 features"):
        model.save_model(tmp_path / "other.gb")
    assert not (tmp_path / "other.gb").exists()


@pytest.mark.parametrize(
    "values",
    [
        np.array(["b", "a", None, "c"], dtype=object),
        np.array(["2020-01-02", "2020-01-01", "NaT", "2020-01-03"], dtype="M8[ns]"),
        np.array([3, 1, np.nan, 2.5]),
        np.array([b"b", b"a", b"", b"ccc"]),
        np.array([True, False, None, True], dtype=object),
    ],
    ids=["objects", "times", "floats", "bytes", "truth values"],
)
def test_categories_of_any_kind(values, tmp_path):
    frame = pd.DataFrame({"c": np.tile(values, 20)}) if values.dtype.kind == "M" else np.tile(values, 20)[:, None]
    model = gb.DecisionTreeRegressor(categorical_features=[0]).fit(frame, np.tile([1.0, 2.0, 3.0, 4.0], 20))
    loaded = round_trip(model, tmp_path)
    assert_same(dict(vars(model)), dict(vars(loaded)))
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


def test_categories_that_are_no_numbers_texts_or_times_say_so(tmp_path):
    column = np.array([(1, 2), (3, 4)] * 10 + [None], dtype=object)[:20, None]
    model = gb.DecisionTreeRegressor(categorical_features=[0]).fit(column, np.arange(20.0))
    model._categories.values[0][:] = [complex(1), complex(2)]
    with pytest.raises(TypeError, match="the categories of feature 0: a complex, which a model file cannot hold; use numbers or text"):
        model.save_model(tmp_path / "model.gb")


def test_predictions_in_a_fresh_process(models, tmp_path):
    model = models["forest of classes"]
    model.save_model(tmp_path / "model.gb")
    np.save(tmp_path / "x.npy", X)
    code = """
        import sys, numpy as np, gpuboost as gb
        folder = sys.argv[1]
        model = gb.load_model(folder + "/model.gb")
        assert "pickle" not in open(folder + "/model.gb", "rb").read().decode("latin-1")
        np.save(folder + "/out.npy", model.predict_proba(np.load(folder + "/x.npy")))
        print(model.fingerprint())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == model.fingerprint()
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), model.predict_proba(X))


def test_pickle_still_works(models):
    for name in ("classes", "forest with targets", "adaboost of names"):
        again = pickle.loads(pickle.dumps(models[name]))
        assert_same(everything_said(models[name]), everything_said(again))


# --- parameters


def test_what_a_file_cannot_hold_gets_its_default_and_a_warning(tmp_path):
    def my_metric(y, prediction):
        return float(np.abs(y - prediction).mean())

    model = boosted(gb.GPUBoostRegressor, Y, {"eval_set": (X, Y)}, eval_metric=["rmse", my_metric])
    with pytest.warns(
        UserWarning, match="eval_metric is a function, which a model file cannot hold: it will be None after loading"
    ) as seen:
        model.save_model(tmp_path / "model.gb")
    assert seen[0].filename == __file__
    with pytest.warns(UserWarning, match="model.gb: eval_metric was a function, which a file cannot hold; it now is None") as seen:
        loaded = gb.load_model(tmp_path / "model.gb")
    assert seen[0].filename == __file__
    assert loaded.eval_metric is None
    assert loaded.evals_result_ == model.evals_result_ and list(loaded.evals_result_["validation_0"]) == ["rmse", "my_metric"]
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what was lost is lost: saving again is quiet
        loaded.save_model(tmp_path / "again.gb")

    tree = gb.DecisionTreeRegressor(ccp_alpha="cv", cv=KFold(3)).fit(X, Y)
    with pytest.warns(UserWarning, match="cv is a KFold"):
        tree.save_model(tmp_path / "tree.gb")
    with pytest.warns(UserWarning, match="it now is 5"):
        assert gb.load_model(tmp_path / "tree.gb").cv == 5


def test_a_random_state_of_a_forest_is_saved_as_the_seed_it_gave(tmp_path):
    options = {"max_depth": 5, "warm_start": True}
    model = gb.RandomForestRegressor(n_estimators=3, random_state=np.random.RandomState(5), **options).fit(X, Y)
    with pytest.warns(UserWarning, match="random_state is a RandomState"):
        model.save_model(tmp_path / "model.gb")
    with pytest.warns(UserWarning, match=f"it now is {model._fitted_seed}"):
        loaded = gb.load_model(tmp_path / "model.gb")
    more = loaded.set_params(n_estimators=6).fit(X, Y)
    assert more.fingerprint() == model.set_params(n_estimators=6).fit(X, Y).fingerprint()


def test_splits_given_as_arrays_are_kept(tmp_path):
    splits = list(KFold(3).split(X))
    loaded = round_trip(gb.DecisionTreeRegressor(ccp_alpha="cv", cv=splits).fit(X, Y), tmp_path)
    assert_same(splits, loaded.cv)


def test_an_index_of_names_is_kept_as_an_array(tmp_path):
    loaded = round_trip(gb.DecisionTreeRegressor(categorical_features=FRAME.columns[1:2]).fit(FRAME, Y), tmp_path)
    assert_same(loaded.categorical_features, np.array(["kind"], dtype=object))


def test_a_cuda_device_is_saved_as_auto(tmp_path):
    """A model trained on a GPU loads and predicts where there is none."""
    model = boosted(gb.GPUBoostRegressor, Y)
    model.device = "cuda:1"
    loaded = round_trip(model, tmp_path)
    assert loaded.device == "auto"
    np.testing.assert_array_equal(loaded.predict(X), model.set_params(device="cpu").predict(X))


def test_parameters_that_are_wrong_are_not_saved(tmp_path):
    model = boosted(gb.GPUBoostRegressor, Y).set_params(learning_rate=-1.0)
    with pytest.raises(gb.ModelFormatError, match="cannot be saved: learning_rate must be a number above 0; got -1.0"):
        model.save_model(tmp_path / "model.gb")


def test_only_fitted_estimators_of_the_library_can_be_saved(tmp_path):
    for name in KINDS:
        with pytest.raises(NotFittedError):
            getattr(gb, name)().save_model(tmp_path / "model.gb")

    class Mine(gb.GPUBoostRegressor):
        pass

    for other in (Mine(n_estimators=1).fit(X, Y), "model", None):
        with pytest.raises(TypeError, match="only estimators of gpuboost can be saved"):
            gb.save_model(other, tmp_path / "model.gb")
    assert not list(tmp_path.iterdir())


def test_predictions_that_are_no_numbers_are_not_saved(tmp_path):
    with np.errstate(all="ignore"):
        model = gb.DecisionTreeRegressor().fit(X, np.sign(Y) * 1.7e308)
        assert not np.isfinite(model._forest.trees[0].value).all()
    with pytest.raises(gb.ModelFormatError, match="the value of a node has .*, which is not a finite number"):
        model.save_model(tmp_path / "model.gb")


# --- files that are no models


@pytest.fixture
def good(models, tmp_path):
    models["classes"].save_model(tmp_path / "good.gb")
    return (tmp_path / "good.gb").read_bytes()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: b"", "it has 0 bytes, a model has at least 64"),
        (lambda d: d[:63], "it has 63 bytes"),
        (lambda d: b"PK" + d[2:], "does not begin as a gpuboost model does"),
        (lambda d: d.replace(b"\r\n", b"\n", 1), "does not begin as a gpuboost model does"),
        (lambda d: d[:12] + b"\x02" + d[13:], "its format version is 2, this gpuboost reads up to 1: update gpuboost"),
        (lambda d: d[:12] + b"\x00" + d[13:], "its format version is 0"),
        (lambda d: d[:-1], "it should have .* bytes, but has .*: it is cut off or damaged"),
        (lambda d: d + b"\0", "it should have .* bytes"),
        (lambda d: d[:23] + b"\x7f" + d[24:], "it should have .* bytes"),
        (lambda d: d[:-1] + bytes([d[-1] ^ 1]), "its checksum is wrong: it is damaged"),
        (lambda d: d[:70] + b"x" + d[71:], "its checksum is wrong"),
    ],
)
def test_damage_that_the_container_finds(change, reason, good, tmp_path):
    (tmp_path / "bad.gb").write_bytes(change(good))
    with pytest.raises(gb.ModelFormatError, match=f"bad.gb cannot be loaded: .*{reason}"):
        gb.load_model(tmp_path / "bad.gb")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"[" * 100_000, "not JSON: maximum recursion"),
        (b'{"a":1,"a":2}', "not canonical"),
        (b'{"a": 1}', "not canonical"),
        (b'{"a":NaN}', "not JSON: Out of range"),
        (b'{"a":1e999}', "not JSON: Out of range"),
        (b'{"a":' + b"9" * 5000 + b"}", "not JSON: Exceeds the limit"),
        (b'{"a":"\xc3\xa9"}', "not JSON: 'ascii'"),
        (b"[]", "not a JSON object"),
        (b"{}", "no list of arrays"),
        (b'{"arrays":[]}', "the header lacks 'estimator'"),
    ],
)
def test_headers_that_are_none(text, reason, tmp_path):
    (tmp_path / "bad.gb").write_bytes(FUZZ.seal(text, b""))
    with pytest.raises(gb.ModelFormatError, match=reason):
        gb.load_model(tmp_path / "bad.gb")


def edit(header, path, value):
    *way, last = path.split("/")
    for key in way:
        header = header[int(key)] if isinstance(header, list) else header[key]
    header[int(last) if isinstance(header, list) else last] = value


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("estimator", "os.system", "it holds a 'os.system', which this gpuboost does not know"),
        ("estimator", "GPUBoostRegressor", "the list of parameters has 'class_weight'"),
        ("parameters/max_depth", 0, "max_depth must be an integer at least 1 or None; got 0"),
        ("parameters/device", "cuda", "parameter device is cuda, not one of auto, cpu"),
        ("parameters/random_state", {"array": "trees/left"}, "parameters/random_state is in an array of another name"),
        ("parameters/random_state", 2**600, "an integer of 601 bits"),
        ("parameters/class_weight", {"dict": [[0, 1], [0, 2]]}, "has a key twice"),
        ("parameters/class_weight", {"numpy": ["int8", 300]}, "not a number that int8 can hold"),
        ("parameters/class_weight", json.loads("[" * 20 + "]" * 20), "lists in lists"),
        ("n_features", 3, "asks for a feature that is not among the 3"),
        ("n_features", -1, "the number of features is -1, not an integer from 1"),
        ("n_features", True, "the number of features is True"),
        ("feature_names", ["a"], "1 names for 4 features"),
        ("table", {"target": 1}, "the table's schema must have"),
        ("fitted/best/iteration", 99, "the best round is 99"),
        ("fitted/log_odds_factor", 1.5, "the factor of the log odds is 1.5"),
        ("fitted/classes", ["a", "b"], "the classes are not an array"),
        ("fitted/classes", {"objects": ["b", "a"]}, "the classes must be ascending and distinct"),
        ("fitted/evals/1/0", "validation_0", "two eval sets have the same name"),
        ("arrays/0/dtype", "|O8", r"dtype '\|O8', which is not allowed"),
        ("arrays/0/shape", [2**62], "the shape of array"),
        ("arrays/1/offset", 0, "must begin at offset 64, but has offset 0"),
        ("arrays/1/name", "zzz", "names of the arrays are not ascending"),
    ],
)
def test_fields_of_the_header_are_checked(path, value, reason, good, tmp_path):
    header, arrays = FUZZ.parts_of(good)
    edit(header, path, value)
    (tmp_path / "bad.gb").write_bytes(FUZZ.seal(FUZZ.canonical_json(header), arrays))
    with pytest.raises(gb.ModelFormatError, match=reason):
        gb.load_model(tmp_path / "bad.gb")


def array_cases():
    """(model, array, index, value, reason): each would make a kernel read where nothing is, or predict nonsense."""
    yield "boost", "trees/left", 0, 10**6, "child does not stand behind it"
    yield "boost", "trees/left", 1, 0, "child does not stand behind it"
    yield "boost", "trees/left", -1, 0, "child does not stand behind it"
    yield "boost", "trees/left", 0, 3, "no parent or more than one"
    yield "boost", "trees/left", 0, -2, "a leaf has children other than -1"
    yield "boost", "trees/right", 0, 1, "no parent or more than one"
    yield "boost", "trees/feature", 0, 4, "asks for a feature that is not among the 4"
    yield "boost", "trees/feature", 0, -1, "asks for a feature"
    yield "boost", "trees/feature", -1, 0, "a leaf asks a question"
    yield "boost", "trees/threshold", 0, np.nan, "a threshold is NaN"
    yield "boost", "trees/missing_left", 0, 2, "missing_left is neither 0 nor 1"
    yield "boost", "trees/value", 0, np.inf, "the value of a node has .*inf.*, which is not a finite number"
    yield "boost", "trees/value", slice(None), 1e308, "add up to more than a number can hold"
    yield "boost", "trees/gain", 0, np.nan, "the gain of a node has .*nan"
    yield "boost", "trees/cover", 0, -1.0, "the cover of a node"
    yield "boost", "trees/count", 0, -1, "the count of a node is negative"
    yield "boost", "trees/n_nodes", 0, 0, "sizes of the trees' nodes are not possible"
    yield "boost", "trees/n_nodes", 0, 2**62, "sizes of the trees' nodes are not possible"
    yield "boost", "trees/n_nodes", 0, 1, "sizes of the trees' nodes do not add up"
    yield "boost", "base_score", 0, np.nan, "the base score has .*nan"
    yield "tree of classes", "trees/value", 0, 1.5, "the share of a class has .*1.5"
    yield "tree of classes", "trees/first_word", 0, 10**6, "a set|has a set"
    yield "tree of classes", "trees/first_word", slice(None), -1, "on the nominal feature 2 has no set"
    yield "tree of classes", "trees/sets", "drop", None, "sizes of the trees' sets"
    yield "tree of classes", "categories/2", 0, 1e9, "the categories of feature 2 must be ascending and distinct"
    yield "forest", "bags/usable", -1, 10**6, "a row with weight does not exist"
    yield "forest", "bags/usable", 0, 5, "the rows with weight are not ascending"
    yield "forest", "oob", "drop", None, "array 'oob' has the shape"
    yield "forest with targets", "leaf_targets/rows", 0, 10**6, "a training row that does not exist"
    yield "forest with targets", "leaf_targets/begin", 1, 10**6, "the rows of the leaves are not in order"
    yield "forest with targets", "leaf_targets/begin", slice(1, -1), 0, "a leaf has no training rows"
    yield "forest with targets", "leaf_targets/rank", 0, 2**31 - 1, "ranks are not those of the targets"
    yield "forest with targets", "leaf_targets/rank", 0, -1, "ranks are not those of the targets"
    yield "forest with targets", "leaf_targets/share", 0, 2.0, "the share of a row"
    yield "forest with targets", "leaf_targets/by_rank", 0, 1e9, "the training targets are not ascending"
    yield "adaboost", "estimator_weights", 0, 0.0, "do not add up to a positive number"
    yield "adaboost", "estimator_weights", 0, 1.7e308, "do not add up to a positive number"
    yield "adaboost", "estimator_errors", 0, np.nan, "the error of a tree has .*nan"


@pytest.mark.parametrize("case", list(array_cases()), ids=lambda c: f"{c[0]}: {c[1]}[{c[2]}] = {c[3]}")
def test_entries_of_the_arrays_are_checked(case, models, tmp_path):
    name, array, index, value, reason = case
    models[name].save_model(tmp_path / "good.gb")
    with open(tmp_path / "good.gb", "rb") as file:
        header, arrays = FUZZ.read_model(file)
    if index == "drop":
        arrays[array] = arrays[array][:-1]
    else:
        arrays[array][index] = value
    with open(tmp_path / "bad.gb", "wb") as file:
        FUZZ.write_model(file, header, arrays)
    with pytest.raises(gb.ModelFormatError, match=reason):
        gb.load_model(tmp_path / "bad.gb")


def test_thresholds_that_need_more_than_a_byte(tmp_path):
    """Prediction of many rows turns thresholds into bins of one byte: 254 of them are as many as training ever makes."""
    x = np.arange(600.0)[:, None]
    y = np.random.default_rng(0).normal(size=600)
    model = gb.GPUBoostRegressor(n_estimators=2, max_depth=9, reg_lambda=0.0, min_child_weight=0.0).fit(x, y)
    model.save_model(tmp_path / "good.gb")
    with open(tmp_path / "good.gb", "rb") as file:
        header, arrays = FUZZ.read_model(file)
    inner = arrays["trees/left"] >= 0
    assert len(np.unique(arrays["trees/threshold"][inner])) > 200
    arrays["trees/threshold"][inner] = np.arange(inner.sum())
    with open(tmp_path / "bad.gb", "wb") as file:
        FUZZ.write_model(file, header, arrays)
    with pytest.raises(gb.ModelFormatError, match="thresholds, more than 254"):
        gb.load_model(tmp_path / "bad.gb")


def test_arrays_without_a_meaning(good, tmp_path):
    with open(tmp_path / "good.gb", "rb") as file:
        header, arrays = FUZZ.read_model(file)
    with open(tmp_path / "bad.gb", "wb") as file:
        FUZZ.write_model(file, header, arrays | {"more": np.zeros(3)})
    with pytest.raises(gb.ModelFormatError, match="arrays without a meaning: 'more'"):
        gb.load_model(tmp_path / "bad.gb")


def test_files_that_cannot_be_read_are_errors_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        gb.load_model(tmp_path / "nothing.gb")
    with pytest.raises(IsADirectoryError):
        gb.load_model(str(tmp_path))


def test_three_thousand_damaged_files(tmp_path):
    """Each loads equal, or is refused, or (changed behind the checksum) is another valid model; benchmarks/fuzz_model_files.py has more."""
    judge = FUZZ.Judge(*FUZZ.make_models(), tmp_path)
    for number in range(3000):
        judge.check(number, seed=1)
    outcomes = {outcome for _, outcome in judge.counts}
    assert outcomes == {"refused", "unchanged", "another model"} and judge.counts["bytes", "refused"] > 1000
    assert len(judge.reasons) > 100


# --- writing


def test_a_file_appears_all_at_once_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    with atomic_write(path) as file:
        file.write(b"new")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == b"new"
    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error), atomic_write(path) as file:
            file.write(b"half")
            raise error
        assert path.read_bytes() == b"new" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "no folder" / "file"):
        pass
    with pytest.raises(IsADirectoryError), atomic_write(tmp_path):
        pass


def test_permissions_and_links_stay(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    before = os.umask(0o027)
    try:
        with atomic_write(path) as file:
            file.write(b"1")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    link.symlink_to("file")
    with atomic_write(link) as file:
        file.write(b"2")
    assert link.is_symlink() and path.read_bytes() == b"2" and stat.S_IMODE(path.stat().st_mode) == 0o604
    link.unlink()
    link.symlink_to("later")
    with atomic_write(link) as file:
        file.write(b"3")
    assert link.is_symlink() and (tmp_path / "later").read_bytes() == b"3"


def test_what_is_not_a_file_is_written_to_directly(models, tmp_path):
    """A device keeps being one, even for root; a full one is an error."""
    with pytest.raises(OSError, match="No space left"):
        models["boost"].save_model("/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    models["boost"].save_model(pipe)
    assert reader.communicate(timeout=60)[0].startswith(MAGIC)


def test_a_full_disk_leaves_the_old_file(models, tmp_path):
    """Files may not grow beyond 1000 bytes: the system says so in the middle of the writing, as it does when a disk is full."""
    path = tmp_path / "model.gb"
    models["boost"].save_model(tmp_path / "new.gb")
    path.write_bytes(b"old")
    code = """
        import resource, signal, sys, gpuboost as gb
        model = gb.load_model(sys.argv[1] + "/new.gb")
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            model.save_model(sys.argv[1] + "/model.gb")
        except OSError as error:
            print(error.strerror)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "File too large"
    assert path.read_bytes() == b"old" and sorted(p.name for p in tmp_path.iterdir()) == ["model.gb", "new.gb"]


def test_kill_during_saving_leaves_the_old_file_or_the_new_one(models, tmp_path):
    """Fifty processes that save two models in turn are killed at a random time; children of one process, which has imported all."""
    models["boost"].save_model(tmp_path / "a.gb")
    models["forest with targets"].save_model(tmp_path / "b.gb")
    code = """
        import os, random, signal, sys, time
        import gpuboost as gb
        folder, random = sys.argv[1], random.Random(0)
        models = [gb.load_model(folder + "/a.gb"), gb.load_model(folder + "/b.gb")]
        models[0].save_model(folder + "/model.gb")
        for _ in range(50):
            child = os.fork()
            if child == 0:
                while True:
                    for model in reversed(models):
                        model.save_model(folder + "/model.gb")
            time.sleep(random.uniform(0.005, 0.04))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            print(gb.load_model(folder + "/model.gb").fingerprint())
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    seen = done.stdout.split()
    assert len(seen) == 50 and set(seen) == {models["boost"].fingerprint(), models["forest with targets"].fingerprint()}


# --- the description


def test_the_reader_of_the_description_reads_every_model(models, tmp_path):
    """docs/format.md has a reader that knows nothing of this library."""
    code = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "format.md").read_text(), re.DOTALL)
    own = {}
    for block in code:
        exec(block, own)
    for model in models.values():
        model.save_model(tmp_path / "model.gb")
        header, arrays = own["read"](tmp_path / "model.gb")
        assert header["estimator"] == type(model).__name__
        trees = (model._ensemble.forest if hasattr(model, "_ensemble") else model._forest).trees
        np.testing.assert_array_equal(arrays["trees/value"], np.concatenate([tree.value for tree in trees]))
    for name in ("boost", "boost with weights", "boost, early"):
        models[name].save_model(tmp_path / "model.gb")
        np.testing.assert_allclose(own["predict"](tmp_path / "model.gb", X), models[name].predict(X), rtol=1e-12)


def test_the_description_names_every_field_and_array(models, tmp_path):
    text = (ROOT / "docs" / "format.md").read_text()
    assert str(PREAMBLE.size) in text and "\\x89gpuboost\\r\\n\\x1a" in text
    for model in models.values():
        model.save_model(tmp_path / "model.gb")
        header, _ = FUZZ.parts_of((tmp_path / "model.gb").read_bytes())
        names = {*header, *header["fitted"], *(re.sub(r"/\d+", "/N", entry["name"]) for entry in header["arrays"])}
        for name in names:
            assert f"`{name}`" in text or name.startswith("parameters/"), name
