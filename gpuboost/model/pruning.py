"""Pruning of classical trees.

Cost-complexity (weakest link), the choice of its alpha from held-out rows, and reduced error.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from gpuboost.data.array_math import log
from gpuboost.data.targets import TreeTargets
from gpuboost.model.tree import Tree

#: Losses that differ by less than this part are equal: sums of squares are rounded, and a tie means
#: the smaller tree.
TIE = 1e-12
#: What trees of classes can be pruned by: all of it follows from the class shares of the nodes.
CLASS_RISKS = ("misclassification", "gini", "entropy")
LN2 = 0.6931471805599453


@dataclass(frozen=True)
class PruningPath:
    """The nested trees of weakest-link pruning, from the whole tree down to its root.

    Each step turns one node into a leaf.
    """

    # (n_steps + 1,) float64: from which alpha on the tree is the best one; 0 first, never falling
    alphas: np.ndarray
    impurities: np.ndarray  # (n_steps + 1,) float64: weighted mean impurity of its leaves
    nodes: np.ndarray  # (n_steps,) int32: the node that the step turns into a leaf

    def step(self, alpha: float) -> int:
        """Steps to take for an alpha."""
        return int(np.searchsorted(self.alphas, alpha, side="right")) - 1


def class_risk(tree: Tree, name: str, first_channel: np.ndarray) -> np.ndarray:
    """Impurity of every node by one of ``CLASS_RISKS``: the mean over the outputs.

    It follows from the class shares of the node.
    """
    total = np.zeros(len(tree.left))
    for begin, end in pairwise(first_channel):
        shares = tree.value[:, begin:end]
        if name == "misclassification":
            purity = shares.max(axis=1)
        else:
            terms = shares * (log(shares) / LN2 if name == "entropy" else shares)
            purity = sum(terms.T)  # one after another: always these bits
        total += -purity if name == "entropy" else 1.0 - purity
    return np.maximum(total / (len(first_channel) - 1), 0.0)


def weakest_links(tree: Tree, risk: np.ndarray | None = None) -> PruningPath:
    """The trees that minimise risk + alpha * leaves, for rising alpha.

    Breiman, Friedman, Olshen and Stone 1984, chapter 3. ``risk`` is the impurity of every node;
    None: by the criterion that the tree was grown by. Alphas that differ by rounding only are
    equal: a risk such as the share of wrong classes has many ties.
    """
    impurity = tree.cover * (tree.impurity if risk is None else risk) / tree.cover[0]
    below, n_leaves = _leaf_sums(tree, impurity), _leaf_sums(tree, np.ones(len(impurity)))
    parent, left, right = tree.parent, tree.left, tree.right
    is_inner = left >= 0
    alpha = np.full(len(left), np.inf)
    alpha[is_inner] = (impurity - below)[is_inner] / (n_leaves - 1)[is_inner]
    queue = [(alpha[i], i) for i in np.flatnonzero(is_inner)]
    heapq.heapify(queue)
    alphas, impurities, nodes, rounding = [0.0], [below[0]], [], TIE * impurity[0]
    while queue:
        lowest, node = heapq.heappop(queue)
        if not is_inner[node] or lowest != alpha[node]:
            continue  # the node is gone, or its subtree has become smaller since
        gone = [node]
        for i in gone:  # grows while it is read: the whole subtree
            if is_inner[i]:
                is_inner[i] = False
                gone += [left[i], right[i]]
        i, more, fewer = parent[node], impurity[node] - below[node], n_leaves[node] - 1
        while i >= 0:
            below[i] += more
            n_leaves[i] -= fewer
            alpha[i] = (impurity[i] - below[i]) / (n_leaves[i] - 1)
            heapq.heappush(queue, (alpha[i], i))
            i = parent[i]
        below[node] = impurity[node]
        alphas.append(lowest if lowest > alphas[-1] + rounding else alphas[-1])
        impurities.append(below[0])
        nodes.append(node)
    return PruningPath(np.array(alphas), np.array(impurities), np.array(nodes, np.int32))


def prune(tree: Tree, alpha: float, risk: np.ndarray | None = None) -> Tree:
    """The smallest subtree that minimises risk + alpha * leaves, as in ``weakest_links``."""
    path = weakest_links(tree, risk)
    return cut_back(tree, path.nodes[: path.step(alpha)])


def cut_back(tree: Tree, nodes: np.ndarray) -> Tree:
    """A copy of a tree in which some nodes are leaves; the others keep their order."""
    is_inner = tree.left >= 0
    is_inner[nodes] = False
    kept = np.arange(len(is_inner)) == 0  # the root
    for i in np.flatnonzero(is_inner):
        if kept[i]:
            kept[[tree.left[i], tree.right[i]]] = True
    number = (np.cumsum(kept) - 1).astype(np.int32)
    inner = is_inner[kept]
    return replace(
        tree,
        feature=np.where(inner, tree.feature[kept], -1).astype(np.int32),
        threshold=np.where(inner, tree.threshold[kept], 0.0),
        missing_left=np.where(inner, tree.missing_left[kept], 0).astype(np.uint8),
        left=np.where(inner, number[tree.left[kept]], -1).astype(np.int32),
        value=tree.value[kept],
        gain=np.where(inner, tree.gain[kept], 0.0),
        cover=tree.cover[kept],
        count=tree.count[kept],
        impurity=tree.impurity[kept],
        first_word=np.where(inner, tree.first_word[kept], -1).astype(np.int32),
    )


# --- judged by rows


def node_losses(
    tree: Tree,
    leaves: np.ndarray,
    targets: TreeTargets,
    weight: np.ndarray,
    absolute: bool,
) -> np.ndarray:
    """For every node the weighted loss of the rows that pass through it, if it were a leaf.

    ``leaves`` are the rows' leaves. The loss is the share of outputs with a wrong class, or the
    squared or absolute error.
    """
    loss = _loss(tree, targets, absolute)
    parent, total = tree.parent, np.zeros(len(tree.left))
    rows, node = np.arange(len(leaves)), leaves
    while len(rows):
        total += np.bincount(node, weight[rows] * loss(node, rows), minlength=len(total))
        node = parent[node]
        rows, node = rows[node >= 0], node[node >= 0]
    return total


def _loss(
    tree: Tree, targets: TreeTargets, absolute: bool
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """What node numbers say, against the targets of rows."""
    if len(targets.classes):
        parts = pairwise(targets.first_channel)
        predicted = np.stack([a + tree.value[:, a:b].argmax(axis=1) for a, b in parts], axis=1)
        return lambda node, rows: (predicted[node] != targets.classes[rows]).mean(axis=1)
    distance = np.abs if absolute else np.square
    return lambda node, rows: distance(tree.value[node] - targets.y[rows]).mean(axis=1)


def losses_along(tree: Tree, path: PruningPath, losses: np.ndarray) -> np.ndarray:
    """Loss of each tree of a path, from the losses of the nodes."""
    below, parent = _leaf_sums(tree, losses), tree.parent
    out = [below[0]]
    for node in path.nodes:
        i, change = node, losses[node] - below[node]
        while i >= 0:
            below[i] += change
            i = parent[i]
        out.append(below[0])
    return np.array(out)


def choose_alpha(path: PruningPath, folds: list[tuple[PruningPath, np.ndarray]]) -> float:
    """The alpha of a path whose trees do best on held-out rows; the simplest tree among equals.

    ``folds`` has the path of each fold's tree and the loss of each of its trees on the held-out
    rows. Between two alphas of the path the tree stays the same; their geometric mean stands for
    all of them (Breiman, Friedman, Olshen and Stone 1984, section 3.4.2).
    """
    alphas = np.unique(path.alphas)
    typical = np.append(np.sqrt(alphas[:-1] * alphas[1:]), np.inf)
    losses = sum(np.array([loss[fold.step(alpha)] for alpha in typical]) for fold, loss in folds)
    return float(alphas[np.flatnonzero(losses <= np.min(losses) * (1 + TIE))[-1]])


def reduce_error(tree: Tree, losses: np.ndarray) -> Tree:
    """Bottom-up, turn every node into a leaf that has no higher loss than its subtree."""
    best, leaves = losses.copy(), []
    for i in np.flatnonzero(tree.left >= 0)[::-1]:
        below = best[tree.left[i]] + best[tree.right[i]]
        if losses[i] <= below * (1 + TIE):
            leaves.append(i)
        else:
            best[i] = below
    return cut_back(tree, np.array(leaves, np.int64))


def _leaf_sums(tree: Tree, amounts: np.ndarray) -> np.ndarray:
    """For every node the sum over the leaves below it."""
    out = np.where(tree.left >= 0, 0.0, amounts)
    for i in np.flatnonzero(tree.left >= 0)[::-1]:
        out[i] = out[tree.left[i]] + out[tree.right[i]]
    return out
