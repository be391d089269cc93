"""What a model must be to predict: kernels trust every index, and people every number.

What concerns one array alone is declared beside it: dtype, range of its numbers.
"""

from __future__ import annotations

import math

import numpy as np

from gpuboost.data.categorical import ascending
from gpuboost.data.features import NUMERIC, WITH_STATISTIC, Feature, FeatureMap
from gpuboost.data.times import DATE
from gpuboost.dtypes import MAX_VALUE_BINS
from gpuboost.model.ensemble import Ensemble
from gpuboost.model.file import need
from gpuboost.objectives.links import NUMBER_LINKS


def check_ensemble(ensemble: Ensemble) -> None:
    """Raise ModelFormatError unless predictions of a model are safe, and numbers."""
    n_features, n_trees, names = ensemble.n_features, len(ensemble.trees), ensemble.feature_names
    need(n_trees and ensemble.n_channels, "there are no trees, or no channels")
    need(
        names is None or len(names) == n_features,
        f"there are {len(names or [])} names for {n_features} features",
    )
    for values in ensemble.classes or []:
        check_ascending(values, "the classes")
    need(n_features > 0, "there are no features")
    for f, feature in enumerate(ensemble.features.features):
        need(
            (feature.categories is None) == (feature.kind == NUMERIC),
            f"feature {f} is {feature.kind}, and has categories or not against it",
        )
    for f, values in ensemble.features.categories.items():
        check_categories(values, f"the categories of feature {f}")
        _check_numbers(f, ensemble.features.features[f])
    _check_statistics(ensemble.features)
    for part in ensemble.features.date_parts:
        is_date = 0 <= part.column < n_features
        is_date = is_date and ensemble.features.features[part.column].holds == DATE
        need(is_date, f"there is a {part.part} of column {part.column}, which holds no dates")
    _check_channels(ensemble)
    _check_combination(ensemble)
    _check_trees(ensemble)


def _check_numbers(f: int, feature: Feature) -> None:
    """Numbers that categories share are those of the own ones, ascending, and one behind them."""
    if feature.categories is None or feature.numbers is None:
        return
    numbers = feature.numbers
    need(
        numbers.dtype == np.uint8 and numbers.shape == feature.categories.shape and numbers.size,
        f"the numbers of the categories of feature {f} are not one byte for each of them",
    )
    own = numbers[numbers < numbers.max()]
    need(
        bool((own == np.arange(len(own))).all()) and numbers.max() == len(own) < MAX_VALUE_BINS,
        f"the numbers of the categories of feature {f} are not those of the own ones, ascending, "
        "and one that the others share",
    )


def _check_statistics(features: FeatureMap) -> None:
    """Target statistics are of levels that their columns have; these have one of their own each."""
    encoded = [f for f, feature in enumerate(features.features) if feature.kind in WITH_STATISTIC]
    single = [int(one.columns[0]) for one in features.statistics if len(one.columns) == 1]
    need(sorted(single) == encoded, "a feature has a target statistic or not against its kind")
    for one in features.statistics:
        columns = one.columns.tolist()
        need(
            len(columns) in (1, 2) and set(columns) <= set(encoded),
            f"a target statistic is of the columns {columns}, which are not one or two of those "
            "with statistics",
        )
        n_categories = [len(features.categories[f]) for f in columns]
        need(
            one.n_categories.tolist() == n_categories,
            f"the target statistic of {columns} is of other numbers of categories",
        )
        n_keys = math.prod(n + 2 for n in n_categories)
        need(
            bool((np.diff(one.key) > 0).all()) and bool((one.key < n_keys).all()),
            f"the levels of the target statistic of {columns} are not ascending, or not its own",
        )
        need(
            one.n_targets == len(one.prior) == features.statistics[0].n_targets > 0,
            f"the target statistic of {columns} is of another number of targets than others",
        )


def _check_channels(ensemble: Ensemble) -> None:
    """Classes, link, channels and what a tree says belong together."""
    classes, n_outputs, link = ensemble.classes, ensemble.n_outputs, "identity"
    widths = [1] * n_outputs if classes is None else [len(values) for values in classes]
    need(
        len(widths) == n_outputs > 0 and min(widths) >= 1,
        f"there are {widths} classes for {n_outputs} outputs, which need 1 at least",
    )
    if classes is not None and not ensemble.shares:
        need(n_outputs == 1 or set(widths) == {2}, f"labels have {widths} classes, not two each")
        link = "logistic" if widths[0] == 2 else "softmax"
        widths = [width - (width == 2) for width in widths]
        link = "one_vs_rest" if (link, ensemble.link.name) == ("softmax", "one_vs_rest") else link
    elif classes is None and ensemble.adds_up and ensemble.link.name in NUMBER_LINKS:
        link = ensemble.link.name
        if link not in ("log", "probability"):
            widths = [ensemble.n_channels if link == "sorted" else 2]
    need(ensemble.link.name == link, f"the link is {ensemble.link.name!r}, not {link!r}")
    need(
        ensemble.first_channel.tolist() == [0, *np.cumsum(widths)]
        and sum(widths) == ensemble.n_channels,
        f"the outputs do not have {widths} channels",
    )
    wanted = ensemble.n_channels
    n_values = ensemble.trees[0].n_channels
    need(
        n_values == wanted or (ensemble.adds_up and n_values == 1),
        f"the nodes say {n_values} numbers, not {wanted}",
    )


def _check_combination(ensemble: Ensemble) -> None:
    """How trees are added up; the first ones alone have to be a model, too."""
    weights, combine, n_trees = ensemble.tree_weights, ensemble.combine, len(ensemble.trees)
    per_round, used = ensemble.trees_per_round, ensemble.n_used
    need(n_trees % per_round == 0, f"{n_trees} trees cannot be shared by {per_round} outputs")
    need(
        used == -1 or (ensemble.adds_up and used in range(per_round, n_trees + 1, per_round)),
        f"predictions cannot use {used} of {n_trees} trees",
    )
    need(combine != "median" or ensemble.n_channels == 1, "a median is of one channel")
    need(
        ensemble.classes is not None if ensemble.shares else not ensemble.vote,
        "trees vote or have shares of classes, but there are no classes",
    )
    with np.errstate(over="ignore"):
        need(
            weights[0] > 0 and np.isfinite(2 * weights.sum()),
            "the weights of the trees do not add up to a positive number",
        )
    weighted = combine == "median" or (combine == "sum" and ensemble.vote)
    need(weighted or (weights == 1.0).all(), "only trees of AdaBoost have weights")
    need(ensemble.adds_up or not ensemble.base_score.any(), "only boosting has a base score")


def _check_trees(ensemble: Ensemble) -> None:
    """Indices that are safe to follow, and sums that are numbers."""
    nodes = {name: ensemble.all_nodes(name) for name in vars(ensemble.trees[0])}
    n_nodes = np.array([len(tree.left) for tree in ensemble.trees])
    need((n_nodes > 0).all(), "a tree has no nodes")
    begin, inner = np.cumsum(n_nodes) - n_nodes, nodes["left"] >= 0
    _check_children(nodes["left"], inner, begin, n_nodes)
    _check_questions(nodes, inner, ensemble.features.n_tree_columns)
    _check_sets(ensemble, nodes, inner, n_nodes)
    has_impurity = len(nodes["impurity"]) > 0
    need(has_impurity != ensemble.adds_up, "only trees of boosting have no impurity")
    in_range = (nodes["value"] >= 0) & (nodes["value"] <= 1 + 1e-6)
    need(not ensemble.shares or in_range.all(), "a share of a class is not in 0 to 1")
    if ensemble.shares or ensemble.adds_up:  # those of values are squares, maybe beyond any float
        for name in ("gain", "impurity"):
            need(np.isfinite(nodes[name]).all(), f"the {name} of a node is not a finite number")
    with np.errstate(over="ignore"):
        largest = np.maximum.reduceat(np.abs(nodes["value"]).max(axis=1), begin).sum()
        total = np.abs(ensemble.base_score).max() + largest
    need(np.isfinite(total), "the values of the trees add up to more than a number can hold")


def _check_children(
    left: np.ndarray, inner: np.ndarray, begin: np.ndarray, n_nodes: np.ndarray
) -> None:
    """Children come after their parents in the same tree, and every node but the root has one.

    So there are no cycles and no orphans.
    """
    need((left[~inner] == -1).all(), "a leaf has children other than -1")
    first = np.repeat(begin, n_nodes)
    number = np.arange(len(left)) - first
    # the right child stands behind the left one
    good = (left > number) & (left < np.repeat(n_nodes, n_nodes) - 1)
    need(good[inner].all(), "a node's child does not stand behind it in the same tree")
    children = (first + left)[inner]
    parents = np.bincount(np.concatenate([children, children + 1]), minlength=len(left))
    need((parents == (number > 0)).all(), "a node has no parent or more than one")


def _check_questions(nodes: dict[str, np.ndarray], inner: np.ndarray, n_features: int) -> None:
    """What a node asks.

    A threshold may be infinite: every value goes left then, and only missing ones go right.
    """
    feature, threshold = nodes["feature"], nodes["threshold"]
    need(
        ((feature >= 0) & (feature < n_features))[inner].all(),
        f"a node asks for a feature that is not among the {n_features}",
    )
    need(not np.isnan(threshold).any(), "a threshold is NaN")
    asks = (feature != -1) | (threshold != 0) | (nodes["missing_left"] != 0) | (nodes["gain"] != 0)
    need(not asks[~inner].any(), "a leaf asks a question")


def _check_sets(
    ensemble: Ensemble, nodes: dict[str, np.ndarray], inner: np.ndarray, n_nodes: np.ndarray
) -> None:
    """A node on a nominal feature has a bit for each category and one for missing values.

    No other node has a set.
    """
    feature, first_word = nodes["feature"], nodes["first_word"]
    n_words = np.repeat([len(tree.sets) for tree in ensemble.trees], n_nodes)
    features = ensemble.features.features
    nominal = np.array([-1, *np.flatnonzero(ensemble.features.is_categorical)])
    place = np.searchsorted(nominal, feature, side="right") - 1
    words = np.array([0, *(features[f].n_numbers // 64 + 1 for f in nominal[1:].tolist())])[place]
    words[~inner | (nominal[place] != feature)] = 0
    need((first_word[words == 0] == -1).all(), "a node that is not on a nominal feature has a set")
    need((first_word[words > 0] >= 0).all(), "a node on a nominal feature has no set")
    need(
        (first_word + words <= n_words)[words > 0].all(),
        "a set of a nominal feature reaches beyond the sets of its tree",
    )


def check_categories(values: np.ndarray, what: str) -> None:
    """Raise unless categories are distinct and in their order; whole numbers in text have two."""
    if values.dtype == object and all(isinstance(value, str) for value in values):
        in_order = values.tolist() == ascending(values, what).tolist()
        if values.ndim == 1 and in_order:
            return
    check_ascending(values, what)


def check_ascending(values: np.ndarray, what: str) -> None:
    """Raise unless values are distinct and in order; those of an object array texts or numbers."""
    need(values.ndim == 1, f"{what} must be a list")
    need(
        values.dtype != object
        or all(isinstance(value, str) for value in values)
        or all(isinstance(value, (int, float, np.number, np.bool_)) for value in values),
        f"{what} must be texts or numbers",
    )
    need(
        bool((values[:1] == values[:1]).all()) and bool((values[1:] > values[:-1]).all()),
        f"{what} must be ascending and distinct",
    )
