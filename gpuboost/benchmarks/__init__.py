"""Comparisons with other libraries. In a wheel this package is the repository's top-level `benchmarks/` folder; here it shows the way there."""

from pathlib import Path

__path__.append(str(Path(__file__).parents[2] / "benchmarks"))
