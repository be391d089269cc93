"""A damaged file says so, and the format is the one that is described."""

import json
import re

import numpy as np
import pytest
from saved_models import FUZZ, MODELS, ROOT, X, fitted

import gpuboost as gb
from gpuboost.model.file import PREAMBLE

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
            lambda d: d[:12] + b"\x02" + d[13:],
            "its format version is 2, this gpuboost reads up to 1: update gpuboost",
        ),
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
        (b'{"a":"\\ud800"}', "a text in the header is not Unicode"),
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
        (
            "parameters/random_state",
            {"array": "trees/left"},
            "parameters/random_state is in an array of another name",
        ),
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
        ("fitted/link/name", "identity", "the link is 'identity', not 'softmax'"),
        ("fitted/link/scale", -1.0, "the link has no valid scale"),
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
    """(model, array, index, value, reason).

    Each would make a kernel read where nothing is, or predict nonsense.
    """
    yield "boost", "trees/left", 0, 10**6, "child does not stand behind it"
    yield "boost", "trees/left", 1, 0, "child does not stand behind it"
    yield "boost", "trees/left", -1, 0, "child does not stand behind it"
    yield "boost", "trees/left", 0, 3, "no parent or more than one"
    yield "boost", "trees/left", 0, -2, "a leaf has children other than -1"
    yield "boost", "trees/feature", 0, 4, "asks for a feature that is not among the 4"
    yield "boost", "trees/feature", 0, -1, "asks for a feature"
    yield "boost", "trees/feature", -1, 0, "a leaf asks a question"
    yield "boost", "trees/threshold", 0, np.nan, "a threshold is NaN"
    yield "boost", "trees/missing_left", 0, 2, "missing_left is neither 0 nor 1"
    yield (
        "boost",
        "trees/value",
        0,
        np.inf,
        "the value of a node has .*inf.*, which is not a finite number",
    )
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
    yield (
        "tree of classes",
        "trees/first_word",
        slice(None),
        -1,
        "a node on a nominal feature has no set",
    )
    yield "tree of classes", "trees/sets", "drop", None, "sizes of the trees' sets"
    yield (
        "tree of classes",
        "categories/2",
        0,
        1e9,
        "the categories of feature 2 must be ascending and distinct",
    )
    yield "forest", "bags/usable", -1, 10**6, "a row with weight does not exist"
    yield "forest", "bags/usable", 0, 5, "the rows with weight are not ascending"
    yield "forest", "oob", "drop", None, "array 'oob' has the shape"
    yield "forest with targets", "leaf_targets/rows", 0, 10**6, "a training row that does not exist"
    yield (
        "forest with targets",
        "leaf_targets/begin",
        1,
        10**6,
        "the rows of the leaves are not in order",
    )
    yield (
        "forest with targets",
        "leaf_targets/begin",
        slice(1, -1),
        0,
        "a leaf has no training rows",
    )
    yield (
        "forest with targets",
        "leaf_targets/rank",
        0,
        2**31 - 1,
        "ranks are not those of the targets",
    )
    yield "forest with targets", "leaf_targets/rank", 0, -1, "ranks are not those of the targets"
    yield "forest with targets", "leaf_targets/share", 0, 2.0, "the share of a row"
    yield (
        "forest with targets",
        "leaf_targets/by_rank",
        0,
        1e9,
        "the training targets are not ascending",
    )
    yield "adaboost", "estimator_weights", 0, 0.0, "do not add up to a positive number"
    yield "adaboost", "estimator_weights", 0, 1.7e308, "do not add up to a positive number"
    yield "adaboost", "estimator_errors", 0, np.nan, "the error of a tree has .*nan"


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
    inner = arrays["trees/left"] >= 0
    assert inner.sum() > 254
    for n in (254, 255):
        arrays["trees/threshold"][inner] = np.minimum(np.arange(inner.sum()), n - 1)
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
    place = [entry["name"] for entry in header["arrays"]].index("trees/count")
    begin = header["arrays"][place]["offset"]
    for later in header["arrays"][place:]:
        later["offset"] += 64
    header["arrays"].insert(
        place, {"name": "parameters/class_weight", "dtype": "<U2", "shape": [], "offset": begin}
    )
    broken = "text that is not Unicode"
    for points, reason in (
        ((0x61, 0x110000), broken),
        ((0x61, 0xD800), broken),
        ((0x61, 0x62), ""),
    ):
        text = np.array(points, "<u4").tobytes()
        changed = arrays[:begin] + text + bytes(64 - len(text)) + arrays[begin:]
        (tmp_path / "other.gb").write_bytes(FUZZ.seal(FUZZ.canonical_json(header), changed))
        if reason:
            with pytest.raises(gb.ModelFormatError, match=reason):
                gb.load_model(tmp_path / "other.gb")
        else:
            assert gb.load_model(tmp_path / "other.gb").class_weight == np.array("ab")


def test_names_that_are_no_text_are_not_saved(tmp_path):
    for names in (["a", "\ud800"], np.array(["a", "\ud800"])):
        model = gb.GPUBoostClassifier(n_estimators=1).fit(
            X[:20], np.array(names)[np.arange(20) % 2]
        )
        if isinstance(names, list):
            model.feature_names_in_, model.classes_ = (
                np.array([*"abc", "\ud800"], dtype=object),
                np.arange(2),
            )
        with pytest.raises(gb.ModelFormatError, match="not Unicode"):
            model.save_model(tmp_path / "model.gb")
        assert not list(tmp_path.iterdir())


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
    """Each loads equal, or is refused, or (changed behind the checksum) is another valid model.

    ``tests/model/fuzz_files.py`` makes as many as one likes.
    """
    judge = FUZZ.Judge(*FUZZ.make_models(), tmp_path)
    for number in range(3000):
        judge.check(number, seed=1)
    outcomes = {outcome for _, outcome in judge.counts}
    assert (
        outcomes == {"refused", "unchanged", "another model"}
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
            arrays["trees/value"], np.concatenate([tree.value for tree in trees])
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
        model.save_model(tmp_path / "model.gb")
        header, _ = FUZZ.parts_of((tmp_path / "model.gb").read_bytes())
        names = {
            *header,
            *header["fitted"],
            *(re.sub(r"/\d+", "/N", entry["name"]) for entry in header["arrays"]),
        }
        for name in names:
            assert f"`{name}`" in text or name.startswith("parameters/"), name
