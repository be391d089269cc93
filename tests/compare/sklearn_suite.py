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
import types
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
REASONS = [
    (
        "test_friedman_mse_deprecation",
        "`friedman_mse` is another name of `squared_error`: there is no warning",
    ),
    (
        "_criterion.MSE object",
        "a criterion is a name; objects of scikit-learn's Cython are not taken",
    ),
    ("_build_pruned_tree|build_pruned_tree", "asks a private function of scikit-learn to prune"),
    (
        "no attribute '(_sample_weight|_n_samples_bootstrap|_set_oob|estimator)|has no setter",
        "reads or sets attributes that only scikit-learn's own classes have",
    ),
    ("Regex pattern did not match", "the same error or warning in other words"),
    ("test_missing_value_errors", "NaN is allowed with every criterion and splitter"),
    (
        "missing_values_best_splitter_on_equal_nodes",
        "missing values that a node has not seen go to its heavier side, not to the right one",
    ),
    (
        "random_splitter_missing_values_uses",
        "a split may divide missing from all other values: its threshold is infinite",
    ),
    (
        "test_almost_constant_feature",
        "features are never too constant: values 1e-7 apart are divided, too",
    ),
    ("test_big_input", "values that float32 does not hold are allowed: X stays float64"),
    ("test_huge_allocations", "limits beyond all trees count as none: no memory is set aside"),
    ("weights?_invalid|every weight is 0", "one weight for all rows: the error is that it is 0"),
    (
        "test_warm_start_equal|class_weight_errors",
        "a warm start with other parameters or y is refused",
    ),
    ("test_forest_y_sparse", "a sparse y is refused"),
    (
        "test_classifier_error_oob_score_multiclass_multioutput",
        "out-of-bag scores of several outputs with several classes are there",
    ),
    (
        "integral_regression_target",
        "draws the bags again with scikit-learn's private function; here they come from a hash",
    ),
    (
        "test_estimators_samples",
        "fits a tree again from its seed and rows; without `bootstrap` there are no drawn rows",
    ),
    ("test_backend_respected", "threads are Python's own, not joblib's"),
    (
        "test_distribution|test_importances_asymptotic|test_forest_regressor_oob",
        "a bound on what chance does, narrowly missed: other random numbers",
    ),
]


def extra_tree(kind, max_features):
    """One extremely randomised tree: a class of decision trees with other defaults."""
    code = kind.__init__
    init = types.FunctionType(code.__code__, code.__globals__, "__init__", code.__defaults__)
    init.__kwdefaults__ = code.__kwdefaults__ | {"splitter": "random", "max_features": max_features}
    name = kind.__name__.replace("DecisionTree", "ExtraTree")
    return type(name, (kind,), {"__init__": init, "__module__": __name__, "__doc__": kind.__doc__})


ExtraTreeClassifier = extra_tree(gb.DecisionTreeClassifier, "sqrt")
ExtraTreeRegressor = extra_tree(gb.DecisionTreeRegressor, 1.0)


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
    options = ["--pyargs", module, "-q", "-c", "/dev/null"]
    options += [part for name in ("cacheprovider", "randomly") for part in ("-p", f"no:{name}")]
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
    yield f"The results of the tests of scikit-learn {sklearn.__version__} on the estimators of"
    yield "gpuboost, with the reason for each test that does not pass. This page is generated by"
    yield "`tests/compare/sklearn_suite.py`."
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
    results, unexplained = {}, 0
    for title, module in SUITES.items():
        results[title] = run(module, args.expression)
        for name, (outcome, message) in results[title].items():
            if outcome == "failed":
                unexplained += reason_of(name, message) is None
                if args.show or reason_of(name, message) is None:
                    print(f"{name}: {message}", flush=True)
    if args.expression is None:
        PAGE.write_text("\n".join(lines_of(results)) + "\n")
    for title, outcomes in results.items():
        counts = Counter(outcome for outcome, _ in outcomes.values())
        print(f"{title}: {counts['passed']} of {counts['passed'] + counts['failed']} pass")
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
