"""Links: how raw scores become predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Of several scores of a row, links of these names make one prediction, or numbers for all classes.
OF_ALL_SCORES = ("softmax", "one_vs_rest", "sorted", "normal", "log_normal")
#: Links of numbers, besides "identity".
NUMBER_LINKS = ("log", "probability", "sorted", "normal", "log_normal")
LINKS = ("identity", "log", "probability", "logistic", *OF_ALL_SCORES)


@dataclass(frozen=True)
class Link:
    """How raw scores become predictions.

    Attributes
    ----------
    name : str
        "identity": the raw score itself. "log": e to the raw score. "probability": from log odds.
        "logistic": probabilities of two classes from one score. "softmax" and "one_vs_rest":
        probabilities of several classes from a score for each. "sorted": all scores in ascending
        order. "normal" and "log_normal": the mean of a distribution, from two scores.
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
