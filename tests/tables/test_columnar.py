"""Arrow and Parquet."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest
from table_files import read, same


def test_arrow_streams_are_read_too(frame, tmp_path):
    path = tmp_path / "t.arrow"
    table = pa.Table.from_pandas(frame)
    with pa.ipc.new_stream(str(path), table.schema) as stream:
        stream.write_table(table, max_chunksize=77)
    same(read(str(path)).train.x, frame[["a", "b", "c"]])


@pytest.mark.parametrize("dtype", ["float32", "int16", "uint8"])
def test_columns_that_float32_holds_stay_small(dtype, tmp_path):
    frame = pd.DataFrame(
        {"a": np.arange(10).astype(dtype), "t": list("abcdefghij"), "y": np.arange(10.0)}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    data = read(str(tmp_path / "t.parquet"))
    assert data.train.x.dtype == np.float32
    same(data.train.x[:, 1], np.arange(10))
