"""Out-of-bag importances, row by row."""

import numpy as np
import pytest
from small_forests import SMALL, grow_forest

from gpuboost import (
    importance,
)
from gpuboost.data.features import Feature, FeatureMap
from gpuboost.data.targets import TreeTargets
from gpuboost.explain.out_of_bag import node_sums
from gpuboost.model.ensemble import Ensemble
from gpuboost.training.trees import GrowingTree, TreeGrower, TreeParams


def channels(model, y):
    y = np.asarray(y).reshape(len(y), -1)
    known = model.ensemble_.classes
    return y.astype(float) if known is None else (y == known[0]).astype(float)


def path(tree, row):
    """Nodes that a row passes."""
    nodes = [0]
    while tree.left[nodes[-1]] >= 0:
        i = nodes[-1]
        nodes.append(tree.left[i] if row[tree.feature[i]] <= tree.threshold[i] else tree.right[i])
    return nodes


def rows_of_node(tree, x, node):
    return np.array([node in path(tree, row) for row in x])


@pytest.mark.parametrize("name", SMALL)
def test_mdi_oob_row_by_row(small, name):
    model, x, y = small[name]
    target = channels(model, y)
    expected = np.zeros(4)
    for t, tree in enumerate(model.ensemble_.trees):
        counts = model.bag_counts(t)
        outside = np.flatnonzero(counts == 0)
        mean = [
            np.average(target[rows], axis=0, weights=counts[rows])
            for rows in (rows_of_node(tree, x, i) for i in range(len(tree.left)))
        ]
        for i in outside:
            nodes = path(tree, x[i])
            for parent, child in zip(nodes[:-1], nodes[1:], strict=True):
                expected[tree.feature[parent]] += (
                    (mean[child] - mean[parent]) @ (target[i] - mean[0]) / len(outside)
                )
    expected /= len(model.ensemble_.trees) * (2 if name == "two outputs" else 1)
    np.testing.assert_allclose(importance.mdi_oob(model, x, y).values, expected, atol=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_mdi_oob_of_the_bag_is_mdi(small, name, backend):
    """The law that MDI-oob rests on.

    With the mean taken over the bag, it is the decrease of impurity.
    """
    model, x, y = small[name]
    target = channels(model, y)
    for t, tree in enumerate(model.ensemble_.trees):
        leaves = model.ensemble_.with_trees([tree]).leaves(x, backend)
        weight, sums = node_sums(tree, leaves[:, 0], model.bag_counts(t).astype(float), target)
        np.testing.assert_allclose(weight, tree.cover)
        np.testing.assert_allclose(sums / weight[:, None], tree.value)
        product = (tree.value * (sums - weight[:, None] * tree.value[0])).sum(axis=1)
        inner = tree.left >= 0
        gain = product[tree.left[inner]] + product[tree.right[inner]] - product[inner]
        np.testing.assert_allclose(
            gain / (2 if name == "two outputs" else 1), tree.gain[inner], atol=1e-9
        )


@pytest.mark.parametrize("name", SMALL)
def test_ufi_by_pairs_of_rows(small, name):
    model, x, y = small[name]
    target = channels(model, y)
    expected = np.zeros(4)
    for t, tree in enumerate(model.ensemble_.trees):
        counts = model.bag_counts(t)
        members = [rows_of_node(tree, x, i) for i in range(len(tree.left))]

        def impurity(node, counts=counts, members=members):
            inside, outside = (
                np.flatnonzero(members[node] & (counts > 0)),
                np.flatnonzero(members[node] & (counts == 0)),
            )
            if not len(outside):
                return None
            pairs = [
                (counts[i], ((target[i] - target[j]) ** 2).sum() / 2)
                for i in inside
                for j in outside
            ]
            share = counts[inside].sum() / counts.sum()
            return share * np.average([d for _, d in pairs], weights=[w for w, _ in pairs])

        for node in np.flatnonzero(tree.left >= 0):
            left, right = impurity(tree.left[node]), impurity(tree.right[node])
            if left is not None and right is not None:
                expected[tree.feature[node]] += impurity(node) - left - right
    expected /= len(model.ensemble_.trees) * (2 if name == "two outputs" else 1)
    np.testing.assert_allclose(importance.ufi(model, x, y).values, expected, atol=1e-12)


def nodes_by_level(tree, row, ignored):
    """Nodes that a row has reached after 0, 1, 2, ...

    Levels, if it goes both ways at splits on a feature.
    """
    level, reached, out = [0], {0}, [frozenset({0})]
    while level:
        below = []
        for i in level:
            if tree.left[i] < 0:
                continue
            if tree.feature[i] == ignored:
                below += [tree.left[i], tree.right[i]]
            else:
                below.append(
                    tree.left[i] if row[tree.feature[i]] <= tree.threshold[i] else tree.right[i]
                )
        level = below
        reached |= set(below)
        out.append(frozenset(reached))
    return out


@pytest.mark.parametrize("name", SMALL)
def test_sobol_mda_by_sets_of_nodes(small, name):
    model, x, y = small[name]
    target = channels(model, y)
    trees = model.ensemble_.trees
    error = {}
    for ignored in (-1, 0, 1, 2, 3):
        total, n_trees = np.zeros_like(target), np.zeros(len(x))
        for t, tree in enumerate(trees):
            counts = model.bag_counts(t)
            levels = [nodes_by_level(tree, row, ignored) for row in x]
            depth = max(map(len, levels))
            levels = [own + own[-1:] * (depth - len(own)) for own in levels]
            for i in np.flatnonzero(counts == 0):
                mates = next(
                    m
                    for d in reversed(range(depth))
                    if (m := [j for j in range(40) if counts[j] and levels[j][d] == levels[i][d]])
                )
                total[i] += np.average(target[mates], axis=0, weights=counts[mates])
                n_trees[i] += 1
        rows = n_trees > 0
        error[ignored] = (
            ((total[rows] / n_trees[rows, None] - target[rows]) ** 2).sum(axis=1).mean()
        )
    expected = [(error[f] - error[-1]) / target.var(axis=0).sum() for f in range(4)]
    found = importance.sobol_mda(model, x, y)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    assert found.values[3] == 0


@pytest.mark.parametrize("name", SMALL)
def test_mda_oob_of_unchanged_columns_is_0(small, name):
    model, x, y = small[name]
    found = importance.mda_oob(model, x, y)
    assert found.values[3] == 0 and found.errors[3] == 0 and found.values[0] > 0
    np.testing.assert_array_equal(
        found.values, importance.mda_oob(model, x, y, random_state=0).values
    )


def test_mda_oob_by_hand(backend):
    """A tree on one binary column.

    Permuting it turns the error into the chance that two rows differ in it.
    """
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (3000, 1)).astype(float)
    y = x[:, 0].astype(int)
    found = importance.mda_oob(grow_forest(x, y, 20, classes=True), x, y)
    assert found.values[0] == pytest.approx(0.5, abs=0.02)
    assert 0 < found.errors[0] < 0.01


def test_nominal_columns_go_through_the_projection(backend):
    """Sets of categories are asked as the trees themselves ask them.

    Ignoring nothing gives the trees' own predictions.
    """
    rng = np.random.default_rng(0)
    x = np.stack([rng.integers(0, 90, 500), rng.normal(size=500)], axis=1).astype(float)
    x[rng.random(x.shape) < 0.1] = np.nan
    y = rng.normal(size=90)[np.nan_to_num(x[:, 0]).astype(int)] + np.nan_to_num(x[:, 1])
    coded = FeatureMap([Feature("categorical"), Feature()]).matrix_with_borders(
        x, np.ones(500), None, backend
    )
    counts = rng.multinomial(500, np.full(500, 1 / 500)).astype(float)
    tree = TreeGrower(
        coded, TreeTargets.of_values(y[:, None]), TreeParams("squared_error"), backend
    ).grow(GrowingTree(counts, 1))
    assert (tree.first_word >= 0).any()
    ensemble = Ensemble.of_tree(tree, 2, np.array([0, 1], np.int32))
    own, found = ensemble.raw(x, backend).T, np.full((500, 1), np.nan)
    backend.project_tree(x, ensemble, 0, -1, counts, y[:, None], found)
    outside = counts == 0
    np.testing.assert_allclose(found[outside], own[outside], atol=1e-9)
    assert np.isnan(found[~outside]).all()
