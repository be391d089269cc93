"""scikit-learn's own tests of trees and forests, run on the estimators of this library.

    PYTHONPATH=. python tests/compare/sklearn_suite.py            # writes sklearn_suite.md
    PYTHONPATH=. python tests/compare/sklearn_suite.py -k toy     # only tests with this name

The tests come with the installed scikit-learn; nothing of them is copied. Its classes are replaced
by those of the same name before the tests are imported. ``REASONS`` says in a line why a test does
not pass; one that fails for another reason ends the script with exit code 1."""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
import sklearn
import sklearn.ensemble
import sklearn.tree

import gpuboost as gb

PAGE = Path(__file__).with_suffix(".md")
SUITES = {
    "trees": "sklearn.tree.tests.test_tree",
    "forests": "sklearn.ensemble.tests.test_forest",
}
#: Why a test does not pass: a pattern of its name and message, "name: message", and the reason.
REASONS: list[tuple[str, str]] = []


class ExtraTreeClassifier(gb.DecisionTreeClassifier):
    """One extremely randomised tree: a decision tree with cuts by chance."""

    def __init__(self, *, splitter="random", max_features="sqrt", **others):
        super().__init__(splitter=splitter, max_features=max_features, **others)


class ExtraTreeRegressor(gb.DecisionTreeRegressor):
    """One extremely randomised tree: a decision tree with cuts by chance."""

    def __init__(self, *, splitter="random", max_features=1.0, **others):
        super().__init__(splitter=splitter, max_features=max_features, **others)


def replace_classes():
    """Let the names that the tests import be classes of this library."""
    for name in ("DecisionTreeClassifier", "DecisionTreeRegressor"):
        setattr(sklearn.tree, name, getattr(gb, name))
    sklearn.tree.ExtraTreeClassifier = ExtraTreeClassifier
    sklearn.tree.ExtraTreeRegressor = ExtraTreeRegressor
    for kind in ("RandomForest", "ExtraTrees"):
        for task in ("Classifier", "Regressor"):
            setattr(sklearn.ensemble, kind + task, getattr(gb, kind + task))


class Outcomes:
    """A plugin of pytest that keeps what comes of each test."""

    def __init__(self):
        self.of_test: dict[str, tuple[str, str]] = {}  # name: (outcome, message)

    def pytest_runtest_logreport(self, report):
        """Called by pytest for each phase of a test."""
        if report.when != "call" and report.outcome == "passed":
            return
        name, message = report.nodeid.split("::", 1)[-1], ""
        if report.outcome == "failed":
            lines = [line for line in report.longreprtext.splitlines() if line.startswith("E  ")]
            message = re.sub(r"^E +", "", lines[0]) if lines else report.longreprtext[-200:]
        self.of_test[name] = report.outcome, message


def run(module, expression):
    """What comes of the tests of a module."""
    outcomes = Outcomes()
    options = [
        "--pyargs",
        module,
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "-c",
        "/dev/null",
    ]
    options += ["-k", expression] if expression else []
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(options, plugins=[outcomes])
    return outcomes.of_test


def reason_of(name, message):
    """Why a test does not pass, or None."""
    for pattern, reason in REASONS:
        if re.search(pattern, f"{name}: {message}"):
            return reason
    return None


def lines_of(results):
    """The page, line by line."""
    yield "# scikit-learn's tests of trees and forests"
    yield ""
    yield f"What comes of the tests of scikit-learn {sklearn.__version__} on the estimators of"
    yield "this library, and why the others do not pass. `tests/compare/sklearn_suite.py` writes"
    yield "this page."
    for title, outcomes in results.items():
        counts = Counter(outcome for outcome, _ in outcomes.values())
        total = counts["passed"] + counts["failed"]
        yield ""
        yield f"## {title.capitalize()}: {counts['passed']} of {total} pass"
        yield ""
        if counts["skipped"]:
            yield f"scikit-learn itself skips {counts['skipped']} more here."
            yield ""
        reasons = Counter()
        tests = {}
        for name, (outcome, message) in outcomes.items():
            if outcome == "failed":
                reason = reason_of(name, message) or f"**{message}**"
                reasons[reason] += 1
                tests.setdefault(reason, Counter())[name.split("[")[0]] += 1
        if reasons:
            yield "| tests | why they do not pass | which |"
            yield "|---:|---|---|"
        for reason, count in reasons.most_common():
            which = ", ".join(
                f"`{name}`" + (f" ({n})" if n > 1 else "") for name, n in tests[reason].items()
            )
            yield f"| {count} | {reason} | {which} |"


def main():
    """Run the tests; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", dest="expression", help="only tests that pytest finds by this")
    parser.add_argument("--show", action="store_true", help="print each failure")
    args = parser.parse_args()
    replace_classes()
    results = {title: run(module, args.expression) for title, module in SUITES.items()}
    unexplained = 0
    for outcomes in results.values():
        for name, (outcome, message) in outcomes.items():
            if outcome == "failed":
                unexplained += reason_of(name, message) is None
                if args.show or reason_of(name, message) is None:
                    print(f"{name}: {message}")
    if args.expression is None:
        PAGE.write_text("\n".join(lines_of(results)) + "\n")
    for title, outcomes in results.items():
        counts = Counter(outcome for outcome, _ in outcomes.values())
        print(f"{title}: {counts['passed']} of {counts['passed'] + counts['failed']} pass")
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
