"""The fitted state of each kind of estimator.

How it is said as JSON and arrays, and what it must be.

A pair of functions for each kind: ``put_...`` says the state, ``take_...`` checks it and makes the
fitted attributes. What follows from something else is not stored. A new fitted attribute has to be
added to both; ``tests/estimators/test_saving.py`` compares all of them.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from gpuboost.data.features import CATEGORICAL, KINDS, NUMERIC, Feature, FeatureMap
from gpuboost.estimators.classical import BaseClassical
from gpuboost.estimators.forest_base import OOB_NAMES, BaseForest
from gpuboost.model.ensemble import Ensemble, ensemble_of
from gpuboost.model.file import Arrays, ModelFormatError, need, numbers, record, text, texts, whole
from gpuboost.model.json_values import NotStorable, ascending, decode, encode
from gpuboost.model.leaf_targets import LeafTargets
from gpuboost.model.tree_arrays import put_trees, take_trees
from gpuboost.objectives.links import Link
from gpuboost.training.bagging import Bags, check_max_samples, draws
from gpuboost.training.trees import CLASS_CRITERIA, VALUE_CRITERIA, TreeParams

MOST_ROWS = 2**31 - 1


@dataclass(frozen=True)
class Given:
    """What the functions that read a state get.

    The estimator with its parameters, the size of a row, and the arrays.
    """

    model: Any
    n_features: int
    arrays: Arrays

    @property
    def classifies(self) -> bool:
        """Whether the estimator is a classifier."""
        return bool(is_classifier(self.model))


# --- gradient boosting


def put_boosting(model: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Gradient boosting as JSON and arrays."""
    ensemble = ensemble_of(model)
    put_trees(ensemble.trees, arrays)
    arrays["base_score"] = ensemble.base_score
    for i, metrics in enumerate(model.evals_result_.values()):
        for j, scores in enumerate(metrics.values()):
            arrays[f"evals/{i}/{j}"] = np.array(scores, np.float64)
    best = None
    if hasattr(model, "best_iteration_"):
        best = {"iteration": int(model.best_iteration_), "score": _put_float(model.best_score_)}
    fitted: dict[str, Any] = {
        "evals": [[name, list(metrics)] for name, metrics in model.evals_result_.items()],
        "best": best,
        "categories": _put_features(ensemble.features, arrays),
        "link": {"name": ensemble.link.name, "scale": float(ensemble.link.scale)},
    }
    if is_classifier(model):
        fitted["classes"] = _put_distinct(model.classes_, "classes", arrays, "classes_")
    return fitted


def take_boosting(fitted: Any, given: Given) -> dict[str, Any]:
    """The fitted attributes of gradient boosting."""
    record(
        fitted,
        {"categories", "evals", "best", "link"} | ({"classes"} if given.classifies else set()),
        "the fitted state",
    )
    out: dict[str, Any] = {}
    n_outputs = 1
    if given.classifies:
        classes = _take_distinct(fitted["classes"], "classes", given.arrays, "the classes")
        need(len(classes) >= 2, f"there are {len(classes)} classes, a classifier has at least 2")
        n_outputs = 1 if len(classes) == 2 else len(classes)
        out["classes_"] = classes
    link = "identity" if not given.classifies else "logistic" if n_outputs == 1 else "softmax"
    base_score = numbers(
        given.arrays.take("base_score", np.float64, (n_outputs,)), "the base score"
    )
    largest = float(np.abs(base_score).max())
    trees = take_trees(given.arrays, given.n_features, 1, {}, base_score=largest, described=False)
    need(len(trees) % n_outputs == 0, f"{len(trees)} trees cannot be shared by {n_outputs} outputs")
    taken = _take_link(fitted["link"], link)
    features = _take_features(fitted["categories"], given)
    ensemble = Ensemble.boosted(trees, base_score, features, taken)
    if given.classifies:
        ensemble = replace(ensemble, classes=[out["classes_"]])
    n_rounds = ensemble.n_rounds
    out |= {"ensemble_": ensemble, "n_estimators_": n_rounds}
    if fitted["best"] is not None:
        best = record(fitted["best"], {"iteration", "score"}, "the best round")
        out["best_iteration_"] = whole(best["iteration"], 0, n_rounds - 1, "the best round")
        out["best_score_"] = _take_float(best["score"], "the best score")
        used = (out["best_iteration_"] + 1) * n_outputs
        out["ensemble_"] = replace(ensemble, n_used=used)
    out["evals_result_"] = _take_evals(fitted["evals"], n_rounds, given.arrays)
    return out


def _take_link(value: Any, name: str) -> Link:
    """The link, which must be that of the estimator."""
    found = record(value, {"name", "scale"}, "the link")
    need(found["name"] == name, f"the link is {str(found['name'])[:50]!r}, not {name!r}")
    scale = found["scale"]
    need(type(scale) is float and np.isfinite(scale) and scale > 0, "the link has no valid scale")
    need(scale == 1.0 or name == "logistic", "only the logistic link has a scale")
    return Link(name, scale)


def _take_evals(evals: Any, n_rounds: int, arrays: Arrays) -> dict[str, dict[str, list[float]]]:
    """Metrics of the rounds by eval set and name; those of two metrics of one name share a list.

    They may be NaN.
    """
    need(isinstance(evals, list), "the eval sets are not a list")
    out: dict[str, dict[str, list[float]]] = {}
    for i, entry in enumerate(evals):
        need(
            isinstance(entry, list) and len(entry) == 2,
            "an eval set is not a name and a list of metrics",
        )
        own = out.setdefault(text(entry[0], "the name of an eval set"), {})
        need(len(out) == i + 1, "two eval sets have the same name")
        for j, name in enumerate(texts(entry[1], "the names of the metrics")):
            need(name not in own, f"the metric {name[:50]!r} is there twice")
            scores = arrays.take(f"evals/{i}/{j}", np.float64, (None,))
            need(
                len(scores) and len(scores) % n_rounds == 0,
                f"the metric {name[:50]!r} has {len(scores)} values for {n_rounds} rounds",
            )
            own[name] = scores.tolist()
    return out


# --- classical trees: what all of them have


def _put_classical(model: BaseClassical, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    ensemble = ensemble_of(model)
    put_trees(ensemble.trees, arrays)
    fitted: dict[str, Any] = {
        "categories": _put_features(ensemble.features, arrays),
        "vote": ensemble.vote,
    }
    if is_classifier(model):
        classes = ensemble.classes or []
        fitted["classes"] = [
            _put_distinct(own, f"classes/{o}", arrays, "classes_") for o, own in enumerate(classes)
        ]
    else:
        fitted["n_outputs"] = int(model.n_outputs_)
    return fitted


def _take_classical(
    fitted: Any, given: Given, more: set[str], least_classes: int = 1
) -> dict[str, Any]:
    record(
        fitted,
        {"categories", "vote", "classes" if given.classifies else "n_outputs"} | more,
        "the fitted state",
    )
    out: dict[str, Any] = {}
    if given.classifies:
        need(isinstance(fitted["classes"], list) and fitted["classes"], "there are no classes")
        classes = [
            _take_distinct(own, f"classes/{o}", given.arrays, "the classes")
            for o, own in enumerate(fitted["classes"])
        ]
        sizes = [len(own) for own in classes]
        need(min(sizes) >= least_classes, f"an output has fewer than {least_classes} classes")
        only = len(classes) == 1
        out |= {
            "classes_": classes[0] if only else classes,
            "n_classes_": sizes[0] if only else sizes,
        }
    else:
        # a node has as many values as there are outputs, so that the length of the values is a
        # limit
        sizes = [1] * whole(
            fitted["n_outputs"], 1, given.arrays.length("trees/value"), "the number of outputs"
        )
    need(type(fitted["vote"]) is bool, "vote is neither true nor false")
    need(given.classifies or not fitted["vote"], "trees vote, but there are no classes")
    features = _take_features(fitted["categories"], given)
    n_categories = {
        f: len(values)
        for f, values in features.categories.items()
        if features.features[f].kind == CATEGORICAL
    }
    trees = take_trees(
        given.arrays, given.n_features, sum(sizes), n_categories, shares=given.classifies
    )
    ensemble = Ensemble(
        trees=trees,
        base_score=np.zeros(sum(sizes)),
        features=features,
        first_channel=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        tree_weights=np.ones(len(trees)),
        combine="mean",
        vote=fitted["vote"],
        shares=given.classifies,
        classes=classes if given.classifies else None,
    )
    return out | {"ensemble_": ensemble, "n_outputs_": len(sizes)}


def _put_features(features: FeatureMap, arrays: dict[str, np.ndarray]) -> list[Any]:
    """Number, kind and categories of each feature that has categories."""
    return [
        [
            f,
            features.features[f].kind,
            _put_distinct(values, f"categories/{f}", arrays, f"the categories of feature {f}"),
        ]
        for f, values in features.categories.items()
    ]


def _take_features(value: Any, given: Given) -> FeatureMap:
    need(isinstance(value, list), "the categories are not a list")
    features = [Feature()] * given.n_features
    last = -1
    for entry in value:
        need(
            isinstance(entry, list) and len(entry) == 3,
            "the categories are not a list of a feature, its kind and its values",
        )
        last = whole(entry[0], last + 1, given.n_features - 1, "a feature with categories")
        need(entry[1] in KINDS and entry[1] != NUMERIC, "a feature with categories has no kind")
        name = f"the categories of feature {last}"
        values = _take_distinct(entry[2], f"categories/{last}", given.arrays, name)
        features[last] = Feature(entry[1], values)
    return FeatureMap(features)


# --- one tree


def put_tree(model: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """A decision tree as JSON and arrays."""
    return {**_put_classical(model, arrays), "ccp_alpha": float(model.ccp_alpha_)}


def take_tree(fitted: Any, given: Given) -> dict[str, Any]:
    """The fitted attributes of a decision tree."""
    out = _take_classical(fitted, given, {"ccp_alpha"})
    need(
        len(out["ensemble_"].trees) == 1,
        f"a decision tree is one tree, not {len(out['ensemble_'].trees)}",
    )
    alpha = fitted["ccp_alpha"]
    need(
        type(alpha) is float and alpha >= 0,
        f"ccp_alpha_ is {str(alpha)[:50]}, not a number of at least 0",
    )
    return out | {"ccp_alpha_": alpha}


# --- AdaBoost


def put_adaboost(model: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """AdaBoost as JSON and arrays."""
    arrays["estimator_weights"], arrays["estimator_errors"] = (
        model.estimator_weights_,
        model.estimator_errors_,
    )
    return _put_classical(model, arrays)


def take_adaboost(fitted: Any, given: Given) -> dict[str, Any]:
    """The fitted attributes of AdaBoost."""
    out = _take_classical(fitted, given, set(), least_classes=2)
    need(out["n_outputs_"] == 1, "AdaBoost has one output")
    trees = out["ensemble_"].trees
    weights = numbers(
        given.arrays.take("estimator_weights", np.float64, (len(trees),)),
        "the weight of a tree",
        0.0,
    )
    errors = numbers(
        given.arrays.take("estimator_errors", np.float64, (len(trees),)), "the error of a tree", 0.0
    )
    # the first trees alone have to be a model: staged predictions divide by their weights
    with np.errstate(over="ignore"):
        need(
            weights[0] > 0 and np.isfinite(2.0 * weights.sum()),
            "the weights of the trees do not add up to a positive number",
        )
    out |= {"estimator_weights_": weights, "estimator_errors_": errors, "n_estimators_": len(trees)}
    combine = "sum" if given.classifies else "median"
    need(out["ensemble_"].vote == given.classifies, "trees vote for classes, and only for them")
    out["ensemble_"] = replace(out["ensemble_"], tree_weights=weights, combine=combine)
    return out


# --- forests


def put_forest(model: BaseForest, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """A forest as JSON and arrays."""
    origin = {}
    for name, value in model.origin_.items():
        own: dict[str, np.ndarray] = {}
        try:
            origin[name] = encode(value, f"origin/{name}", own)
        except NotStorable:  # then the parameter is not stored either, and has its default
            origin[name] = None
        else:
            arrays |= own
    bags, fitted = model.bags_, _put_classical(model, arrays)
    if bags is not None and bags.usable is not None:
        arrays["bags/usable"] = bags.usable
    fitted["origin"] = origin
    fitted["bags"] = (
        None if bags is None else {"n_rows": bags.n_rows, "all_rows": bags.usable is None}
    )
    fitted["oob_score"] = None
    if hasattr(model, "oob_score_"):
        fitted["oob_score"] = _put_float(model.oob_score_)
        arrays["oob"] = getattr(model, OOB_NAMES[is_classifier(model)])
    if not is_classifier(model):
        kept: LeafTargets | None = model.leaf_targets_
        fitted["leaf_targets"] = kept is not None
        if kept is not None:
            arrays |= {
                f"leaf_targets/{name}": getattr(kept, name)
                for name in ("begin", "rows", "share", "rank", "by_rank")
            }
    return fitted


def take_forest(fitted: Any, given: Given) -> dict[str, Any]:
    """The fitted attributes of a forest."""
    more = {"origin", "bags", "oob_score"} | (set() if given.classifies else {"leaf_targets"})
    out = _take_classical(fitted, given, more)
    trees = out["ensemble_"].trees
    origin = _take_origin(fitted["origin"], given)
    bags = _take_bags(fitted["bags"], origin, given.arrays)
    out |= {
        "origin_": origin,
        "bags_": bags,
        "n_estimators_": len(trees),
    }
    if bags is not None:
        largest = max(int(tree.count[0]) for tree in trees)
        need(largest <= bags.n_rows, f"a tree has {largest} rows, but there were {bags.n_rows}")
    if fitted["oob_score"] is not None:
        need(bags is not None, "there is an out-of-bag score without bags")
        assert bags is not None
        score = _take_float(fitted["oob_score"], "the out-of-bag score")
        need(score is not None, "the out-of-bag score is no number")
        out["oob_score_"] = score
        values = given.arrays.take(
            "oob", np.float64, _oob_shape(out, bags.n_rows, given.classifies)
        )
        out[OOB_NAMES[given.classifies]] = numbers(values, "an out-of-bag prediction", nan=True)
    if not given.classifies:
        need(type(fitted["leaf_targets"]) is bool, "leaf_targets is neither true nor false")
        n_rows = None if bags is None else bags.n_rows
        out["leaf_targets_"] = (
            _take_leaf_targets(out["ensemble_"], out["n_outputs_"], n_rows, given)
            if fitted["leaf_targets"]
            else None
        )
    return out


def _oob_shape(out: dict[str, Any], n_rows: int, classifies: bool) -> tuple[int, ...]:
    if not classifies:
        return (n_rows,) if out["n_outputs_"] == 1 else (n_rows, out["n_outputs_"])
    return (
        (n_rows, out["n_classes_"])
        if out["n_outputs_"] == 1
        else (n_rows, max(out["n_classes_"]), out["n_outputs_"])
    )


def _take_origin(value: Any, given: Given) -> dict[str, Any]:
    """What the trees follow from: a warm start compares it."""
    digests = ("X", "y", "sample_weight")
    of_trees = {field.name for field in fields(TreeParams)}
    names = of_trees | {"bootstrap", "max_samples", "class_weight", "random_state", *digests}
    origin = {
        name: decode(own, f"origin/{name}", given.arrays)
        for name, own in record(value, names, "the origin").items()
    }
    if origin["splitter"] == "random":  # so called in files of forests that had no choice
        origin["splitter"] = "hist"
    try:
        params = TreeParams(**{name: origin[name] for name in of_trees})
        check_max_samples(origin["max_samples"], origin["bootstrap"])
    except (TypeError, ValueError) as error:
        raise ModelFormatError(str(error)) from error
    criteria = CLASS_CRITERIA if given.classifies else VALUE_CRITERIA
    need(params.criterion in criteria, f"the origin's criterion is {params.criterion!r}")
    need(type(origin["bootstrap"]) is bool, "the origin's bootstrap is neither true nor false")
    whole(origin["random_state"], 0, 2**32 - 1, "the origin's random_state")
    for name in digests:
        need(
            re.fullmatch("[0-9a-f]{32}", text(origin[name], f"the origin's {name}")),
            f"the origin's {name} is not a digest",
        )
    ordered = [
        *asdict(params),
        "bootstrap",
        "max_samples",
        "class_weight",
        "random_state",
        *digests,
    ]
    return {name: origin[name] for name in ordered}


def _take_bags(value: Any, origin: dict[str, Any], arrays: Arrays) -> Bags | None:
    need(
        (value is not None) == origin["bootstrap"],
        "there are bags without bootstrap, or the other way round",
    )
    if value is None:
        return None
    record(value, {"n_rows", "all_rows"}, "the description of the bags")
    n_rows = whole(value["n_rows"], 1, MOST_ROWS, "the number of training rows")
    need(type(value["all_rows"]) is bool, "all_rows is neither true nor false")
    usable = None
    if not value["all_rows"]:
        usable = arrays.take("bags/usable", np.int32, (None,))
        need(
            0 < len(usable) < n_rows and (usable[1:] > usable[:-1]).all(),
            "the rows with weight are not ascending",
        )
        need(usable[0] >= 0 and usable[-1] < n_rows, "a row with weight does not exist")
    n_usable = n_rows if usable is None else len(usable)
    try:
        n_draws = draws(origin["max_samples"], n_usable)
    except OverflowError as error:
        raise ModelFormatError(f"max_samples is {origin['max_samples']!r}: {error}") from error
    need(n_draws <= MOST_ROWS, f"a bag has {n_draws} draws")
    return Bags(n_rows, usable, n_draws, origin["random_state"])


def _take_leaf_targets(
    ensemble: Ensemble, n_outputs: int, n_rows: int | None, given: Given
) -> LeafTargets:
    """Training targets by leaves.

    Every leaf has some, or a quantile would be taken from nothing.
    """
    take = given.arrays.take
    n_nodes = np.array([len(tree.left) for tree in ensemble.trees])
    first_node = np.concatenate([[0], np.cumsum(n_nodes)]).astype(np.int64)
    begin = take("leaf_targets/begin", np.int64, (int(n_nodes.sum()) + 1,))
    rows = take("leaf_targets/rows", np.int32, (None,))
    share = numbers(
        take("leaf_targets/share", np.float64, rows.shape),
        "the share of a row in its leaf",
        0.0,
        1.0,
    )
    need(
        begin[0] == 0 and begin[-1] == len(rows) and (begin[1:] >= begin[:-1]).all(),
        "the rows of the leaves are not in order",
    )
    is_leaf = np.concatenate([tree.left for tree in ensemble.trees]) < 0
    need(
        ((begin[1:] > begin[:-1]) == is_leaf).all(),
        "a leaf has no training rows, or a node that is none has some",
    )
    rank = take("leaf_targets/rank", np.int32, (n_rows, n_outputs))
    by_rank = take("leaf_targets/by_rank", np.float64, (None, n_outputs))
    need(((rows >= 0) & (rows < len(rank))).all(), "a leaf has a training row that does not exist")
    need(
        (rank >= 0).all() and len(rank) > 0 and int(rank.max()) + 1 == len(by_rank),
        "the targets' ranks are not those of the targets",
    )
    numbers(by_rank, "a training target")
    for o in range(n_outputs):
        own = by_rank[: int(rank[:, o].max()) + 1, o]
        need((own[1:] > own[:-1]).all(), "the training targets are not ascending")
    return LeafTargets(first_node, begin, rows, share, rank, by_rank)


# --- pieces


def _put_distinct(values: np.ndarray, name: str, arrays: dict[str, np.ndarray], what: str) -> Any:
    """Classes or categories; what is none of numbers, texts, bytes and times cannot be saved."""
    try:
        return encode(values, name, arrays)
    except NotStorable as error:
        raise TypeError(
            f"{what}: {error}, which a model file cannot hold; use numbers or text instead"
        ) from error


def _take_distinct(value: Any, name: str, arrays: Arrays, what: str) -> np.ndarray:
    values = decode(value, name, arrays)
    need(isinstance(values, np.ndarray), f"{what} are not an array")
    return ascending(values, what)


def _put_float(value: float | None) -> Any:
    return None if value is None else encode(float(value), "", {})


def _take_float(value: Any, what: str) -> float | None:
    """A float that may be NaN or infinite, or None."""
    number = decode(value, what, Arrays({}))
    need(number is None or type(number) is float, f"{what} is {str(value)[:50]}, not a number")
    return None if number is None else float(number)
