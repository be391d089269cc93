"""User input to clean arrays: shape, dtype, weights, targets. Knows nothing of trees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.class_weight import compute_sample_weight

from gpuboost.data.columns import is_missing

#: Dtypes the kernels take as they are; everything else is converted.
NATIVE = {
    np.dtype(t)
    for t in (
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
    )
}

#: Largest weight that may be in boosting; the largest one of all must be at least 1 / this.
LARGEST_WEIGHT = 2.0**200
#: The same for classical trees, which sum weights in a unit of their own; and for targets of
#: these times roots of weights, whose squares are impurities.
LARGEST_IN_TREES, LARGEST_ROOT = 2.0**300, 2.0**450


def to_native(x: np.ndarray) -> np.ndarray:
    """A matrix in a dtype the kernels take, copied only if it has to be."""
    if x.dtype in NATIVE and x.dtype.isnative:
        return x
    if x.dtype == np.bool_:
        return x.view(np.uint8)
    return x.astype(np.float32 if x.dtype == np.float16 else np.float64)


def check_numbers(name: str, values: Any, n_rows: int) -> np.ndarray:
    """A float64 vector of finite numbers, one for each row."""
    refuse_mask(name, values)
    out = np.asarray(values)
    if out.dtype.kind == "c":
        raise ValueError(f"{name} must hold real numbers; got dtype {out.dtype}")
    refuse_times(name, out)
    if out.ndim != 1 or out.shape[0] != n_rows:
        raise ValueError(
            f"{name} must have one entry for each of the {n_rows} rows of X; got shape {out.shape}"
        )
    try:
        out = out.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers; got dtype {out.dtype}: {error}") from error
    bad = np.flatnonzero(~np.isfinite(out))
    if bad.size:
        raise ValueError(
            f"{name} contains NaN or infinity: {out[bad[0]]} at row {bad[0]} ({bad.size} such rows)"
        )
    return out


def check_targets(name: str, y: Any, n_rows: int, n_outputs: int | None = None) -> np.ndarray:
    """Targets that are numbers: (n_rows,) float64, or (n_outputs, n_rows) if y has columns.

    ``n_outputs`` is how many there have to be, if that is known.
    """
    values = np.asarray(y)
    n = values.shape[1] if values.ndim == 2 else 1
    if values.ndim != 2 if n_outputs is None else n_outputs == 1:
        return check_numbers(name, y, n_rows)
    if n_outputs is not None and n != n_outputs:
        raise ValueError(
            f"{name} must have {n_outputs} columns, as y has; got shape {values.shape}"
        )
    of_columns = enumerate(values.T)
    return np.stack([check_numbers(f"{name}[:, {k}]", one, n_rows) for k, one in of_columns])


def check_labels(name: str, y: Any, n_rows: int, n_outputs: int | None = None) -> np.ndarray:
    """Labels of rows, 1 for those that a row has: (n_labels, n_rows) float64."""
    values = check_targets(name, y, n_rows, n_outputs)
    other = (values != 0) & (values != 1)
    if other.any():
        k, row = (int(place[0]) for place in np.nonzero(other))
        raise ValueError(
            f"{name} with several columns must hold 0 and 1, for labels that a row does not have "
            f"and has; got {values[k, row]} in column {k} at row {row}. For columns of other "
            "classes, fit sklearn.multioutput.MultiOutputClassifier(GPUBoostClassifier())"
        )
    return values


def refuse_mask(name: str, values: Any) -> None:
    """Raise if targets or weights are masked: only X may have missing values."""
    if np.ma.is_masked(values):
        n = int(np.ma.getmaskarray(values).sum())
        raise ValueError(f"{name} must not have masked entries, as only X may; {n} are masked")


def refuse_times(name: str, values: Any) -> None:
    """Raise if targets or weights are dates or lengths of time, whose unit nobody has said."""
    dtype = np.asarray(values).dtype
    if dtype.kind in "mM":
        raise ValueError(f"{name} must hold real numbers; got dtype {dtype}")


def check_class_labels(name: str, y: Any) -> None:
    """Raise if some labels are missing, or some are texts and others are not."""
    labels = np.asarray(y)
    if labels.dtype.kind != "O" or not labels.ndim or set(map(type, labels.flat)) == {str}:
        return
    texts = [label for label in labels.flat if isinstance(label, (str, bytes))]
    others = [label for label in labels.flat if not isinstance(label, (str, bytes))]
    missing = [label for label in others if is_missing(label)]
    if missing:
        raise ValueError(f"{name} must not have missing values; got {missing[0]!r}")
    if texts and others:
        raise ValueError(
            f"{name} must hold classes of one type; got {texts[0]!r} and {others[0]!r}: make texts "
            "or numbers of all of them"
        )


def check_groups(groups: Any, n_rows: int) -> np.ndarray:
    """The group of each row."""
    refuse_mask("groups", groups)
    out = np.asarray(groups)
    if out.ndim != 1 or len(out) != n_rows:
        raise ValueError(
            f"groups must have one entry for each of the {n_rows} rows of X; got shape {out.shape}"
        )
    if (out != out).any():
        row = int(np.argmax(out != out))
        raise ValueError(f"groups must not have missing entries; got {out[row]!r} at row {row}")
    return out


def refuse_sparse(name: str, values: Any) -> None:
    """Raise if targets are a sparse matrix."""
    if issparse(values):
        raise TypeError(
            f"{name} must be a dense array; got a sparse {type(values).__name__}: use "
            f"{name.split()[0]}.toarray()"
        )


def refuse_categories_of_sparse(x: Any, categorical_features: Any) -> None:
    """Raise if columns of a sparse matrix are to be categories."""
    if categorical_features is not None and not isinstance(categorical_features, str):
        raise TypeError(
            "categorical_features must be None or 'auto' for a sparse X, such as this "
            f"{type(x).__name__}: use X.toarray(), or leave it out"
        )


def check_weight(
    sample_weight: Any,
    n_rows: int,
    name: str = "sample_weight",
    largest_allowed: float = LARGEST_WEIGHT,
) -> np.ndarray:
    """Weights as float64; an empty array if there are none."""
    if sample_weight is None:
        return np.empty(0)
    refuse_mask(name, sample_weight)
    weight = np.asarray(sample_weight)
    weight = check_numbers(name, np.full(n_rows, weight) if weight.ndim == 0 else weight, n_rows)
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise ValueError(f"{name} must not be negative: {weight[row]} at row {row}")
    if not (weight > 0).any():
        raise ValueError(f"{name} must not be all zero: every weight is 0, there is nothing to fit")
    largest = float(weight.max())
    if not 1 / largest_allowed <= largest <= largest_allowed:
        raise ValueError(
            f"the largest {name} must be between {1 / largest_allowed:.0e} and "
            f"{largest_allowed:.0e}, so that sums and their squares can be written; got "
            f"{largest!r}: multiply all of them by a constant"
        )
    return weight


def check_squares(name: str, y: np.ndarray, weight: np.ndarray) -> None:
    """Raise if a column of targets has no weighted squares that float64 holds."""
    largest = np.abs(y[weight > 0]).max(axis=0, initial=0.0)
    root = math.sqrt(float(weight.max()))
    least, most = 1 / LARGEST_ROOT / root, LARGEST_ROOT / root
    bad = (largest > 0) & ((largest > most) | (largest < least))
    if bad.any():
        raise ValueError(
            f"the largest absolute value of {name} must be 0 or between {least:.0e} and "
            f"{most:.0e}, so that squares times weights can be written; got "
            f"{float(largest[bad][0])!r}: multiply {name} by a constant"
        )


def check_class_weight(class_weight: Any) -> None:
    """Raise if a text is given that is not the name of class weights."""
    if isinstance(class_weight, str) and class_weight != "balanced":
        raise ValueError(f"class_weight must be None, 'balanced' or a dict; got {class_weight!r}")


def weights_by_class(class_weight: Any, y: np.ndarray) -> np.ndarray:
    """Weights of the rows that follow from those of the classes."""
    try:
        return np.asarray(compute_sample_weight(class_weight, y), np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"class_weight={class_weight!r} cannot be used: {error}") from error


def class_codes(name: str, y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Classes to their places among the known ones, which are ascending."""
    codes = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    unknown = classes[codes] != y
    if np.any(unknown):
        raise ValueError(
            f"{name} has a class that the training data does not have: {y[unknown].tolist()[0]!r}"
        )
    return codes
