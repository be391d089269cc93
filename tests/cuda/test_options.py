"""Every parameter of every estimator on every device, and everything that ``fit`` refuses.

An option works on both devices with the same model, or ``fit`` raises; what it says is in
docs/options.md, which is made from this.

``PYTHONPATH=. GPUBOOST_EMULATE_CUDA=1 python tests/cuda/test_options.py`` writes the page anew.
"""

import contextlib
import inspect
import io
import re
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import is_classifier

sys.path.insert(0, str(Path(__file__).parent))

import test_parity

import gpuboost as gb
from gpuboost.kernels.cuda.device import cupy

pytestmark = pytest.mark.usefixtures("device")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "options.md"
WORKS, SAME = "works", "same model"
#: Stand for data that are not a parameter of the estimator.
WEIGHTS, MISSING, OUTPUTS, ON_DEVICE = "weights", "missing", "outputs", "on device"
MANY = "many"
SPARSE = "sparse"
DATES = "dates"
AFTER = "after"  # another fit with these options
EVAL_SET = "eval_set"  # False: none is given
DATA = {
    WEIGHTS: "`sample_weight`",
    MISSING: "missing values in X",
    OUTPUTS: "y of two outputs",
    ON_DEVICE: "X on the device",
    SPARSE: "a sparse X",
    DATES: "dates in X",
    MANY: "y of 40 classes, or 40 outputs",
}
#: Parameters that do not change the trees.
SAME_MODEL = {
    "eval_metric", "importance_type", "device", "n_jobs", "verbose", "oob_score",
    "keep_targets", "warm_start", "unknown_category",
}  # fmt: skip

# --- what is tried: the first parameter of each case; the others are what it needs to have an effect

EVERYWHERE = [
    {"device": None},
    {"n_jobs": 2},
    *({name: True} for name in DATA if name != MANY),
    {"sparse_missing": True, SPARSE: True},
    {"date_features": ["hour"], DATES: True},
]
HELD_OUT = {"validation_fraction": 0.25, EVAL_SET: False}


class StopAfter(gb.Callback):
    """Ends a training with this round."""

    def __init__(self, last):
        self.last = last

    def __repr__(self):
        return f"StopAfter({self.last})"

    def after_round(self, state):
        return state.round == self.last


BOOSTING = [
    {"objective": "squared_error"},
    {"objective": "log_loss"},
    {"objective": "exponential"},
    {"objective": "one_vs_rest", MANY: True},
    {"objective": "focal"},
    {"gamma": 0.5, "objective": "focal"},
    {"objective": "absolute_error"},
    {"objective": "adaptive_huber"},
    {"objective": "poisson"},
    {"objective": "normal"},
    {"alpha": [0.1, 0.9], "objective": "quantile"},
    {"delta": 0.5, "objective": "huber"},
    {"power": 1.2, "objective": "tweedie"},
    {"base_score": 0.25},
    {"n_estimators": 3},
    {"learning_rate": 0.5},
    {"max_depth": 2},
    {"max_leaves": 5},
    {"leaves_per_step": 4, "grow_policy": "leafwise", "max_leaves": 7, "max_depth": None},
    {"grow_policy": "leafwise"},
    {"grow_policy": "symmetric"},
    {"max_bins": 16},
    {"min_child_weight": 30.0},
    {"min_samples_leaf": 100},
    {"min_split_gain": 100.0},
    {"prune": True, "min_split_gain": 12.0, "max_depth": 7},
    {"reg_lambda": 20.0},
    {"reg_alpha": 3.0},
    {"max_delta_step": 0.1},
    {"subsample": 0.5},
    {"sampling_method": "goss", "subsample": 0.5},
    {"sampling_method": "mvs", "subsample": 0.5},
    {"top_rate": 0.2, "subsample": 0.5, "sampling_method": "goss"},
    {"oob_score": True, "subsample": 0.5},
    {"colsample_bytree": 0.5},
    {"colsample_bylevel": 0.5},
    {"colsample_bynode": 0.5},
    {"multi_strategy": "vector_leaf", OUTPUTS: True},
    {"categorical_features": [1]},
    {"unknown_category": "error", "categorical_features": [1]},
    {"unknown_category": "prior", "categorical_encoding": "target", "categorical_features": [1]},
    {"categorical_encoding": "target", "categorical_features": [1]},
    {"cat_smooth": 5000.0, "categorical_features": [1]},
    {"max_cat_to_onehot": 20, "categorical_features": [1]},
    {"max_cat_threshold": 1, "categorical_features": [1]},
    {"min_data_per_category": 290, "categorical_features": [1]},
    {"monotone_constraints": {0: -1, 2: 1}},
    {"interaction_constraints": [[0, 1], [2, 5]]},
    {"interaction_constraints": "no_interactions"},
    {"feature_weights": [0, 1, 2, 1, 1, 5], "colsample_bynode": 0.5},
    {"feature_penalties": {0: 5000.0, 2: 5.0}},
    {"forced_splits": {"feature": 4, "threshold": 0.5, "left": {"feature": 3, "threshold": 0}}},
    {"forced_splits": [{"feature": 4, "threshold": 0.5}], "grow_policy": "symmetric"},
    {"early_stopping_rounds": 1, "learning_rate": 1.0, "n_estimators": 8},
    {"min_delta": 10.0, "early_stopping_rounds": 1, "n_estimators": 4, **HELD_OUT},
    {
        "stopping_metric": "error",
        "eval_metric": ["error", "logloss"],
        "learning_rate": 1.0,
        "early_stopping_rounds": 1,
        "n_estimators": 9,
        **HELD_OUT,
    },
    {
        "stopping_metric": "mae",
        "eval_metric": ["mae", "rmse"],
        "learning_rate": 0.3,
        "min_delta": 0.11,
        "early_stopping_rounds": 1,
        "n_estimators": 9,
        **HELD_OUT,
    },
    {
        "stopping_set": "out_of_bag",
        "oob_score": True,
        "subsample": 0.5,
        "early_stopping_rounds": 1,
        "n_estimators": 4,
    },
    HELD_OUT,
    {"validation_split": "last", **HELD_OUT},
    {"refit": True, "early_stopping_rounds": 3, **HELD_OUT},
    {"warm_start": True, "n_estimators": 4, AFTER: {"n_estimators": 2}},
    {"max_time": 1e-9},
    {"callbacks": [StopAfter(0)]},
    {"boosting": "dart"},
    {"rate_drop": 0.9, "boosting": "dart", "skip_drop": 0.0, "n_estimators": 4},
    {"skip_drop": 0.0, "boosting": "dart", "rate_drop": 0.9, "n_estimators": 6},
    {
        "normalize_type": "forest",
        "boosting": "dart",
        "rate_drop": 0.9,
        "skip_drop": 0.0,
        "n_estimators": 4,
    },
    {"eval_metric": "mae"},
    {"eval_metric": "error"},
    {"class_weight": "balanced"},
    {"importance_type": "split"},
    {"importance_type": "cover"},
    {"random_state": 5, "subsample": 0.8},
    {"verbose": 1},
]
CLASSICAL = [
    {"criterion": "gini"},
    {"criterion": "entropy"},
    {"criterion": "log_loss"},
    {"criterion": "misclassification"},
    {"criterion": "squared_error"},
    {"criterion": "friedman_mse"},
    {"criterion": "absolute_error"},
    {"criterion": "poisson"},
    {"splitter": "hist"},
    {"splitter": "exact"},
    {"splitter": "best"},
    {"splitter": "random"},
    {"splitter": "midpoint", "max_features": None},
    {"max_depth": 2},
    {"min_samples_split": 120},
    {"min_samples_leaf": 60},
    {"min_weight_fraction_leaf": 0.2},
    {"max_features": 4},
    {"max_leaf_nodes": 4},
    {"min_impurity_decrease": 0.05},
    {"categorical_features": [1]},
    {"unknown_category": "error", "categorical_features": [1]},
    {"categorical_split": "fisher", "categorical_features": [1]},
    {"categorical_split": "one_vs_rest", "categorical_features": [1]},
    {"categorical_split": "exhaustive", "categorical_features": [1]},
    {"min_data_per_category": 20, "categorical_features": [4]},
    {"cat_smooth": 1e6, "categorical_features": [4]},
    {"max_cat_threshold": 1, "categorical_features": [4]},
    {"max_bins": 16},
    {"class_weight": "balanced"},
    {MANY: True},
]
TREES = [
    {"ccp_alpha": 0.05},
    {"ccp_alpha": "cv"},
    {"cv": 3, "ccp_alpha": "cv"},
    {"pruning_risk": "misclassification", "ccp_alpha": 0.02},
    {"pruning_risk": "entropy", "ccp_alpha": 0.05},
    {"feature_probabilities": [1, 0, 0, 0, 0, 1], "splitter": "midpoint"},
    {"random_state": 5, "max_features": 2},
]
FORESTS = [
    {"n_estimators": 3},
    {"ccp_alpha": 0.05},
    {"bootstrap": True},
    {"bootstrap": False},
    {"max_samples": 0.5, "bootstrap": True},
    {"oob_score": True, "bootstrap": True},
    {"voting": "hard"},
    {"keep_targets": True},
    {"class_weight": "balanced_subsample"},
    {"warm_start": True},
    {"random_state": 5, "max_features": 2},
    {"verbose": 1},
]
ADABOOST = [
    {"estimator": gb.DecisionTreeClassifier(max_depth=3), "splitter": "exact", "max_depth": 1},
    {"estimator": gb.DecisionTreeRegressor(max_depth=2), "splitter": "exact", "max_depth": 3},
    {"n_estimators": 3},
    {"learning_rate": 0.5},
    {"loss": "square"},
    {"loss": "exponential"},
    {"random_state": 5, "max_features": 2},
]
#: Estimators, what all of their trainings have, and the cases.
FAMILIES = {
    "Gradient boosting": (
        ("GPUBoostClassifier", "GPUBoostRegressor"),
        {"n_estimators": 2, "max_depth": 3},
        BOOSTING,
    ),
    "Decision trees": (
        ("DecisionTreeClassifier", "DecisionTreeRegressor"),
        {"splitter": "hist", "max_depth": 4},
        CLASSICAL + TREES,
    ),
    "Forests": (
        (
            "RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier",
            "ExtraTreesRegressor",
        ),
        {"n_estimators": 5, "max_depth": 5},
        CLASSICAL + FORESTS,
    ),
    "AdaBoost": (
        ("AdaBoostClassifier", "AdaBoostRegressor"),
        {"splitter": "hist", "n_estimators": 4, "max_depth": 2},
        CLASSICAL + ADABOOST,
    ),
}  # fmt: skip
#: Where some estimators of a family differ in the values that they know, the others are not asked.
CLASS_VALUES = {
    "gini", "entropy", "log_loss", "misclassification", "exponential", "error", "one_vs_rest",
    "focal",
}  # fmt: skip
NUMBER_VALUES = {
    "squared_error", "friedman_mse", "absolute_error", "poisson", "mae", "square", "adaptive_huber", "normal",
    "quantile", "huber", "tweedie",
}  # fmt: skip

#: Options that do not go together on any device, and data that do not go with an option.
TOGETHER = {
    "Gradient boosting": [
        {"sampling_method": "goss"},
        {"top_rate": 0.2, "subsample": 0.5},
        {"top_rate": 0.6, "subsample": 0.5, "sampling_method": "goss"},
        {"oob_score": True},
        {"leaves_per_step": 2},
        {"leaves_per_step": 2, "grow_policy": "symmetric"},
        {"max_leaves": 8, "grow_policy": "symmetric"},
        {"max_depth": 17, "grow_policy": "symmetric"},
        {"early_stopping_rounds": 5, "eval_set": False},
        {"prune": True},
        {"prune": True, "min_split_gain": 1.0, "grow_policy": "symmetric"},
        {"boosting": "dart", "early_stopping_rounds": 5},
        {"boosting": "dart", "oob_score": True, "subsample": 0.5},
        {"rate_drop": 0.5},
        {"min_delta": 0.1},
        {"stopping_metric": "mae"},
        {"stopping_metric": "nothing", "early_stopping_rounds": 5},
        {"stopping_set": "test", "early_stopping_rounds": 5},
        {"validation_fraction": 0.2},
        {"validation_split": "last"},
        {"refit": True, "early_stopping_rounds": 5},
        {"refit": True, "validation_fraction": 0.2},
        {"warm_start": True, "n_estimators": 2, AFTER: {"n_estimators": 4}},
        {"objective": "exponential", "classes": 3},
        {"objective": "focal", "classes": 3},
        {"delta": 0.5},
        {"gamma": 1.0},
        {"objective": "quantile", "alpha": [0.5, 0.1]},
        {"objective": "poisson", "negative": True},
        {"objective": "normal", OUTPUTS: True},
        {"base_score": [0.0, 1.0]},
        {"monotone_constraints": {0: 1}, "classes": 3},
        {"monotone_constraints": {0: 1}, "multi_strategy": "vector_leaf", OUTPUTS: True},
        {"monotone_constraints": {"age": 1}},
        {"monotone_constraints": {7: 1}},
        {"monotone_constraints": [1, 0]},
        {"monotone_constraints": {0: 2}},
        {"interaction_constraints": [[0, "age"]]},
        {"interaction_constraints": [[0, 7]]},
        {"interaction_constraints": [[0], []]},
        {"feature_weights": [1, 0]},
        {"feature_weights": {0: -1}},
        {"feature_weights": [0, 0, 0, 0, 0, 0]},
        {"forced_splits": {"feature": 7, "threshold": 1}},
        {"forced_splits": {"feature": 0}},
        {"forced_splits": {"feature": 0, "threshold": 1}, "grow_policy": "symmetric"},
        {"feature_penalties": {7: 1.0}},
        {"feature_penalties": {0: float("inf")}},
        {"monotone_constraints": {1: 1}, "categorical_features": [1]},
        {"unknown_category": "prior", "categorical_encoding": "partition"},
    ],
    "Decision trees": [
        {"max_bins": 16, "splitter": "exact"},
        {"max_bins": 16, "splitter": "random"},
        {"max_bins": 16, "splitter": "midpoint"},
        {"max_features": 2, "splitter": "midpoint"},
        {"categorical_features": [1], "splitter": "midpoint"},
        {"feature_probabilities": [1, 1, 1, 1, 1, 1]},
        {"feature_probabilities": [1, 1], "splitter": "midpoint"},
        {"cv": 3},
        {"cv": 3, "ccp_alpha": 0.1},
        {"criterion": "poisson", "negative": True},
    ],
    "Forests": [
        {"max_bins": 16, "splitter": "exact"},
        {"max_bins": 16, "splitter": "midpoint"},
        {"max_features": 2, "splitter": "midpoint"},
        {"categorical_features": [1], "splitter": "midpoint"},
        {"max_samples": 0.5, "bootstrap": False},
        {"oob_score": True, "bootstrap": False},
        {"warm_start": True, "n_estimators": 2, AFTER: {"n_estimators": 4}},
        {"warm_start": True, "max_depth": 3, AFTER: {"max_depth": 5}},
        {"criterion": "poisson", "negative": True},
    ],
    "AdaBoost": [
        {"max_bins": 16, "splitter": "exact"},
    ],
}
#: Not a value of any parameter.
NONSENSE = "nonsense"


# --- training


def make(kind, options):
    """Data for an estimator; ``options`` may say what they are like, the rest is for the estimator.

    (X, y, keywords of fit, options for the estimator)."""
    options = dict(options)
    boosts = "GPUBoost" in kind.__name__
    rng = np.random.default_rng(0)
    n = 1500 if boosts else 300
    x = rng.normal(size=(n, 6)).astype(np.float32)
    x[:, 1] = rng.integers(0, 5, n)
    signal = x[:, 0] + (x[:, 1] % 2) + x[:, 2] * x[:, 5] + 0.3 * rng.normal(size=n)
    if options.get("categorical_features") == [4]:  # more categories than are tried in every way
        x[:, 4] = np.digitize(x[:, 4], np.linspace(-2, 2, 15))
        signal += np.random.default_rng(1).normal(size=16)[x[:, 4].astype(int)]
    if options.pop(DATES, False):
        x = pd.DataFrame(x)
        x[0] = pd.Timestamp("2024-01-01") + pd.to_timedelta(50 * x[0], "h")
    if options.pop(SPARSE, False):
        x = sparse.csr_array(np.where(x < -0.5, 0, x))
    if options.pop(MISSING, False):
        x[rng.random(x.shape) < 0.1] = np.nan
    many = options.pop(MANY, False)
    classes = options.pop("classes", 40 if many else 2 if boosts else 3)
    if is_classifier(kind()):
        y = np.digitize(signal, np.quantile(signal, np.arange(2, classes + 1) / (classes + 1)))
    else:
        y = signal if options.pop("negative", False) else signal - signal.min()
    if options.pop(OUTPUTS, False):
        y = np.stack([y, y[::-1]], axis=1)
    if many and not is_classifier(kind()):
        y = y[:, None] + x[:, 1:2] * np.arange(40)
    fit = {}
    if options.pop(WEIGHTS, False):
        fit["sample_weight"] = rng.exponential(size=n)
    if boosts and options.pop("eval_set", True):
        fit["eval_set"] = x[:300], y[300:600]  # of other rows: the metric soon gets worse
    if options.pop(ON_DEVICE, False):
        x = cupy().asarray(x)
    return x, y, fit, options


def train(kind, base, options, device):
    """A fitted model, or the message of the error that ``fit`` raises."""
    x, y, fit, own = make(kind, options)
    own = {name: value for name, value in own.items() if name != "device"}
    first = own.pop(AFTER, None)
    with warnings.catch_warnings(record=True) as told, contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("always")
        try:
            model = kind(**(base | own), device=device)
            if first is not None:
                model.set_params(**first).fit(x, y, **fit).set_params(**own)
            model.fit(x, y, **fit)
        except (ValueError, TypeError) as error:
            return re.sub(r"np\.\w+\((.*?)\)", r"\1", str(error))
    model.warned_ = [str(warning.message) for warning in told]
    return model


def applies(kind, case):
    """Whether an estimator has all parameters of a case, and knows the value."""
    parameter, value = next(iter(case.items()))
    names = inspect.signature(kind).parameters
    if not all(name in names or name in DATA or name in (EVAL_SET, AFTER) for name in case):
        return False
    if "AdaBoost" in kind.__name__:
        if parameter == "splitter" and value not in ("exact", "best", "hist"):
            return False
        if parameter == "criterion" and value in ("poisson", "log_loss"):
            return False
    elif "DecisionTree" not in kind.__name__ and parameter == "splitter" and value == "random":
        return False
    if parameter == "estimator":
        return is_classifier(value) == is_classifier(kind())
    if parameter == "loss":
        return True
    if isinstance(value, str) and parameter in (
        "objective",
        "criterion",
        "eval_metric",
        "stopping_metric",
    ):
        return value not in (NUMBER_VALUES if is_classifier(kind()) else CLASS_VALUES)
    return True


def outcome(name, base, case):
    """What an option does on the CPU and on CUDA."""
    kind, parameter = getattr(gb, name), next(iter(case))
    cpu, cuda = (train(kind, base, case, device) for device in ("cpu", "cuda"))
    if isinstance(cpu, str):
        if not isinstance(cuda, str):
            assert parameter == ON_DEVICE
            assert cuda.fingerprint() == train(kind, base, {}, "cpu").fingerprint()
        return cpu, cuda if isinstance(cuda, str) else SAME
    rest = {other: value for other, value in case.items() if other != parameter}
    default = {name: p.default for name, p in inspect.signature(kind).parameters.items()} | base
    plain = train(kind, base, rest, "cpu")
    other_name = case[parameter] == "friedman_mse"  # of the default
    same = parameter in SAME_MODEL or other_name or case[parameter] == default.get(parameter)
    by_order = ("categorical_split", "cat_smooth")  # the same sets may be best in any order
    if parameter not in by_order or case[parameter] == "one_vs_rest":
        assert (cpu.fingerprint() == plain.fingerprint()) == same, (
            f"{name}: {case} must show whether the parameter changes the trees"
        )
    if isinstance(cuda, str):
        return WORKS, cuda
    assert cuda.fingerprint() == cpu.fingerprint()
    np.testing.assert_array_equal(cuda.feature_importances_, cpu.feature_importances_)
    for attribute in ("evals_result_", "oob_score_", "ccp_alpha_"):
        assert getattr(cuda, attribute, None) == getattr(cpu, attribute, None)
    return WORKS, SAME


# --- the page


def shown(case):
    """A case in the form that a user writes it."""
    parameter = next(iter(case))
    if parameter in DATA:
        return DATA[parameter]
    if parameter == "device":
        return "`device`"
    words = {
        "classes": "classes in y: {}",
        "negative": "negative y",
        OUTPUTS: DATA[OUTPUTS],
        "eval_set": "no `eval_set`",
        AFTER: "a fit with {} before it",
    }
    parts = [
        DATA[name]
        if name in DATA
        else words[name].format(value)
        if name in words
        else f"`{name}={value!r}`"
        for name, value in case.items()
    ]
    return " with ".join([parts[0], ", ".join(parts[1:])]) if len(parts) > 1 else parts[0]


def said(text):
    """What an option does, or the words of an error."""
    return text if text in (WORKS, SAME) else "`" + text.replace("|", r"\|") + "`"


def merged(rows):
    """Rows (estimator, *cells); those with the same cells become one."""
    groups = {}
    for estimator, *cells in rows:
        groups.setdefault(tuple(cells), []).append(estimator)
    return groups


def options_table(family):
    """Every parameter of a family of estimators on both devices."""
    estimators, base, cases = FAMILIES[family]
    lines = ["| option | estimators | cpu | cuda |", "|---|---|---|---|"]
    for case in cases + EVERYWHERE:
        rows = [
            (name, *outcome(name, base, case))
            for name in estimators
            if applies(getattr(gb, name), case)
        ]
        for (cpu, cuda), own in merged(rows).items():
            who = "all" if len(own) == len(estimators) else ", ".join(own)
            lines.append(f"| {shown(case)} | {who} | {said(cpu)} | {said(cuda)} |")
    return lines


def refusals_table(family):
    """Options that do not go together."""
    estimators, base, _ = FAMILIES[family]
    lines = ["| option | estimators | `fit` says |", "|---|---|---|"]
    for case in TOGETHER[family]:
        rows = []
        for name in estimators:
            kind = getattr(gb, name)
            names = inspect.signature(kind).parameters
            if any(
                p not in names
                for p in case
                if p not in ("classes", "eval_set", "negative", OUTPUTS, AFTER)
            ):
                continue
            if (
                is_classifier(kind())
                and {*map(case.get, ("criterion", "objective"))} & NUMBER_VALUES
            ):
                continue
            if not is_classifier(kind()) and "classes" in case:
                continue
            answers = [train(kind, base, case, device) for device in ("cpu", "cuda")]
            if "cv" in case:
                warned = [text for text in answers[0].warned_ if text.startswith("cv=")]
                answers = [f"UserWarning: {warned[0]}"]
            assert all(isinstance(answer, str) for answer in answers), f"{name} takes {case}"
            rows.append((name, answers[0]))
        for (text,), own in merged(rows).items():
            who = "all" if len(own) == len(estimators) else ", ".join(own)
            lines.append(f"| {shown(case)} | {who} | {said(text)} |")
    return lines


def values_table():
    """What every parameter says to a value that it does not know."""
    rows, order = [], {}
    for estimators, base, _ in FAMILIES.values():
        for name in estimators:
            kind = getattr(gb, name)
            for parameter in inspect.signature(kind).parameters:
                order.setdefault(parameter, len(order))
                device = NONSENSE if parameter == "device" else "cpu"
                needed = {
                    "cv": {"ccp_alpha": "cv"},
                    "max_samples": {"bootstrap": True},
                    "top_rate": {"subsample": 0.5, "sampling_method": "goss"},
                    "feature_probabilities": {"splitter": "midpoint"},
                }.get(parameter, {})
                text = train(kind, base, {**needed, parameter: NONSENSE}, device)
                assert isinstance(text, str), f"{name} takes {parameter}={NONSENSE!r}"
                assert parameter in text, f"{name}: {text} does not name {parameter}"
                text = re.sub(rf";? got {NONSENSE!r}( of type str)?", "", text)
                rows.append((name, parameter, text))
    lines = ["| parameter | estimators | `fit` says |", "|---|---|---|"]
    groups = merged(rows)
    for parameter in order:
        own = {text: who for (name, text), who in groups.items() if name == parameter}
        every = sum(len(who) for who in own.values())
        for text, who in own.items():
            names = "all that have it" if len(who) == every else ", ".join(who)
            lines.append(f"| `{parameter}` | {names} | {said(text)} |")
    return lines


NAMES_OF_OPTIONS = {
    "missing": "missing values",
    "weights": "sample weights",
    "subsample": "`subsample`",
    "mvs": '`sampling_method="mvs"`',
    "bytree": "`colsample_bytree`",
    "bylevel": "`colsample_bylevel`",
    "bynode": "`colsample_bynode`",
    "early": "`early_stopping_rounds`",
    "monotone": "`monotone_constraints`",
    "interactions": "`interaction_constraints`",
    "of weights": "`feature_weights`",
    "penalties": "`feature_penalties`",
    "vector": "`multi_strategy`",
    "categories": "`categorical_features`",
}


def pairs_in_words():
    """The pairs of options whose models are compared; README says the same."""
    names = [NAMES_OF_OPTIONS[name] for name in test_parity.OPTIONS]
    return f"every two of {', '.join(names[:-1])} and {names[-1]}"


def pairs_table():
    """Each pair with the training that it is tried in."""
    lines = ["| pair | target | growth |", "|---|---|---|"]
    for pair in test_parity.PAIRS:
        classes, policy = test_parity.training_of(pair)
        target = f"{classes} classes" if classes else "numbers"
        names = " and ".join(NAMES_OF_OPTIONS[name] for name in pair)
        lines.append(f"| {names} | {target} | {policy} |")
    return lines


HEAD = """# Options and devices

This page is generated by `tests/cuda/test_options.py`, which trains every estimator with every
parameter on the CPU and on CUDA (emulated if there is no GPU). "Same model" means that the
fingerprint equals that of the CPU's model, bit for bit. Other entries are error messages of `fit`.
"""


def sections():
    """{heading: what makes the lines below it}."""
    out = {}
    for family in FAMILIES:
        out[family] = lambda family=family: options_table(family)
    for family in FAMILIES:
        out[f"{family}: what does not go together"] = lambda family=family: refusals_table(family)
    out["Values that are not allowed"] = lambda: [
        f"What `fit` says to a value such as `{NONSENSE!r}`, on every device, before any work is "
        "done.",
        "",
        *values_table(),
    ]
    out["Pairs of options"] = lambda: [
        textwrap.fill(
            "Models of gradient boosting that are compared, CUDA against the CPU, by "
            f"`tests/cuda/test_parity.py`: {pairs_in_words()}.",
            100,
        ),
        "",
        *pairs_table(),
    ]
    return out


def section(heading, lines):
    return "\n".join([f"## {heading}", "", *lines]) + "\n"


def test_every_estimator_and_every_parameter_is_tried():
    estimators = {name for own, _, _ in FAMILIES.values() for name in own}
    public = {name for name in gb.__all__ if hasattr(getattr(gb, name), "fit")}
    assert estimators == public and len(public) == 10
    for own, _, cases in FAMILIES.values():
        for name in own:
            kind = getattr(gb, name)
            tried = {next(iter(case)) for case in cases + EVERYWHERE if applies(kind, case)}
            assert set(inspect.signature(kind).parameters) == tried - set(DATA), name


@pytest.mark.parametrize("heading", sections())
def test_the_page_is_up_to_date(heading):
    assert section(heading, sections()[heading]()) in PAGE.read_text()


def test_the_page_has_nothing_else():
    headings = re.findall(r"^## (.*)$", PAGE.read_text(), re.M)
    assert headings == list(sections()) and PAGE.read_text().startswith(HEAD)


@pytest.mark.parametrize("page", ["README.md", "docs/equal-bits.md"])
def test_pages_say_which_pairs(page):
    assert pairs_in_words() in " ".join((ROOT / page).read_text().split())


if __name__ == "__main__":
    parts = [section(heading, lines()) for heading, lines in sections().items()]
    PAGE.write_text("\n".join([HEAD, *parts]))
