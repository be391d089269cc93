"""Comparisons with other libraries. A wheel has the top-level folder `benchmarks/` in this place.

A checkout shows the way there.
"""

from pathlib import Path

__path__.append(str(Path(__file__).parents[2] / "benchmarks"))
