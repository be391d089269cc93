"""Device kernels. Their sources are in the repository's top-level `kernels/` folder.

A wheel ships them in this package.
"""

from pathlib import Path

_checkout = Path(__file__).parents[2] / "kernels"
if (_checkout / "cpu" / "histogram.py").is_file():  # a source checkout, not a wheel
    __path__.append(str(_checkout))
