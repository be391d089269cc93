"""``gpuboost completion``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from gpuboost.cli.common import Options, show_block

SUMMARY = "print what makes a shell complete commands, options and parameters"
DESCRIPTION = """\
Prints a script for a shell, which then completes commands, options, their values, names of files
and parameters of models when Tab is pressed.
"""
EPILOG = """\
examples:
  eval "$(gpuboost completion bash)"                                   in ~/.bashrc
  eval "$(gpuboost completion zsh)"                                    in ~/.zshrc, behind compinit
  gpuboost completion fish > ~/.config/fish/completions/gpuboost.fish
"""
SHELLS = ("bash", "zsh", "fish")
OPTIONS: Options = {"shell": {"choices": SHELLS, "help": "the shell to complete in"}}
#: What options call names of files and folders.
FILES = ("FILE", "DATA", "MODEL", "FOLDER", "PREFIX", "NAME")
#: Options of the command line itself.
OWN = {
    "--help": "show what there is",
    "--version": "show the version",
    "--traceback": "show where in the code an error came from",
}


@dataclass(frozen=True)
class Option:
    """An option or an argument of a command."""

    name: str
    help: str
    takes_value: bool
    choices: list[str]  # its values, if they are known
    takes_file: bool


@dataclass(frozen=True)
class Command:
    """A command with all that can follow it."""

    name: str
    help: str
    options: list[Option]
    arguments: list[Option]
    parameters: list[str]  # of models, as name=


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    write = {"bash": bash, "zsh": zsh, "fish": fish}[args.shell]
    show_block(write(commands()))
    return 0


def commands() -> list[Command]:
    """All commands, from what they declare."""
    from gpuboost.cli import COMMANDS

    return [_command(name, import_module(f"gpuboost.cli.{name}")) for name in COMMANDS]


def _command(name: str, module: Any) -> Command:
    declared = getattr(module, "EXCLUSIVE", {}) | module.OPTIONS
    both = [_option(*item) for item in declared.items() if item[0] != "parameters"]
    return Command(
        name,
        module.SUMMARY,
        [one for one in both if one.name.startswith("-")],
        [one for one in both if not one.name.startswith("-")],
        _parameters() if "parameters" in declared else [],
    )


def _option(name: str, settings: dict[str, Any]) -> Option:
    return Option(
        name,
        settings["help"].replace("%%", "%"),
        "action" not in settings,
        list(map(str, settings.get("choices", ()))),
        settings.get("metavar") in FILES,
    )


def _parameters() -> list[str]:
    from gpuboost.cli.parameters import MODELS

    estimators = [estimator for pair in MODELS.values() for estimator in pair]
    names = {name for one in estimators for name in one().get_params(deep=False)}
    return [f"{name}=" for name in sorted(names)]


# --- bash

BASH = """\
# bash completion for gpuboost
_gpuboost() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ "${{COMP_WORDS[i]}}" != -* ]]; then command="${{COMP_WORDS[i]}}"; break; fi
    done
    COMPREPLY=()
    local words="" files=""
    case "$command:$before" in
{values}
        *)
            case "$command" in
{options}
            esac
            ;;
    esac
    if [[ -n "$files" && "$word" != -* ]]; then
        local IFS=$'\\n'
        COMPREPLY=($(compgen -f -- "$word"))
        [[ ${{#COMPREPLY[@]}} -gt 0 ]] && compopt -o filenames 2> /dev/null
        IFS=$' \\t\\n'
    fi
    if [[ -n "$words" && ${{#COMPREPLY[@]}} -eq 0 ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$word"))
        [[ "${{COMPREPLY[0]}}" == *= ]] && compopt -o nospace 2> /dev/null
    fi
    return 0
}}
complete -F _gpuboost gpuboost
"""


def bash(all_commands: Iterable[Command]) -> str:
    """The script for bash.

    Parameters
    ----------
    all_commands : iterable of Command
        What there is to complete.

    Returns
    -------
    str
        Lines to evaluate.

    Examples
    --------
    >>> option = Option("--task", "what to do", True, ["this", "that"], False)
    >>> script = bash([Command("train", "train", [option], [], [])])
    >>> [line.strip() for line in script.splitlines() if "this" in line]
    ['"train:--task") words="this that" ;;']
    """
    values, options = [], []
    names = [*(command.name for command in all_commands), *OWN]
    options.append(_case('""', " ".join(names), False))
    for command in all_commands:
        for one in command.options:
            if one.takes_value:
                pattern = f'"{command.name}:{one.name}"'
                values.append(_case(pattern, " ".join(one.choices), one.takes_file)[4:])
        words = [one.name for one in command.options] + ["--help"]
        words += [choice for one in command.arguments for choice in one.choices]
        words += command.parameters
        files = any(one.takes_file for one in command.arguments)
        options.append(_case(command.name, " ".join(words), files))
    return BASH.format(values="\n".join(values), options="\n".join(options))


def _case(pattern: str, words: str, files: bool) -> str:
    sets = [f'words="{words}"'] if words else []
    sets += ["files=yes"] if files else []
    return f"            {pattern}) {' '.join(sets) or ':'} ;;"


# --- zsh

ZSH = """\
#compdef gpuboost
_gpuboost() {{
    local curcontext="$curcontext" state line
    local -a commands parameters
    commands=(
{commands}
    )
    parameters=({parameters})
    _arguments -C {own} '1: :->command' '*:: :->rest'
    case "$state" in
        command) _describe command commands ;;
        rest)
            case "$line[1]" in
{rest}
            esac
            ;;
    esac
}}
_gpuboost_parameters() {{ compadd -S '' -a parameters }}
if [ "$funcstack[1]" = "_gpuboost" ]; then _gpuboost "$@"; else compdef _gpuboost gpuboost; fi
"""


def zsh(all_commands: Iterable[Command]) -> str:
    """The script for zsh, as ``bash`` makes one."""
    all_commands = list(all_commands)
    rest = []
    for command in all_commands:
        lines = [f"'--help[{_zsh(OWN['--help'])}]'"]
        for one in command.options:
            lines.append(_quoted(f"{one.name}[{_zsh(one.help)}]{_zsh_value(one)}"))
        for place, one in enumerate(command.arguments, 1):
            lines.append(_quoted(f"{place}{_zsh_value(one)}"))
        if command.parameters:
            lines.append("'*:parameter:_gpuboost_parameters'")
        joined = " \\\n                    ".join(lines)
        rest.append(f"                {command.name}) _arguments {joined} ;;")
    names = sorted({name for command in all_commands for name in command.parameters})
    return ZSH.format(
        commands="\n".join(
            f"        {_quoted(f'{one.name}:{_zsh(one.help)}')}" for one in all_commands
        ),
        parameters=" ".join(names),
        own=" ".join(_quoted(f"{name}[{_zsh(text)}]") for name, text in OWN.items()),
        rest="\n".join(rest),
    )


def _zsh(text: str) -> str:
    for char in "\\:[]":
        text = text.replace(char, f"\\{char}")
    return text


def _zsh_value(one: Option) -> str:
    if not one.takes_value:
        return ""
    values = f"({' '.join(one.choices)})" if one.choices else "_files" if one.takes_file else ""
    return f":{one.name.lstrip('-')}:{values}"


def _quoted(text: str) -> str:
    """A text between single quotes."""
    return "'" + text.replace("'", "'\\''") + "'"


# --- fish


def fish(all_commands: Iterable[Command]) -> str:
    """The script for fish, as ``bash`` makes one."""
    first = "complete -c gpuboost -n __fish_use_subcommand"
    lines = ["# fish completion for gpuboost"]
    lines += [f"{first} -l {name[2:]} -d {_fish(text)}" for name, text in OWN.items()]
    for command in all_commands:
        lines.append(f"{first} -f -a {command.name} -d {_fish(command.help)}")
        here = f"complete -c gpuboost -n '__fish_seen_subcommand_from {command.name}'"
        for one in command.options:
            value = "" if not one.takes_value else " -r" if one.takes_file else " -x"
            value += f" -a {_fish(' '.join(one.choices))}" if one.choices else ""
            lines.append(f"{here} -l {one.name[2:]}{value} -d {_fish(one.help)}")
        for one in command.arguments:
            if one.choices:
                lines.append(f"{here} -f -a {_fish(' '.join(one.choices))}")
        if not any(one.takes_file for one in command.arguments):
            lines.append(f"{here} -f")
        if command.parameters:
            lines.append(f"{here} -a {_fish(' '.join(command.parameters))}")
    return "\n".join(lines) + "\n"


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
