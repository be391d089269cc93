"""A damaged file says so, and the format is the one that is described."""

import json
import os
import re
import tracemalloc

import numpy as np
import pytest
from saved_models import FUZZ, MODELS, ROOT, X, assert_same, fitted

import gpuboost as gb
from gpuboost.estimators.base import name_columns
from gpuboost.model.file import MAGIC, PREAMBLE, VERSION
from gpuboost.objectives.links import Link

# --- files that are no models


@pytest.fixture
def good(tmp_path):
    fitted("classes").save_model(tmp_path / "good.gb")
    return (tmp_path / "good.gb").read_bytes()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: b"", "it has 0 bytes, a model has at least 64"),
        (lambda d: d[:63], "it has 63 bytes"),
        (lambda d: b"PK" + d[2:], "does not begin as a gpuboost model does"),
        (lambda d: d.replace(b"\r\n", b"\n", 1), "does not begin as a gpuboost model does"),
        (
            lambda d: d[:12] + b"\x03" + d[13:],
            "its format version is 3, this gpuboost reads version 2: update gpuboost",
        ),
        (lambda d: d[:12] + b"\x01" + d[13:], "version is 1, this gpuboost reads version 2$"),
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
        (b'{"a":NaN}', "cannot be JSON: Out of range"),
        (b'{"a":1e999}', "cannot be JSON: Out of range"),
        (b'{"a":' + b"9" * 5000 + b"}", "not JSON: Exceeds the limit"),
        (b'{"a":"\xe9"}', "not JSON: 'utf-8'"),
        (b'{"a":"\\u00e9"}', "not canonical"),
        (b'{"a":"\\ud800"}', "cannot be JSON: 'utf-8' codec can't encode"),
        (b"[]", "not a JSON object"),
        (b"{}", "no list of arrays"),
        (b'{"arrays":[]}', "required is not a list"),
        (b'{"arrays":[],"required":[]}', "estimator is 'None', not str"),
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


def remove(header, path):
    *way, last = path.split("/")
    for key in way:
        header = header[int(key)] if isinstance(header, list) else header[key]
    del header[last]


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("estimator", "os.system", "it holds a 'os.system', which this gpuboost does not know"),
        ("estimator", "GPUBoostRegressor", "objective must be one of"),
        ("estimator", "RandomForestClassifier", "the header lacks 'bags_'"),
        ("parameters/max_depth", 0, "max_depth must be an integer at least 1 or None; got 0"),
        ("parameters/device", "cuda", "parameter device is cuda, not one of auto, cpu"),
        (
            "parameters/random_state",
            {"array": "ensemble_/trees/left"},
            "parameters/random_state is in an array of another name",
        ),
        ("parameters/random_state", 2**600, "an integer of 601 bits"),
        ("parameters/class_weight", {"dict": [[0, 1], [0, 2]]}, "has a key twice"),
        ("parameters/class_weight", {"dict": [[1, 1], [0, 2]]}, "are not in order"),
        ("parameters/class_weight", {"scalar": "parameters/class_weight"}, "there is no array"),
        ("parameters/class_weight", json.loads("[" * 20 + "]" * 20), "lists in lists"),
        ("not_stored", [["cv", 1]], "not_stored/0 is '1', not str"),
        ("ensemble_/features/features", [{}] * 3, "asks for a feature that is not among the 3"),
        ("ensemble_/features/features", [], "there are no features"),
        ("ensemble_/features/features/0", {"kind": "text"}, "features/0/kind is 'text', not str"),
        ("ensemble_/features/features/0", {"kind": "ordinal"}, "feature 0 is ordinal, and has"),
        ("ensemble_/feature_names", ["a"], "1 names for 4 features"),
        ("ensemble_/combine", "mean", "the nodes say 1 numbers, not 3"),
        ("ensemble_/combine", "product", r"'product', not str \('sum', 'mean', 'median'\)"),
        ("ensemble_/n_used", 98, "predictions cannot use 98 of"),
        ("ensemble_/n_used", -1, "a best score without a best round"),
        ("ensemble_/link/name", "identity", "the link is 'identity', not 'softmax'"),
        ("ensemble_/link/scale", -1.0, "scale of a link must be a number above 0; got -1.0"),
        ("ensemble_/link/scale", 2.0, "only the logistic link has a scale"),
        ("ensemble_/classes", ["a", "b"], "ensemble_/classes/0 is 'a', not ndarray"),
        ("ensemble_/classes", [{"objects": ["b", "a"]}], "classes must be ascending and distinct"),
        ("ensemble_/classes", [{"objects": ["a"]}], r"the outputs do not have \[1\] channels"),
        ("ensemble_/classes", [], "classes for 1 outputs"),
        ("table_", {"target": 1}, "table_/target is '1', not str"),
        ("table_", {"target": "y"}, "table_ lacks 'task'"),
        ("evals_result_/1/0", "validation_0", "evals_result_ has a key twice"),
        ("arrays/0/dtype", "|O8", r"dtype '\|O8', which is not allowed"),
        (
            "arrays/0/shape",
            [2**62],
            r"has the shape \[4611686018427387904\], which is not possible",
        ),
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
    """(model, array, index, value, reason).

    Each would make a kernel read where nothing is, or predict nonsense.
    """
    yield "boost", "ensemble_/trees/left", 0, 10**6, "child does not stand behind it"
    yield "boost", "ensemble_/trees/left", 1, 0, "child does not stand behind it"
    yield "boost", "ensemble_/trees/left", -1, 0, "child does not stand behind it"
    yield "boost", "ensemble_/trees/left", 0, 3, "no parent or more than one"
    yield "boost", "ensemble_/trees/left", 0, -2, "a leaf has children other than -1"
    yield "boost", "ensemble_/trees/feature", 0, 4, "asks for a feature that is not among the 4"
    yield "boost", "ensemble_/trees/feature", 0, -1, "asks for a feature"
    yield "boost", "ensemble_/trees/feature", -1, 0, "a leaf asks a question"
    yield "boost", "ensemble_/trees/threshold", 0, np.nan, "a threshold is NaN"
    yield (
        "boost",
        "ensemble_/trees/missing_left",
        0,
        2,
        r"missing_left has \[2\], .* at least 0 and at most 1",
    )
    yield (
        "boost",
        "ensemble_/trees/value",
        0,
        np.inf,
        "ensemble_/trees/value has .*inf.*, which is not a number",
    )
    yield (
        "boost",
        "ensemble_/trees/value",
        slice(None),
        1e308,
        "add up to more than a number can hold",
    )
    yield "boost", "ensemble_/trees/gain", 0, np.nan, "the gain of a node is not a finite number"
    yield (
        "boost",
        "ensemble_/trees/cover",
        0,
        -1.0,
        "ensemble_/trees/cover has .*-1.*a number at least 0",
    )
    yield (
        "boost",
        "ensemble_/trees/count",
        0,
        -1,
        "ensemble_/trees/count has .*-1.*a number at least 0",
    )
    yield "boost", "ensemble_/trees/n_nodes", 0, 0, "n_nodes do not add up"
    yield "boost", "ensemble_/trees/n_nodes", 0, 2**62, "n_nodes do not add up"
    yield "boost", "ensemble_/trees/n_nodes", 0, 1, "n_nodes do not add up"
    yield "boost", "ensemble_/base_score", 0, np.nan, "ensemble_/base_score has .*nan"
    yield "tree of classes", "ensemble_/trees/value", 0, 1.5, "a share of a class is not in 0 to 1"
    yield "tree of classes", "ensemble_/trees/first_word", 0, 10**6, "a set|has a set"
    yield (
        "tree of classes",
        "ensemble_/trees/first_word",
        slice(None),
        -1,
        "a node on a nominal feature has no set",
    )
    yield "tree of classes", "ensemble_/trees/sets", "drop", None, "n_words do not add up"
    yield (
        "tree of classes",
        "ensemble_/features/features/2/categories",
        0,
        1e9,
        "the categories of feature 2 must be ascending and distinct",
    )
    yield "forest", "bags_/usable", -1, 10**6, "usable must hold ascending numbers of the 90 rows"
    yield "forest", "bags_/usable", 0, 5, "usable must hold ascending numbers"
    yield "forest", "oob_prediction_", "drop", None, "oob_prediction_ has the shape"
    yield (
        "forest with targets",
        "leaf_targets_/rows",
        0,
        10**6,
        "a training row that does not exist",
    )
    yield (
        "forest with targets",
        "leaf_targets_/begin",
        1,
        10**6,
        "the rows of the leaves are not in order",
    )
    yield (
        "forest with targets",
        "leaf_targets_/begin",
        slice(1, -1),
        0,
        "a leaf has no training rows",
    )
    yield (
        "forest with targets",
        "leaf_targets_/rank",
        0,
        2**31 - 1,
        "ranks are not those of the targets",
    )
    yield "forest with targets", "leaf_targets_/rank", 0, -1, "ranks are not those of the targets"
    yield "forest with targets", "leaf_targets_/share", 0, 2.0, "leaf_targets_/share has .*2"
    yield (
        "forest with targets",
        "leaf_targets_/by_rank",
        0,
        1e9,
        "the training targets are not ascending",
    )
    yield "adaboost", "ensemble_/tree_weights", 0, 0.0, "do not add up to a positive number"
    yield "adaboost", "ensemble_/tree_weights", 0, 1.7e308, "do not add up to a positive number"
    yield "adaboost", "estimator_errors_", 0, np.nan, "estimator_errors_ has .*nan"


@pytest.mark.parametrize(
    "case", list(array_cases()), ids=lambda c: f"{c[0]}: {c[1]}[{c[2]}] = {c[3]}"
)
def test_entries_of_the_arrays_are_checked(case, tmp_path):
    name, array, index, value, reason = case
    fitted(name).save_model(tmp_path / "good.gb")
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
    """Prediction of many rows turns thresholds into bins of one byte.

    Boosting never makes more than 254 of them; with more, rows walk on their values.
    """
    x, y = np.arange(2000.0)[:, None], np.random.default_rng(0).normal(size=2000)
    model = gb.GPUBoostRegressor(
        n_estimators=3, max_depth=10, reg_lambda=0.0, min_child_weight=0.0
    ).fit(x, y)
    model.save_model(tmp_path / "model.gb")
    with open(tmp_path / "model.gb", "rb") as file:
        header, arrays = FUZZ.read_model(file)
    inner = arrays["ensemble_/trees/left"] >= 0
    assert inner.sum() > 254
    for n in (254, 255):
        arrays["ensemble_/trees/threshold"][inner] = np.minimum(np.arange(inner.sum()), n - 1)
        with open(tmp_path / "model.gb", "wb") as file:
            FUZZ.write_model(file, header, arrays)
        loaded = gb.load_model(tmp_path / "model.gb")
        np.testing.assert_array_equal(
            loaded.predict(x),
            np.concatenate([loaded.predict(x[i : i + 40]) for i in range(0, 2000, 40)]),
        )


def test_arrays_without_dimensions_are_checked_too(good, tmp_path):
    header, arrays = FUZZ.parts_of(good)
    header["parameters"]["class_weight"] = {"array": "parameters/class_weight"}
    begin = len(arrays) + -len(arrays) % 64
    header["arrays"].append(
        {"name": "parameters/class_weight", "dtype": "<U2", "shape": [], "offset": begin}
    )
    broken = "text that is not Unicode"
    for points, reason in (
        ((0x61, 0x110000), broken),
        ((0x61, 0xD800), broken),
        ((0x61, 0x62), ""),
    ):
        text = np.array(points, "<u4").tobytes()
        changed = arrays + bytes(begin - len(arrays)) + text
        (tmp_path / "other.gb").write_bytes(FUZZ.seal(FUZZ.canonical_json(header), changed))
        if reason:
            with pytest.raises(gb.ModelFormatError, match=reason):
                gb.load_model(tmp_path / "other.gb")
        else:
            assert gb.load_model(tmp_path / "other.gb").class_weight == np.array("ab")


def test_names_that_are_no_text_are_not_saved(tmp_path):
    for features, classes in (([*"abc", "\ud800"], np.arange(2)), ([*"abcd"], ["a", "\ud800"])):
        model = gb.GPUBoostClassifier(n_estimators=1).fit(X[:20], np.arange(20) % 2)
        name_columns(model, features, np.array(classes), {}, {})
        with pytest.raises(gb.ModelFormatError, match="not Unicode|surrogates not allowed"):
            model.save_model(tmp_path / "model.gb")
        assert not list(tmp_path.iterdir())


# --- files of other versions of the library


def changed_file(name, change, folder):
    """The model of a file whose header and arrays were changed."""
    header, arrays = FUZZ.content_of(FUZZ.file_of(fitted(name)))
    change(header, arrays)
    with open(folder / "changed.gb", "wb") as file:
        FUZZ.write_model(file, header, arrays)
    return gb.load_model(folder / "changed.gb")


#: Where a file may hold more than this version knows: paths of new fields.
UNKNOWN = (
    "more_",
    "parameters/more",
    "ensemble_/more",
    "ensemble_/trees/more",
    "ensemble_/link/more",
    "bags_/more",
    "leaf_targets_/more",
    "table_/more",
)


def table_with_targets(header):
    header["table_"] = {"target": "y", "task": "regression", "columns": list("abcd")}
    header["ensemble_"]["link"] = {"name": "identity"}


@pytest.mark.parametrize("path", UNKNOWN)
@pytest.mark.parametrize("value", [None, 1.5, {"what": [1]}, "array"])
def test_an_unknown_field_is_ignored_unless_it_is_required(path, value, tmp_path):
    def change(header, arrays):
        table_with_targets(header)
        if value == "array":
            arrays[path] = np.arange(3.0)
        edit(header, path, {"array": path} if value == "array" else value)

    def require(header, arrays):
        change(header, arrays)
        header["required"].append(path)

    model, changed = (
        fitted("forest with targets"),
        changed_file("forest with targets", change, tmp_path),
    )
    changed.__dict__.pop("table_")
    assert_same(dict(vars(model)), dict(vars(changed)))
    reason = f"it needs '{path}', which this gpuboost does not know: update gpuboost"
    with pytest.raises(gb.ModelFormatError, match=reason):
        changed_file("forest with targets", require, tmp_path)


def test_an_unknown_array_is_ignored_unless_it_is_required(tmp_path):
    model = changed_file("classes", lambda _, arrays: arrays.update(more=np.zeros(3)), tmp_path)
    assert_same(dict(vars(model)), dict(vars(fitted("classes"))))

    def require(header, arrays):
        arrays["more"] = np.zeros(3)
        header["required"].append("more")

    with pytest.raises(gb.ModelFormatError, match="it needs 'more'"):
        changed_file("classes", require, tmp_path)


def test_what_belongs_to_an_unknown_field_is_ignored_with_it(tmp_path):
    def change(header, _):
        header["more_"] = {"part": 1}
        header["required"].append("more_/part")

    model = changed_file("boost", change, tmp_path)
    assert_same(dict(vars(model)), dict(vars(fitted("boost"))))


def test_trees_of_another_kind_of_estimator(tmp_path):
    def change(header, _):
        header["estimator"] = "DecisionTreeRegressor"
        del header["parameters"]["criterion"]

    reason = "its trees are combined as no DecisionTreeRegressor does"
    with pytest.raises(gb.ModelFormatError, match=reason):
        changed_file("tree of both", change, tmp_path)


def test_a_field_that_is_missing_has_its_default(tmp_path):
    """A default is not written; what was required must be there all the same."""
    header, _ = FUZZ.content_of(FUZZ.file_of(fitted("boost")))
    assert not {"link", "combine", "classes", "n_used", "vote"} & set(header["ensemble_"])

    def without_scale(header, _):
        del header["ensemble_"]["link"]["scale"]

    def without_scale_that_is_not_required(header, _):
        without_scale(header, _)
        header["required"].remove("ensemble_/link/scale")

    with pytest.raises(gb.ModelFormatError, match="ensemble_/link lacks 'scale'"):
        changed_file("bool classes", without_scale, tmp_path)
    model = changed_file("bool classes", without_scale_that_is_not_required, tmp_path)
    assert model.ensemble_.link == Link("logistic")

    def without_targets(header, arrays):
        del header["leaf_targets_"]

    assert changed_file("forest with targets", without_targets, tmp_path).leaf_targets_ is None


@pytest.mark.parametrize("name", ["boost", "tree of classes", "forest with targets", "adaboost"])
def test_a_field_without_a_default_must_be_there(name, tmp_path):
    data = FUZZ.file_of(fitted(name))
    required = FUZZ.content_of(data)[0]["required"]
    assert "ensemble_/trees/left" in required
    for path in required:
        header, arrays = FUZZ.content_of(data)
        remove(header, path)
        with open(tmp_path / "changed.gb", "wb") as file:
            FUZZ.write_model(file, header, arrays)
        with pytest.raises(
            gb.ModelFormatError,
            match=f"lacks '{path.split('/')[-1]}'|not an array|has categories or",
        ):
            gb.load_model(tmp_path / "changed.gb")


def test_a_parameter_that_is_missing_has_its_default(tmp_path):
    """A file from before a parameter was there."""
    for name, model in ((name, fitted(name)) for name in ("boost", "tree", "forest", "adaboost")):
        for parameter, value in model.get_params().items():
            if value == type(model)().get_params()[parameter]:
                path = f"parameters/{parameter}"
                loaded = changed_file(name, lambda header, _, p=path: remove(header, p), tmp_path)
                assert loaded.get_params() == model.get_params()


def test_files_that_cannot_be_read_are_errors_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        gb.load_model(tmp_path / "nothing.gb")
    with pytest.raises(IsADirectoryError):
        gb.load_model(str(tmp_path))


def test_three_thousand_damaged_files(tmp_path):
    """Each loads equal, or is refused, or (changed behind the checksum) is another valid model.

    ``tests/model/fuzz_files.py`` makes as many as one likes.
    """
    judge = FUZZ.Judge(*FUZZ.make_models(), tmp_path)
    for number in range(3000):
        judge.check(number, seed=1)
    outcomes = {outcome for _, outcome in judge.counts}
    assert (
        outcomes == {"refused", "unchanged", "another model", "another model, less or more"}
        and judge.counts["bytes", "refused"] > 1000
    )
    assert len(judge.reasons) > 100


# --- the description


def test_the_reader_of_the_description_reads_every_model(tmp_path):
    """docs/format.md has a reader that knows nothing of this library."""
    code = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "format.md").read_text(), re.DOTALL)
    own = {}
    for block in code:
        exec(block, own)
    for model in map(fitted, MODELS):
        model.save_model(tmp_path / "model.gb")
        header, arrays = own["read"](tmp_path / "model.gb")
        assert header["estimator"] == type(model).__name__
        trees = model.ensemble_.trees
        np.testing.assert_array_equal(
            arrays["ensemble_/trees/value"], np.concatenate([tree.value for tree in trees])
        )
    for name in ("boost", "boost with weights", "boost, early"):
        fitted(name).save_model(tmp_path / "model.gb")
        np.testing.assert_allclose(
            own["predict"](tmp_path / "model.gb", X), fitted(name).predict(X), rtol=1e-12
        )


def test_the_description_names_every_field_and_array(tmp_path):
    text = (ROOT / "docs" / "format.md").read_text()
    assert str(PREAMBLE.size) in text and "\\x89gpuboost\\r\\n\\x1a" in text
    for model in map(fitted, MODELS):
        header, _ = FUZZ.parts_of(FUZZ.file_of(model))
        paths = {*header, *header["required"], *(entry["name"] for entry in header["arrays"])}
        for path in paths:
            name = re.sub(r"/\d+", "", path).split("/")[-1]
            assert f"`{name}`" in text or path.startswith("parameters/"), path


# --- files that must not be read


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.gb")
    with pytest.raises(
        gb.ModelFormatError, match="pipe.gb cannot be loaded: it is no regular file"
    ):
        gb.load_model(tmp_path / "pipe.gb")


@pytest.mark.parametrize("inside", ["header", "arrays"])
def test_a_sparse_file_is_refused_without_reading_it(inside, tmp_path):
    """The sizes are those of the file, but the header does not say what all these bytes are."""
    path, size = tmp_path / "large.gb", 4 << 30
    sizes = (size - 64, 0) if inside == "header" else (64, size - 128)
    with path.open("wb") as file:
        file.write(PREAMBLE.pack(MAGIC, VERSION, *sizes, b""))
        file.truncate(size)
    tracemalloc.start()
    with pytest.raises(gb.ModelFormatError, match="more than a model has|header is not JSON"):
        gb.load_model(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
