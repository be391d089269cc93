"""What reaches a terminal: characters that are shown, and colour where there is one."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboost.terminal import RED, has_colour, visible, write_line


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("naïve 東京 ☃", "naïve 東京 ☃"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\nb\rc\td\x7f", r"a\nb\rc\td\x7f"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202egpj.exe\u2066\u200f", r"\u202egpj.exe\u2066\u200f"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text, shown):
    assert visible(text) == shown


@given(st.text())
def test_nothing_but_characters_that_are_printed_is_left(text):
    assert visible(text).isprintable()


def test_the_head_is_coloured_on_a_terminal_only():
    for stream, line in (
        (Terminal(), "\x1b[31merror:\x1b[0m \\x1b[2J\n"),
        (io.StringIO(), "error: \\x1b[2J\n"),
    ):
        write_line(stream, " \x1b[2J", "error:", RED)
        assert stream.getvalue() == line


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_colour_where_it_is_not_wanted(monkeypatch, name, value):
    assert has_colour(Terminal())
    monkeypatch.setenv(name, value)
    assert not has_colour(Terminal())
