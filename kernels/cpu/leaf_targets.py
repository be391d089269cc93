"""Quantiles of the training targets that share a leaf with a row, over all trees of a forest."""

import numpy as np

from gpuboost.kernels.cpu._jit import kernel, take_number

BLOCK = 16
#: Shares of a leaf add up to 1 but for rounding: a quantile counts as reached when it is missed by
#: this part.
ROUNDING = 2.0**-40


@kernel
def leaf_quantiles(
    counter,  # (1,) int64, INOUT
    leaves,  # (n_rows, n_trees) int32, IN: the leaf of each row in each tree
    first_node,  # (n_trees + 1,) int64, IN: where each tree's nodes begin
    begin,  # (n_nodes + 1,) int64, IN: where each node's training rows begin
    training_rows,  # (n,) int32, IN: training rows of all trees' leaves
    share,  # (n,) float64, IN: their parts of the weight of their leaf
    rank,  # (n_training_rows,) int32, IN: of the row's target among the distinct ones
    targets,  # (n_distinct,) float64, IN: the distinct ones, ascending
    quantiles,  # (n_quantiles,) float64, IN
    out,  # (n_rows, n_quantiles) float64, OUT
):
    """The least target up to which the shares reach a quantile of the sum of all shares.

    A leaf has few rows, so they are collected and sorted row by row; a sum for every distinct
    target would be mostly zeros."""
    n_rows, n_trees = leaves.shape
    block = take_number(counter)
    while block * BLOCK < n_rows:
        for row in range(block * BLOCK, min((block + 1) * BLOCK, n_rows)):
            n = 0
            for t in range(n_trees):
                node = first_node[t] + leaves[row, t]
                n += begin[node + 1] - begin[node]
            ranks, shares = np.empty(n, np.int32), np.empty(n)
            n = 0
            for t in range(n_trees):
                node = first_node[t] + leaves[row, t]
                for i in range(begin[node], begin[node + 1]):
                    ranks[n] = rank[training_rows[i]]
                    shares[n] = share[i]
                    n += 1
            order = np.argsort(ranks, kind="mergesort")
            for q in range(quantiles.shape[0]):
                wanted = quantiles[q] * n_trees * (1.0 - ROUNDING)
                last, total = 0, shares[order[0]]
                while total < wanted and last < n - 1:
                    last += 1
                    total += shares[order[last]]
                out[row, q] = targets[ranks[order[last]]]
        block = take_number(counter)
