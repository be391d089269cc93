"""Records of a grower as trees of a model, and the other way round."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gpuboost.data.features import FeatureMap
from gpuboost.dtypes import IN_SET, NODE, SET_NODE, SET_WORDS
from gpuboost.exchange import BoostedTree
from gpuboost.model.ensemble import begins_of
from gpuboost.model.tree import Tree

#: Of trees without sets of categories.
NO_SETS = np.empty(0, np.uint64)


class RecordReader:
    """Knows the cuts of the training data, which trees have in the place of codes."""

    def __init__(self, features: FeatureMap) -> None:
        self.cuts, self.first_cut = features.thresholds()
        # bit 0 of a set is the missing value, the others are numbers of categories
        self.set_words = np.array([f.n_numbers // 64 + 1 for f in features.features], np.int32)
        self.has_sets = bool(features.is_categorical.any())

    def trees(self, grown: list[BoostedTree]) -> list[Tree]:
        """The grower's records as trees.

        All at once: for small trees a call of numpy takes longer than what it does.
        """
        if not grown:
            return []
        # as bytes: numpy copies records field by field
        dtype = grown[0].nodes.dtype
        nodes = np.concatenate([tree.nodes.view(np.uint8) for tree in grown]).view(dtype)
        split, left = nodes["split"], nodes["left"].copy()
        inner = left >= 0
        feature = np.where(inner, split["feature"], -1).astype(np.int32, copy=False)
        # the last one of a feature is +inf, which is the threshold of "values left, missing right"
        cut = self.first_cut[feature] + np.where(inner, split["bin"], 1) - 1
        threshold = np.where(inner, self.cuts[cut], 0.0)
        missing_left = np.where(inner, split["missing_left"], 0).astype(np.uint8, copy=False)
        gain = np.where(inner, split["gain"], 0.0)
        first_word, sets = np.full(len(left), -1, np.int32), NO_SETS
        words = np.zeros(len(grown) + 1, np.int64)
        begins = begins_of([len(tree.nodes) for tree in grown]).tolist()
        if "set" in (split.dtype.names or ()):
            by_set = inner & (split["kind"] == IN_SET)
            threshold[by_set] = 0.0
            first_word, words, sets = _sets_of_nodes(
                split["set"], np.where(by_set, self.set_words[feature], 0), begins
            )
        return [
            Tree(
                feature=feature[a:b],
                threshold=threshold[a:b],
                missing_left=missing_left[a:b],
                left=left[a:b],
                value=tree.values,
                gain=gain[a:b],
                cover=tree.cover,
                count=tree.counts,
                first_word=first_word[a:b],
                sets=sets[words[t] : words[t + 1]],
            )
            for t, (tree, (a, b)) in enumerate(zip(grown, pairwise(begins), strict=True))
        ]

    def records(self, tree: Tree) -> BoostedTree:
        """A tree that was trained on the same cuts as the grower's record of it."""
        n, inner = len(tree.left), tree.left >= 0
        nodes = np.zeros(n, SET_NODE if self.has_sets else NODE)
        nodes["left"], nodes["right"] = tree.left, tree.right
        nodes["end"] = tree.count
        split = nodes["split"]
        split["feature"], split["missing_left"] = tree.feature, tree.missing_left
        split["gain"] = tree.gain
        for i in np.flatnonzero(inner & (tree.first_word < 0)):
            begin = self.first_cut[tree.feature[i]]
            # the last cut of a feature is +inf
            end = begin + int(np.argmax(np.isinf(self.cuts[begin:]))) + 1
            split["bin"][i] = 1 + np.searchsorted(self.cuts[begin:end], tree.threshold[i])
        for i in np.flatnonzero(inner & (tree.first_word >= 0)):
            first, n_words = tree.first_word[i], self.set_words[tree.feature[i]]
            split["kind"][i] = IN_SET
            split["set"][i, :n_words] = tree.sets[first : first + n_words]
        return BoostedTree(nodes, tree.value.copy(), tree.cover, tree.count)


def _sets_of_nodes(
    sets: np.ndarray, n_words: np.ndarray, begins: list[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sets with as many words as each node needs, of trees that begin at these nodes.

    Where the set of each node begins among those of its tree (-1: it has none), where those of each
    tree begin, and all words.
    """
    ends = np.concatenate([[0], np.cumsum(n_words)])
    words = ends[begins]
    first = ends[:-1] - np.repeat(words[:-1], np.diff(begins))
    kept = np.arange(SET_WORDS) < n_words[:, None]
    return np.where(n_words > 0, first, -1).astype(np.int32), words, sets[kept]
