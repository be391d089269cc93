"""Trees as the arrays of a saved model, and the checks that make prediction safe.

Kernels trust every index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpuboost.model.file import Arrays, need, numbers
from gpuboost.model.tree import Tree

#: Arrays of all nodes of all trees, one tree after another.
NODE_ARRAYS = {
    "feature": np.int32,
    "threshold": np.float64,
    "missing_left": np.uint8,
    "left": np.int32,
    "value": np.float64,
    "gain": np.float64,
    "cover": np.float64,
    "count": np.int64,
    "first_word": np.int32,
}


def put_trees(trees: Sequence[Tree], arrays: dict[str, np.ndarray]) -> None:
    """Add trees to the arrays of a file."""
    for name in (*NODE_ARRAYS, "impurity", "sets"):
        arrays[f"trees/{name}"] = np.concatenate([getattr(tree, name) for tree in trees])
    arrays["trees/n_nodes"] = np.array([len(tree.left) for tree in trees], np.int64)
    arrays["trees/n_words"] = np.array([len(tree.sets) for tree in trees], np.int64)


@dataclass(frozen=True)
class Nodes:
    """All nodes of all trees, checked."""

    arrays: dict[str, np.ndarray]
    begin: np.ndarray  # (n_trees + 1,) int64: where each tree's nodes begin

    def of_tree(self, t: int) -> dict[str, np.ndarray]:
        """The arrays of one tree."""
        return {
            name: array[self.begin[t] : self.begin[t + 1]] for name, array in self.arrays.items()
        }


def take_trees(
    given: Arrays,
    n_features: int,
    n_channels: int,
    n_categories: dict[int, int],
    *,
    base_score: float = 0.0,
    shares: bool = False,
    described: bool = True,
) -> list[Tree]:
    """Trees whose nodes say ``n_channels`` numbers, to be added to a base score of at most this.

    The numbers are shares of classes, or any values. Nodes of trees that are not ``described`` have
    no impurity.
    """
    nodes = _take_nodes(given, n_features, n_channels, base_score)
    arrays, begin = nodes.arrays, nodes.begin
    n_trees = len(begin) - 1
    impurity = given.take("trees/impurity", np.float64, (len(arrays["left"]) if described else 0,))
    if shares:
        numbers(arrays["value"], "the share of a class", 0.0, 1.0 + 1e-6)
    if shares or not described:  # those of values are squares, which may be beyond any float
        numbers(arrays["gain"], "the gain of a node")
        numbers(impurity, "the impurity of a node")
    n_words = given.take("trees/n_words", np.int64, (n_trees,))
    sets = given.take("trees/sets", np.uint64, (None,))
    first_set = _begins(n_words, len(sets), 0, "sets")
    _check_sets(nodes, np.repeat(n_words, np.diff(begin)), n_categories)
    if described:
        arrays["impurity"] = impurity
    return [
        Tree(**nodes.of_tree(t), sets=sets[first_set[t] : first_set[t + 1]]) for t in range(n_trees)
    ]


def _begins(sizes: np.ndarray, total: int, least: int, what: str) -> np.ndarray:
    """Where parts of these sizes begin; they must add up to the total."""
    need(
        ((sizes >= least) & (sizes <= total)).all() and len(sizes) > 0,
        f"the sizes of the trees' {what} are not possible",
    )
    begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    # a sum that overflows goes down somewhere
    need(
        (begin[1:] >= begin[:-1]).all() and begin[-1] == total,
        f"the sizes of the trees' {what} do not add up",
    )
    return begin


def _take_nodes(given: Arrays, n_features: int, n_channels: int, start: float) -> Nodes:
    """Nodes whose indices are safe to follow and whose numbers are numbers."""
    n_nodes = given.take("trees/n_nodes", np.int64, (None,))
    n = given.length("trees/left")
    begin = _begins(n_nodes, n, 1, "nodes")
    arrays = {
        name: given.take(f"trees/{name}", dtype, (n, n_channels) if name == "value" else (n,))
        for name, dtype in NODE_ARRAYS.items()
    }
    inner = _check_children(arrays["left"], n_nodes, begin)
    _check_questions(arrays, inner, n_features)
    numbers(arrays["value"], "the value of a node")
    numbers(arrays["cover"], "the cover of a node", 0.0)
    need((arrays["count"] >= 0).all(), "the count of a node is negative")
    _check_sums(start, arrays["value"], begin)
    return Nodes(arrays, begin)


def _check_children(left: np.ndarray, n_nodes: np.ndarray, begin: np.ndarray) -> np.ndarray:
    """Children come after their parents in the same tree, and every node but the root has one.

    No cycles, no orphans.
    """
    inner = left >= 0
    need((left[~inner] == -1).all(), "a leaf has children other than -1")
    first, size = np.repeat(begin[:-1], n_nodes), np.repeat(n_nodes, n_nodes)
    own = np.arange(len(left)) - first
    good = (left > own) & (left < size - 1)  # the right child stands behind the left one
    need(good[inner].all(), "a node's child does not stand behind it in the same tree")
    children = np.concatenate([(first + left + side)[inner] for side in (0, 1)])
    parents = np.bincount(children, minlength=len(left))
    is_root = np.zeros(len(left), np.bool_)
    is_root[begin[:-1]] = True
    need((parents == ~is_root).all(), "a node has no parent or more than one")
    return inner


def _check_questions(arrays: dict[str, np.ndarray], inner: np.ndarray, n_features: int) -> None:
    """What a node asks. A threshold may be infinite.

    Every value goes left then, and only missing ones go right.
    """
    feature, threshold, missing_left = (
        arrays["feature"],
        arrays["threshold"],
        arrays["missing_left"],
    )
    need(
        ((feature >= 0) & (feature < n_features))[inner].all(),
        f"a node asks for a feature that is not among the {n_features}",
    )
    need(not np.isnan(threshold).any(), "a threshold is NaN")
    need((missing_left <= 1).all(), "a node's missing_left is neither 0 nor 1")
    plain = (feature == -1) & (threshold == 0) & (missing_left == 0) & (arrays["gain"] == 0)
    need(plain[~inner].all(), "a leaf asks a question")


def _check_sums(start: float, value: np.ndarray, begin: np.ndarray) -> None:
    """What all trees say together must be a number."""
    largest = np.maximum.reduceat(np.abs(value).max(axis=1), begin[:-1])
    with np.errstate(over="ignore"):
        total = start + largest.sum()
    need(np.isfinite(total), "the values of the trees add up to more than a number can hold")


def _check_sets(nodes: Nodes, n_words: np.ndarray, n_categories: dict[int, int]) -> None:
    """A node on a nominal feature has a set with a bit for each category and one for missing.

    Values; no other node has one.
    """
    feature, first_word, inner = (
        nodes.arrays["feature"],
        nodes.arrays["first_word"],
        nodes.arrays["left"] >= 0,
    )
    need(
        (first_word >= -1).all() and (first_word[~inner] == -1).all(), "a node's set begins nowhere"
    )
    # words that a set of each feature has; 0: it is not nominal
    features = np.array([-1, *n_categories], np.int64)
    needed = np.array([0, *(n // 64 + 1 for n in n_categories.values())], np.int64)
    place = np.searchsorted(features, feature, side="right") - 1
    own = np.where(inner & (features[place] == feature), needed[place], 0)
    need((first_word[own > 0] >= 0).all(), "a node on a nominal feature has no set")
    need(
        (first_word <= n_words - own)[own > 0].all(),
        "a set of a nominal feature reaches beyond the sets of its tree",
    )
    need((first_word[own == 0] == -1).all(), "a node that is not on a nominal feature has a set")
