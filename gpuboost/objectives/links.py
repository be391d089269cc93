"""Links: how raw scores become predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass

LINKS = ("identity", "log", "logistic", "softmax")


@dataclass(frozen=True)
class Link:
    """How raw scores become predictions.

    Attributes
    ----------
    name : {"identity", "log", "logistic", "softmax"}
        The raw score itself, e to the raw score, probabilities of two classes from one score, or of
        several classes from a score for each.
    scale : float
        Only for "logistic": this times the raw score is the log odds of the second class.
    """

    name: str
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what no device knows."""
        if self.name not in LINKS:
            raise ValueError(f"link must be one of {', '.join(LINKS)}; got {self.name!r}")
        if not 0 < self.scale < math.inf:
            raise ValueError(f"the scale of a link must be a number above 0; got {self.scale!r}")
        if self.scale != 1.0 and self.name != "logistic":
            raise ValueError(f"only the logistic link has a scale; got {self.scale!r}")


IDENTITY, LOG = Link("identity"), Link("log")
LOGISTIC, SOFTMAX = Link("logistic"), Link("softmax")
