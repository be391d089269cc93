"""A parameter that several estimators have is described in the same words in all of them."""

import inspect
import re

import pytest

import gpuboost as gb

ESTIMATORS = [name for name in gb.__all__ if hasattr(getattr(gb, name), "fit")]
BOOSTING = ("GPUBoostClassifier", "GPUBoostRegressor")
TREES = ("DecisionTreeClassifier", "DecisionTreeRegressor")
RANDOM_FORESTS = ("RandomForestClassifier", "RandomForestRegressor")
EXTRA_TREES = ("ExtraTreesClassifier", "ExtraTreesRegressor")
FORESTS = RANDOM_FORESTS + EXTRA_TREES
ADABOOST = ("AdaBoostClassifier", "AdaBoostRegressor")


def of_classes(*names):
    return tuple(name for name in names if name.endswith("Classifier"))


def of_numbers(*names):
    return tuple(name for name in names if name.endswith("Regressor"))


#: Where words may differ: groups of estimators that share theirs, and the reason.
ALLOWED = {
    "n_estimators": (
        [BOOSTING, FORESTS, ADABOOST[:1], ADABOOST[1:]],
        "rounds or trees; the two kinds of AdaBoost end early for different reasons",
    ),
    "estimator": ([ADABOOST[:1], ADABOOST[1:]], "a classifier or a regressor"),
    "learning_rate": ([BOOSTING, ADABOOST], "a factor on leaves, or on the votes of trees"),
    "max_depth": ([BOOSTING, TREES + FORESTS + ADABOOST], "None means 6 in level-wise boosting"),
    "criterion": (
        [
            of_classes(*TREES, *FORESTS),
            of_numbers(*TREES, *FORESTS),
            ADABOOST[:1],
            ADABOOST[1:],
        ],
        "impurities of classes and of numbers; AdaBoost does not have all of them",
    ),
    "splitter": (
        [TREES, RANDOM_FORESTS, EXTRA_TREES, ADABOOST],
        "not all have every splitter, and extremely randomised trees draw their cuts",
    ),
    "unknown_category": (
        [BOOSTING, TREES + RANDOM_FORESTS + EXTRA_TREES + ADABOOST],
        "only boosting has mean targets",
    ),
    "subsample": ([BOOSTING[:1], BOOSTING[1:]], "a classifier may have a share for each class"),
    "max_bins": ([BOOSTING, TREES + FORESTS + ADABOOST], "boosting has no splitter without bins"),
    "min_samples_leaf": (
        [
            BOOSTING,
            (*TREES, "AdaBoostClassifier"),
            (*FORESTS, "AdaBoostRegressor"),
        ],
        "boosting takes no share; forests and AdaBoost.R2 draw rows",
    ),
    "max_features": ([TREES + FORESTS, ADABOOST], "AdaBoost has no midpoint splitter"),
    "categorical_features": (
        [BOOSTING + TREES + RANDOM_FORESTS + ADABOOST, EXTRA_TREES],
        "extremely randomised trees divide categories by chance",
    ),
    **dict.fromkeys(
        ("cat_smooth", "min_data_per_category", "max_cat_threshold"),
        (
            [BOOSTING, TREES + RANDOM_FORESTS + ADABOOST],
            "hessians stand for rows in boosting, where other categories stay out of the set",
        ),
    ),
    "categorical_split": (
        [
            of_classes(*TREES, *RANDOM_FORESTS, *ADABOOST),
            of_numbers(*TREES, *RANDOM_FORESTS, *ADABOOST),
        ],
        "categories are ordered by shares of classes, or by means",
    ),
    "class_weight": (
        [
            of_classes(*BOOSTING, *TREES),
            of_classes(*ADABOOST),
            of_classes(*FORESTS),
        ],
        "lists are for several outputs, balanced bags for forests",
    ),
    "base_score": ([BOOSTING[:1], BOOSTING[1:]], "log odds of classes, or values of y"),
    "warm_start": ([BOOSTING, FORESTS], "iterations or trees"),
    "device": (
        [BOOSTING, TREES + FORESTS, ADABOOST],
        "which device is taken by default; exact trees and other estimators are not for GPUs",
    ),
    "random_state": ([BOOSTING, TREES + FORESTS + ADABOOST], "boosting says that it rounds too"),
    "ccp_alpha": ([TREES, FORESTS], "forests prune all trees by one price"),
    "cv": ([TREES[:1], TREES[1:]], "folds keep the classes in proportion"),
    "oob_score": (
        [BOOSTING, of_classes(*FORESTS), of_numbers(*FORESTS)],
        "a curve of metrics, accuracy or R2",
    ),
    "verbose": ([BOOSTING, FORESTS], "rounds with metrics, or trees"),
    "objective": ([BOOSTING[:1], BOOSTING[1:]], "losses of classes and of numbers"),
    "eval_metric": ([BOOSTING[:1], BOOSTING[1:]], "metrics of classes and of numbers"),
}


def described(estimator):
    """{parameter: (type, default, words)} of the section of a class's docstring."""
    lines = inspect.getdoc(getattr(gb, estimator)).splitlines()
    begin = lines.index("Parameters") + 2
    out, names = {}, []
    for here, after in zip(lines[begin:], lines[begin + 1 :], strict=False):
        if re.fullmatch("-+", after):
            break
        head = re.fullmatch(r"(\w+(?:, \w+)*) : (.*), default=(.*)", here)
        if head:
            names = head[1].split(", ")
            out |= {name: (head[2], head[3], []) for name in names}
        elif here.strip():
            assert here.startswith("    ") and names, f"{estimator}: {here!r} is no parameter"
            for name in names:
                out[name][2].append(here.strip())
    return {name: (kind, default, " ".join(words)) for name, (kind, default, words) in out.items()}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_are_described_in_order_with_their_defaults(estimator):
    signature = inspect.signature(getattr(gb, estimator)).parameters
    told = described(estimator)
    assert list(told) == list(signature)
    for name, (_, default, words) in told.items():
        assert default.replace('"', "'") == repr(signature[name].default), name
        assert words.endswith("."), name


SHARED = {
    name: [e for e in ESTIMATORS if name in described(e)]
    for name in sorted({name for e in ESTIMATORS for name in described(e)})
}


@pytest.mark.parametrize("name", [name for name, own in SHARED.items() if len(own) > 1])
def test_shared_parameters_have_the_same_words(name):
    groups, _ = ALLOWED.get(name, ([tuple(SHARED[name])], ""))
    assert sorted(e for group in groups for e in group) == sorted(SHARED[name])
    told = []
    for group in groups:
        words = {(described(e)[name][0], described(e)[name][2]) for e in group}
        assert len(words) == 1, f"{name} differs needlessly: {words}"
        told += words
    assert len(set(told)) == len(groups), f"{name}: groups of ALLOWED with the same words"


def test_allowed_differences_have_a_parameter_and_a_reason():
    assert ALLOWED.keys() <= {name for name, own in SHARED.items() if len(own) > 1}
    assert all(reason for _, reason in ALLOWED.values())
