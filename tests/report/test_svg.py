"""Figures that stand inside a page."""

import re

import matplotlib

from gpuboost.report.svg import inline_svg


def draw(figure):
    ax = figure.subplots()
    ax.plot([0, 1], [1.23456, 2])
    ax.set_title("a < b")


def test_the_same_figure_gives_the_same_bytes_whatever_style_is_set():
    one = inline_svg("first", (2, 1), draw, "a line")
    with matplotlib.rc_context({"font.size": 30, "lines.linewidth": 9}):
        assert inline_svg("first", (2, 1), draw, "a line") == one


def test_figures_share_no_ids():
    one, other = (inline_svg(name, (2, 1), draw, "") for name in ("first", "second"))
    ids = [set(re.findall(r'id="([^"]*)"', svg)) for svg in (one, other)]
    assert ids[0] and not ids[0] & ids[1]


def test_a_figure_has_a_title_and_loads_nothing():
    svg = inline_svg("first", (2, 1), draw, 'errors < 1 & "more"')
    assert svg.startswith('<svg role="img" viewBox="0 0 144 72" style="--width:192px"><title>')
    assert "<title>errors &lt; 1 &amp; &quot;more&quot;</title>" in svg
    assert "://" not in svg and "<style" not in svg and "xlink" not in svg
