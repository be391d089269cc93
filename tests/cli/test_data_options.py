"""Options of commands that read tables."""

import argparse
import errno
import os
import warnings

import pytest

from gpuboost.cli.common import CliError, add_options
from gpuboost.cli.data_options import (
    TABLE_OPTIONS,
    check_output,
    names,
    naming,
    open_with_options,
    without_name_warnings,
)


def test_names_between_commas():
    assert names(None) == names("") == [] and names(" a, b c,,d ") == ["a", "b c", "d"]


@pytest.mark.parametrize("delimiter", ["\\t", "tab", "\t"])
def test_tables_are_read_as_the_options_say(tmp_path, delimiter):
    path = tmp_path / "table.txt"
    path.write_text("1\t2\n3\t4\n")
    parser = argparse.ArgumentParser()
    add_options(parser, TABLE_OPTIONS)
    args = parser.parse_args(["--format", "csv", "--delimiter", delimiter, "--no-header"])
    with open_with_options(str(path), args) as table:
        assert table.names == ["c0", "c1"]


def test_output_is_checked_before_any_work(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("")
    check_output("-")
    check_output(str(tmp_path / "new.gb"), str(table), None)
    for path, message in [
        (tmp_path, "is a folder; name a file"),
        (tmp_path / "missing" / "model.gb", "there is no folder"),
        (table, "would be written over what is read"),
    ]:
        with pytest.raises(CliError, match=message):
            check_output(str(path), str(table))


def test_errors_of_the_system_name_the_file():
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(OSError, match="No space left on device: 'model.gb'"), naming("model.gb"):
        raise full
    named = FileNotFoundError(errno.ENOENT, "gone", "other")
    with pytest.raises(FileNotFoundError, match="other"), naming("model.gb"):
        raise named


def test_matrices_need_no_names_once_their_columns_were_found():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with without_name_warnings():
            warnings.warn("X does not have valid feature names, but ...", stacklevel=1)
        warnings.warn("another", stacklevel=1)
    assert [str(one.message) for one in seen] == ["another"]
