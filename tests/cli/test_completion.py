"""``gpuboost completion``: bash completes for real; the others say the same words."""

import shutil
import subprocess

import pytest

import gpuboost as gb
from gpuboost.cli import COMMANDS, main
from gpuboost.cli.completion import bash, commands, fish, zsh

ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_gpuboost
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "script"
    path.write_text(bash(commands()))
    return path


@pytest.fixture
def complete(script, tmp_path):
    """What bash offers for the last of some words, in a folder with two files."""
    for name in ("table one.csv", "model.gb"):
        (tmp_path / name).touch()

    def complete(*words):
        command = [shutil.which("bash"), "-c", ASK, "bash", script, "gpuboost", *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1]

    return complete


def test_bash_completes_commands(complete):
    assert complete("") == [*COMMANDS, "--help", "--version", "--traceback"]
    assert complete("tr") == ["train"] and complete("--traceback", "tr") == ["train"]


def test_bash_completes_options_and_their_values(complete):
    assert complete("train", "t.csv", "--ta") == ["--target", "--task"]
    assert complete("train", "--task", "") == ["auto", "binary", "multiclass", "regression"]
    assert complete("inspect", "model.gb", "--importance", "s") == ["split"]
    assert complete("bench", "--q") == ["--quick"]
    assert complete("completion", "") == ["--help", "bash", "zsh", "fish"]
    assert complete("train", "--cv", "") == [""]


def test_bash_completes_files_and_parameters(complete):
    assert complete("train", "tab") == ["table one.csv"]
    assert complete("train", "--valid", "") == ["model.gb", "table one.csv"]
    assert complete("train", "t.csv", "learn") == ["learning_rate="]
    assert complete("predict", "mod") == ["model.gb"]


@pytest.mark.parametrize("write", [bash, zsh, fish])
def test_every_shell_gets_every_word(write, capsys):
    assert main(["completion", write.__name__]) == 0
    script = capsys.readouterr().out
    assert script == write(commands())
    for command in commands():
        assert command.name in script
        for option in command.options:
            assert option.name.lstrip("-") in script
            assert all(choice in script for choice in option.choices)
    assert all(f"{name}=" in script for name in gb.GPUBoostClassifier().get_params())


def test_help_texts_stay_inside_of_their_quotes():
    """Every line of fish, and every argument in zsh, ends the quotes that it begins."""
    for line in fish(commands()).splitlines():
        assert line.replace("\\'", "").count("'") % 2 == 0
    assert zsh(commands()).replace("'\\''", "").count("'") % 2 == 0
