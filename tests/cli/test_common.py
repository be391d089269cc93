"""What the subcommands share."""

import argparse
import json

from gpuboost.cli.common import JSON_OPTION, USAGE, CliError, add_options, say, write_json


def test_words_go_to_standard_error_and_results_to_standard_output(capsys):
    say("reading")
    write_json({"rows": 3})
    out, err = capsys.readouterr()
    assert err == "reading\n" and json.loads(out) == {"rows": 3}


def test_an_error_has_a_text_and_an_exit_code():
    assert (str(CliError("no such file")), CliError("x").code, CliError("x", 1).code) == (
        "no such file",
        USAGE,
        1,
    )


def test_json_is_off_unless_asked_for():
    parser = argparse.ArgumentParser()
    add_options(parser, JSON_OPTION)
    assert not parser.parse_args([]).json and parser.parse_args(["--json"]).json
