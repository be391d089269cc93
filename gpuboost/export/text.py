"""A tree as text, and the words for its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.config import Number
from gpuboost.data.times import IN_SECONDS, written
from gpuboost.model.ensemble import ensemble_of
from gpuboost.model.tree import Tree


def export_text(
    model: Any,
    feature_names: Any = None,
    decimals: int = 2,
    max_depth: int | None = None,
    tree: int = 0,
) -> str:
    """Write a tree of a fitted model as text.

    Parameters
    ----------
    model : estimator
        Any fitted estimator of this library.
    feature_names : sequence of str, default=None
        Names of the features. None: those of the training data, or "x0", "x1", ...
    decimals : int, default=2
        Digits behind the point.
    max_depth : int, default=None
        Levels to write. None: all.
    tree : int, default=0
        Number of the tree, for models with several.

    Returns
    -------
    str
        A line for each side of a split and for each leaf, ending with a new line. "or missing"
        marks the side of missing values.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gpuboost as gb
    >>> data = load_iris(as_frame=True)
    >>> species = data.target_names[data.target]
    >>> model = gb.DecisionTreeClassifier(max_depth=1).fit(data.data, species)
    >>> print(gb.export_text(model), end="")
    petal length (cm) <= 2.45
    |   class setosa (shares 1.00, 0.00, 0.00; weight 50)
    petal length (cm) > 2.45 or missing
    |   class versicolor (shares 0.00, 0.50, 0.50; weight 100)
    """
    view = words_for(model, tree, feature_names, decimals)
    Number(0, integer=True, none=True).check("max_depth", max_depth)
    lines: list[str] = []
    todo = [(0, 0, "")]  # a stack: trees may be deeper than calls can be
    while todo:
        node, depth, condition = todo.pop()
        if condition:
            lines.append("|   " * (depth - 1) + condition)
        children = view.tree.left[node], view.tree.right[node]
        if children[0] < 0 or depth == max_depth:
            cut = f"... {view.n_leaves_below(node)} leaves: " if children[0] >= 0 else ""
            lines.append(f"{'|   ' * depth}{cut}{view.says(node)} ({view.details(node)})")
        else:
            todo += [
                (int(child), depth + 1, side)
                for side, child in zip(view.sides(node), children, strict=True)
            ][::-1]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class TreeWords:
    """A tree and the words for it."""

    tree: Tree
    names: list[str]
    categories: dict[int, np.ndarray]
    holds: list[str]  # what the columns of the features hold
    classes: list[np.ndarray] | None  # None: values
    first_channel: np.ndarray
    decimals: int

    def number(self, value: float) -> str:
        """A number, never "-0.00"."""
        return f"{round(float(value), self.decimals) + 0.0:.{self.decimals}f}"

    def sides(self, node: int) -> tuple[str, str]:
        """The conditions for the left and for the right child."""
        name, threshold = self.names[self.tree.feature[node]], float(self.tree.threshold[node])
        chosen = self.left_categories(node)
        if chosen is not None:
            words, what = ("in", "not in"), "{" + ", ".join(map(str, chosen)) + "}"
        elif np.isinf(threshold):
            return f"{name} is not missing", f"{name} is missing"
        else:
            words, what = ("<=", ">"), self.threshold(node)
        left, right = (f"{name} {word} {what}" for word in words)
        if self.tree.missing_left[node]:
            return f"{left} or missing", right
        return left, f"{right} or missing"

    def threshold(self, node: int) -> str:
        """The threshold of a node; that of a time as people write it."""
        value, holds = float(self.tree.threshold[node]), self.holds[self.tree.feature[node]]
        return written(value, holds) if holds in IN_SECONDS else self.number(value)

    def left_categories(self, node: int) -> np.ndarray | None:
        """The categories that go left, None if the feature is not nominal."""
        tree = self.tree
        if tree.first_word[node] < 0:
            return None
        values = self.categories[int(tree.feature[node])]
        codes = np.arange(1, len(values) + 1)
        words = tree.sets[tree.first_word[node] + codes // 64]
        return np.extract((words >> (codes % 64).astype(np.uint64)) & np.uint64(1), values)

    def says(self, node: int) -> str:
        """The class or value of a node."""
        if self.classes is None:
            return "value " + ", ".join(map(self.number, self.tree.value[node]))
        return "class " + ", ".join(
            str(classes[shares.argmax()])
            for classes, shares in zip(self.classes, self.shares(node), strict=True)
        )

    def shares(self, node: int) -> list[np.ndarray]:
        """Shares of the classes of each output."""
        return np.split(self.tree.value[node], self.first_channel[1:-1])

    def weight(self, node: int) -> str:
        """The weight of a node's training rows."""
        weight = float(self.tree.cover[node])
        return f"weight {weight:.0f}" if weight.is_integer() else f"weight {self.number(weight)}"

    def details(self, node: int) -> str:
        """Class shares and weight."""
        if self.classes is None:
            return self.weight(node)
        parts = [", ".join(map(self.number, shares)) for shares in self.shares(node)]
        return f"shares {' | '.join(parts)}; {self.weight(node)}"

    def n_leaves_below(self, node: int) -> int:
        """Leaves of a subtree."""
        below = [node]
        for i in below:  # grows while it is read
            if self.tree.left[i] >= 0:
                below += [self.tree.left[i], self.tree.right[i]]
        return (len(below) + 1) // 2


def check_names(feature_names: Any, n_features: int) -> list[str]:
    """Names of features as texts; raises unless there is one for each feature."""
    names = [str(name) for name in feature_names]
    if len(names) != n_features:
        raise ValueError(
            f"feature_names must have one entry for each of the {n_features} features; got "
            f"{len(names)}"
        )
    return names


def words_for(model: Any, number: int, feature_names: Any, decimals: int) -> TreeWords:
    """Check the arguments, and get the tree out of the model."""
    Number(0, integer=True).check("decimals", decimals)
    ensemble = ensemble_of(model)
    Number(0, len(ensemble.trees) - 1, integer=True).check("tree", number)
    names = None if feature_names is None else check_names(feature_names, ensemble.n_features)
    return TreeWords(
        tree=ensemble.trees[number],
        names=ensemble.tree_names(names),
        categories=ensemble.features.of_trees.number_names,
        holds=[feature.holds for feature in ensemble.features.of_trees.features],
        classes=ensemble.classes if ensemble.shares else None,
        first_channel=ensemble.first_channel,
        decimals=int(decimals),
    )
