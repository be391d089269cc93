"""Nodes that can be split, and which of them is next.

An entry is the gain of a node's split and the node's id; nothing else about a node is known here.
There are two orders: the node that came last is first (a stack), or the node of highest gain, the
lower id among equals (a heap). The caller counts the entries.
"""

from typing import Any, NamedTuple

import numpy as np

from gpuboost.kernels.cpu._jit import helper


class Frontier(NamedTuple):
    """Room for nodes that can be split."""

    gain: Any  # (max_open,) float64
    id: Any  # (max_open,) int32


def make_frontier(max_open):
    """An empty frontier for so many nodes."""
    return Frontier(np.empty(max_open, np.float64), np.empty(max_open, np.int32))


@helper
def comes_first(frontier, a, b):
    """Whether the node of entry a is split before that of entry b, by gain."""
    gain, other = frontier.gain[a], frontier.gain[b]
    return gain > other or (gain == other and frontier.id[a] < frontier.id[b])


@helper
def swap(frontier, a, b):
    """Exchange two entries."""
    frontier.gain[a], frontier.gain[b] = frontier.gain[b], frontier.gain[a]
    frontier.id[a], frontier.id[b] = frontier.id[b], frontier.id[a]


@helper
def push(
    frontier,  # Frontier, INOUT
    n,  # entries before
    gain,
    id_,
    best_first,
):
    """Add a node to n others."""
    i = n
    frontier.gain[i], frontier.id[i] = gain, id_
    if best_first:
        while i > 0 and comes_first(frontier, i, (i - 1) // 2):
            swap(frontier, i, (i - 1) // 2)
            i = (i - 1) // 2


@helper
def pop(
    frontier,  # Frontier, INOUT: the entry of the node is moved to place n - 1
    n,  # entries before
    best_first,
):
    """Take the next node to split out of n; returns its id."""
    if best_first:
        swap(frontier, 0, n - 1)
        i, first = -1, 0
        while first != i:
            i = first
            for child in (2 * i + 1, 2 * i + 2):
                if child < n - 1 and comes_first(frontier, child, first):
                    first = child
            if first != i:
                swap(frontier, i, first)
    return frontier.id[n - 1]


@helper
def keep_best(
    frontier,  # Frontier, INOUT: n entries by id in; ids of those kept out, ascending; no gains
    n,
    room,
):
    """Keep the ``room`` nodes that come first by gain; returns how many are kept."""
    if n <= room:
        return n
    for k in range(room):  # often one or a few: a heap of all n would take longer
        first = k
        for j in range(k + 1, n):
            if comes_first(frontier, j, first):
                first = j
        swap(frontier, k, first)
    for k in range(1, room):  # insertion sort
        moving, j = frontier.id[k], k
        while j > 0 and frontier.id[j - 1] > moving:
            frontier.id[j] = frontier.id[j - 1]
            j -= 1
        frontier.id[j] = moving
    return room
