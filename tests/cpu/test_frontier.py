"""Which node is split next, against a sorted list."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuboost.kernels.cpu import frontier as module
from gpuboost.kernels.cpu._jit import exposed

push, pop, keep_best = exposed(module.push), exposed(module.pop), exposed(module.keep_best)
#: Few distinct ones, so that there are ties.
GAINS = st.one_of(st.integers(0, 3).map(float), st.floats(0.0, 1e300))


def by_gain(node):
    gain, id_ = node
    return -gain, id_


@settings(deadline=None)  # the first example compiles
@given(st.lists(st.one_of(st.none(), GAINS), max_size=40))
def test_best_first(steps):
    """A gain is a node that comes, None takes one; at the end all are taken."""
    frontier, open_nodes = module.make_frontier(40), []
    for id_, gain in enumerate([*steps, *[None] * len(steps)]):
        if gain is not None:
            push(frontier, len(open_nodes), gain, id_, True)
            open_nodes.append((gain, id_))
        elif open_nodes:
            expected = min(open_nodes, key=by_gain)
            assert pop(frontier, len(open_nodes), True) == expected[1]
            open_nodes.remove(expected)
    assert not open_nodes


@settings(deadline=None)  # the first example compiles
@given(st.lists(st.one_of(st.none(), GAINS), max_size=40))
def test_last_first(steps):
    frontier, open_nodes = module.make_frontier(40), []
    for id_, gain in enumerate([*steps, *[None] * len(steps)]):
        if gain is not None:
            push(frontier, len(open_nodes), gain, id_, False)
            open_nodes.append(id_)
        elif open_nodes:
            assert pop(frontier, len(open_nodes), False) == open_nodes.pop()


@settings(deadline=None)  # the first example compiles
@given(st.lists(GAINS, max_size=40), st.integers(0, 45), st.integers(1, 5))
def test_keep_best(gains, room, step):
    nodes = [(gain, 3 + step * i) for i, gain in enumerate(gains)]
    frontier = module.make_frontier(len(nodes))
    frontier.gain[:] = gains
    frontier.id[:] = [id_ for _, id_ in nodes]
    n = keep_best(frontier, len(nodes), room)
    expected = sorted(id_ for _, id_ in sorted(nodes, key=by_gain)[:room])
    np.testing.assert_array_equal(frontier.id[:n], expected)
