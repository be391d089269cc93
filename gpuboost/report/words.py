"""Numbers as people read them."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """Four digits that count; a dash for what is not known."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == round(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def percent(share: float) -> str:
    """A share; never "0 %" or "100 %" unless it is."""
    if math.isnan(share):
        return "–"
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    return "< 0.1 %" if share < 0.001 else "> 99.9 %" if share > 0.999 else f"{100 * share:.1f} %"


def seconds(value: float) -> str:
    """A time."""
    if value < 1.0:
        return f"{1000 * value:.0f} ms"
    return f"{value:.2f} s" if value < 60 else f"{int(value // 60)} min {value % 60:.0f} s"
