"""Input that is on a device already.

CuPy arrays, and what speaks ``__cuda_array_interface__`` or DLPack; cuDF's frames and series.
"""

import numpy as np

from gpuboost.kernels.cuda.device import cupy

#: DLPack's numbers for CUDA memory: on a device, and managed by the driver.
CUDA_MEMORY = (2, 13)


def device_of(x):
    """Number of the device that an array or a frame is on; None for anything on the host."""
    if _is_cudf(x):
        return cupy().cuda.runtime.getDevice()  # cuDF works on the current device only
    where = getattr(x, "__dlpack_device__", None)
    kind, index = where() if where is not None else (None, None)
    if kind in CUDA_MEMORY:
        return int(index)
    interface = getattr(x, "__cuda_array_interface__", None)
    if interface is None:
        return None
    pointer = interface["data"][0]
    return (
        cupy().cuda.runtime.pointerGetAttributes(pointer).device
        if pointer
        else cupy().cuda.runtime.getDevice()
    )


def _is_cudf(x):
    return hasattr(x, "to_cupy")


def holds_numbers(x):
    """Whether every column is one of numbers; arrays have no others."""
    if not (hasattr(x, "columns") and _is_cudf(x)):
        return True
    return all(getattr(x[name].dtype, "kind", "O") in "fiub" for name in x.columns)


def device_array(x):
    """Device input as a CuPy array, without a copy but for frames, and its column names or None."""
    with cupy().cuda.Device(device_of(x)):
        if _is_cudf(x):
            return (
                (_from_frame(x), list(x.columns))
                if hasattr(x, "columns")
                else (_from_series(x), None)
            )
        return (
            cupy().asarray(x) if hasattr(x, "__cuda_array_interface__") else cupy().from_dlpack(x)
        ), None


def host_copy(x):
    """Device input on the host: for labels and weights, which scikit-learn checks there."""
    if hasattr(x, "to_pandas"):  # also what has no device form, such as strings
        return x.to_pandas()
    with cupy().cuda.Device(device_of(x)):
        return cupy().asnumpy(device_array(x)[0])


def _from_frame(frame):
    columns = [_from_series(frame[name], name) for name in frame.columns]
    if not columns:
        return cupy().empty((len(frame), 0), np.float64)
    out = cupy().empty(
        (len(frame), len(columns)), np.result_type(*(column.dtype for column in columns))
    )
    for f, column in enumerate(columns):
        out[:, f] = column
    return out


def _from_series(series, name=None):
    """A cuDF column; nulls become NaN."""
    kind = getattr(series.dtype, "kind", "O")
    if kind not in "fiub":
        raise ValueError(
            f"X must hold numbers; encode text first (column {name!r} has dtype {series.dtype})"
        )
    if series.null_count == 0:
        return series.to_cupy()
    return (series if kind == "f" else series.astype("float64")).to_cupy(na_value=np.nan)
