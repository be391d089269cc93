"""What a class declares is what a file holds."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pytest
from saved_models import assert_same

from gpuboost.config import Number
from gpuboost.model.file import ModelFormatError
from gpuboost.model.stored import OPTIONAL, Reader, Writer


@dataclass
class Piece:
    sizes: Annotated[np.ndarray, np.int32, "parts"]
    marks: Annotated[np.ndarray, np.float64, "marks"] = field(default_factory=lambda: np.empty(0))


@dataclass
class Whole:
    number: Annotated[int, range(5)]
    pieces: list[Piece]
    weights: Annotated[np.ndarray, np.float64, "pieces", Number(0)]
    kind: Annotated[str, ("a", "b")] = "a"
    texts: dict[str, list[str]] = field(default_factory=dict)
    curve: list[float] | None = field(default=None, metadata=OPTIONAL)
    anything: dict[str, Any] = field(default_factory=dict)
    _hidden: int = 0


PIECES = [Piece(np.arange(n, dtype=np.int32), np.arange(n - 1.0)) for n in (3, 1)]
FULL = Whole(3, PIECES, np.ones(2), "b", {"z": ["x"], "a": []}, [1.0, np.nan], {"f": (1, None)})
LEAST = Whole(3, [Piece(np.zeros(2, np.int32))], np.ones(1))


def written(value):
    writer = Writer()
    return writer.put(type(value), value, "whole"), writer


@pytest.mark.parametrize("value", [FULL, LEAST])
def test_what_is_put_can_be_taken(value):
    record, writer = written(value)
    reader = Reader(writer.arrays, writer.required)
    assert_same(reader.take(Whole, record, "whole"), value)
    reader.finish()


def test_what_has_its_default_is_not_written():
    record, writer = written(LEAST)
    assert set(record) == {"number", "pieces", "weights"}
    assert set(record["pieces"]) == {"sizes", "n_parts"}
    assert set(writer.required) == {
        f"whole/{name}"
        for name in ("number", "pieces", "pieces/sizes", "pieces/n_parts", "weights")
    }
    assert "whole/curve" not in written(FULL)[1].required


def test_what_a_file_cannot_hold_is_null_or_an_error():
    record, _ = written(Whole(3, PIECES, np.ones(2), anything={"f": [np.ones(2), print], "g": 1}))
    assert record["anything"] == [["f", None], ["g", 1]]
    with pytest.raises(TypeError, match="whole/weights: a set, which a model file cannot hold"):
        written(Whole(3, PIECES, {1}))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("number", 5, r"whole/number is '5', not int range\(0, 5\)"),
        ("number", 1.0, "whole/number is '1.0', not int"),
        ("number", None, "whole/number is 'None', not int"),
        ("kind", "c", r"whole/kind is 'c', not str \('a', 'b'\)"),
        ("pieces", [], "whole/pieces is not a JSON object"),
        ("pieces", {}, "whole/pieces lacks 'sizes'"),
        ("weights", 1, "whole/weights is not an array"),
        ("weights", {"array": "whole/pieces/sizes"}, "in an array of another name"),
        ("texts", {}, "whole/texts is not a list"),
        ("texts", [["a"]], "whole/texts has an entry that is not a key and a value"),
        ("texts", [["a", []], ["a", []]], "whole/texts has a key twice"),
        ("texts", [[1, []]], "whole/texts/0 is '1', not str"),
        ("curve", [1.0], "whole/curve is not an array"),
    ],
)
def test_what_is_not_as_it_was_declared(name, value, reason):
    record, writer = written(FULL)
    with pytest.raises(ModelFormatError, match=reason):
        Reader(writer.arrays, writer.required).take(Whole, record | {name: value}, "whole")


@pytest.mark.parametrize(
    ("name", "array", "reason"),
    [
        ("weights", np.ones(2, np.float32), "has the dtype float32"),
        ("weights", np.ones((2, 1)), r"the shape \(2, 1\), not float64 and \(pieces\)"),
        ("weights", np.ones(3), "array 'whole/weights' has 3 pieces, not 2"),
        ("weights", -np.ones(2), r"has \[-1.\], which is not a number at least 0"),
        ("weights", np.array([1, np.inf]), r"has \[inf\], which is not a number"),
        ("pieces/n_parts", np.array([3, 2]), "n_parts do not add up to 4"),
        ("pieces/n_parts", np.array([5, -1]), "n_parts do not add up to 4"),
        ("pieces/n_parts", np.array([4]), "has [12] pieces, not [12]"),
    ],
)
def test_arrays_that_are_not_as_they_were_declared(name, array, reason):
    record, writer = written(FULL)
    arrays = writer.arrays | {f"whole/{name}": array}
    with pytest.raises(ModelFormatError, match=reason):
        Reader(arrays, writer.required).take(Whole, record, "whole")
