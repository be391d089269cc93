"""Features that are drawn, alike or by weights, and those that a path allows."""

import itertools

import numpy as np
import pytest

from gpuboost.dtypes import DEPTHWISE, GROWTH, NODE, SYMMETRIC
from gpuboost.kernels.cpu import draws
from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.sampling import draw_weighted_features

choose_some, choose_first = exposed(draws.choose_some), exposed(draws.choose_first)
draw_columns, narrow = exposed(draws.draw_columns), exposed(draws.narrow_groups)


@pytest.mark.parametrize("n_wanted", [0, 1, 3, 7, 8, 20])
def test_subsets_of_the_marked_entries(n_wanted):
    marks = np.array([1, 1, 0, 1, 1, 1, 1, 0, 1, 1], np.uint8)
    counts = np.zeros(10)
    for key in range(3000):
        chosen = marks.copy()
        choose_some(chosen, n_wanted, np.uint32(key), chosen)
        assert chosen.sum() == min(n_wanted, 8) and (chosen <= marks).all()
        counts += chosen
    np.testing.assert_allclose(counts[marks > 0] / 3000, min(1, n_wanted / 8), atol=0.03)


@pytest.mark.parametrize("n_wanted", [0, 1, 4, 9, 30])
def test_those_that_arrive_first_are_the_first_of_a_stable_sort(rng, n_wanted):
    for scale in (1.0, 1e150, 1e-150):
        for levels in (2, 5, 10**6):  # many ties, some, none
            arrivals = rng.integers(0, levels, 20) * scale
            marks = (rng.random(20) < 0.7).astype(np.uint8)
            marked = np.flatnonzero(marks)
            first = marked[np.argsort(arrivals[marked], kind="stable")][:n_wanted]
            choose_first(marks, arrivals, n_wanted)
            assert np.flatnonzero(marks).tolist() == sorted(first)


def shares_in_theory(weights, n_wanted):
    """How often each is among those drawn one after another, in proportion to their weights."""
    shares = np.zeros(len(weights))
    for order in itertools.permutations(range(len(weights)), n_wanted):
        left, chance = weights.sum(), 1.0
        for i in order:
            chance *= weights[i] / left
            left -= weights[i]
        shares[list(order)] += chance
    return shares


@pytest.mark.parametrize("n_wanted", [1, 2, 4])
def test_draws_are_in_proportion_to_weights(n_wanted):
    weights = np.array([1.0, 0.0, 0.25, 0.5, 0.1, 0.0, 0.75])
    growth, out, counts = np.zeros(1, GROWTH), np.empty(n_wanted, np.int32), np.zeros(7)
    for key in range(20_000):
        growth["column_key"] = key
        draw_weighted_features(growth, weights, out)
        assert (np.diff(out) > 0).all()
        counts[out] += 1
    assert counts[weights == 0].sum() == 0
    np.testing.assert_allclose(counts / 20_000, shares_in_theory(weights, n_wanted), atol=0.012)


def test_infinite_weights_are_always_drawn():
    weights = np.array([1.0, 1.0, np.inf, 1.0, np.inf])
    growth, out, others = np.zeros(1, GROWTH), np.empty(3, np.int32), set()
    for key in range(50):
        growth["column_key"] = key
        draw_weighted_features(growth, weights, out)
        assert {2, 4} < set(out)
        others |= set(out) - {2, 4}
    assert others == {0, 1, 3}


def limits(level_features, node_features, order=DEPTHWISE, key=0):
    growth = np.zeros(1, GROWTH)
    growth["level_features"], growth["node_features"] = level_features, node_features
    growth["order"], growth["column_key"] = order, key
    return growth.view(np.recarray)


def test_nodes_draw_among_what_their_level_drew():
    """Also by weights: a heavy feature is nearly always there."""
    features = np.array([1, 3, 4, 6, 7, 9], np.int32)
    weights = draws.make_weights(np.where(np.arange(10) == 4, 1e6, 1.0))
    for given in (None, weights):
        heavy = 0
        for key in range(300):
            masks = np.empty((3, 6), np.uint8)
            draw_columns(limits(4, 4, key=key), 2, 5, 0, features, given, None, masks)
            draw_columns(limits(4, 2, key=key), 2, 5, 1, features, given, None, masks)
            draw_columns(limits(4, 2, key=key), 2, 6, 2, features, given, None, masks)
            assert masks.sum(axis=1).tolist() == [4, 2, 2]
            assert (masks[1:] <= masks[0]).all()
            heavy += int(masks[1, 2])
        assert heavy == 300 if given is not None else 60 < heavy < 140


def path_of(*split_on, order=DEPTHWISE):
    """Groups, after a path of splits: nodes 0, 1, 3, ... or levels."""
    groups = draws.make_groups(
        np.array([[0b001], [0b011], [0b010], [0b100], [0b110]], np.uint64), 9
    )
    exposed(draws.begin_groups)(groups)
    nodes = np.zeros(9, NODE).view(np.recarray)
    for depth, feature in enumerate(split_on):
        node = 2 * depth - 1 if depth else 0
        nodes.left[node], nodes.right[node] = 2 * depth + 1, 2 * depth + 2
        nodes["split"]["feature"][node] = feature
        narrow(groups, limits(5, 5, order), depth + 1, nodes, node)
    return groups


@pytest.mark.parametrize("order", [DEPTHWISE, SYMMETRIC])
@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ((), [0, 1, 2, 3, 4]),
        ((0,), [0, 1]),
        ((1,), [0, 1, 2, 4]),
        ((4,), [1, 2, 3, 4]),
        ((1, 4), [1, 2, 4]),
        ((4, 3), [3, 4]),
        ((3, 3), [3, 4]),
    ],
)
def test_a_path_allows_what_is_in_a_group_with_all_of_it(path, allowed, order):
    groups, masks = path_of(*path, order=order), np.empty((1, 5), np.uint8)
    features, level = np.arange(5, dtype=np.int32), len(path)
    node = 2 * level - 1 if path else 0
    draw_columns(limits(5, 5, order), level, node, 0, features, None, groups, masks)
    assert np.flatnonzero(masks[0]).tolist() == allowed


def test_nodes_draw_their_share_of_what_is_allowed():
    groups, features = path_of(1), np.arange(5, dtype=np.int32)
    for n_wanted, expected in ((1, 1), (2, 2), (3, 2), (4, 3)):  # of 5: 4 are allowed
        masks = np.empty((1, 5), np.uint8)
        draw_columns(limits(5, n_wanted), 1, 1, 0, features, None, groups, masks)
        assert masks.sum() == expected and masks[0, 3] == 0


def test_nothing_is_made_of_nothing():
    assert draws.make_weights(None) is None and draws.make_groups(None, 3) is None
