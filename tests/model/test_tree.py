"""The tree as a struct of arrays."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from gpuboost.model.tree import Tree


@pytest.fixture
def tree():
    """Three leaves: the root asks feature 2, its right child feature 0."""
    left = np.array([1, -1, 3, -1, -1], np.int32)
    return Tree(
        feature=np.array([2, -1, 0, -1, -1], np.int32),
        threshold=np.array([0.5, 0, 1.5, 0, 0]),
        missing_left=np.zeros(5, np.uint8),
        left=left,
        value=np.arange(5.0)[:, None],
        gain=np.array([8.0, 0, 3.0, 0, 0]),
        cover=np.array([10.0, 4, 6, 1, 5]),
        count=np.array([10, 4, 6, 1, 5]),
        first_word=np.full(5, -1, np.int32),
    )


def test_relations_between_nodes(tree):
    assert tree.right.tolist() == [2, -1, 4, -1, -1]
    assert tree.parent.tolist() == [-1, 0, 0, 2, 2]
    assert tree.depth.tolist() == [0, 1, 1, 2, 2]
    assert (tree.n_leaves, tree.n_channels) == (3, 1)


def test_amounts_by_feature(tree):
    assert tree.sum_by_feature(tree.gain, 4).tolist() == [3.0, 0.0, 8.0, 0.0]


def digest_of(tree):
    digest = hashlib.sha256()
    tree.add_to_digest(digest)
    return digest.hexdigest()


def test_a_digest_is_of_what_predictions_depend_on(tree):
    for name, _ in Tree.CANONICAL:
        own = getattr(tree, name)
        changed = np.ones(1, np.uint64) if name == "sets" else own + own.dtype.type(1)
        assert digest_of(replace(tree, **{name: changed})) != digest_of(tree), name
    assert digest_of(replace(tree, gain=tree.gain + 1, count=tree.count + 1)) == digest_of(tree)
