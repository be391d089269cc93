"""Rows of a node that is split, left ones first."""

import numpy as np

from gpuboost.kernels.cpu._jit import helper
from gpuboost.kernels.cpu.cart.words import ONE, WORD


@helper
def partition(matrix, at, stride, node, sets, rows, scratch):
    """Rows of a node, lefts first, both sides in their order; returns how many go left."""
    left, right = np.uint64(0), np.uint64(0)
    at, stride = np.uint64(at), np.uint64(stride)
    last, missing_left, first_word = (
        np.int64(node.code),
        node.missing_left != 0,
        np.uint64(max(node.first_word, 0)),
    )
    for i in range(np.uint64(rows.shape[0])):
        row = rows[i]
        code = np.uint64(matrix[at + np.uint64(row) * stride])
        if last >= 0:
            is_left = (np.int64(code) <= last) & (missing_left | (code > 0))
        else:
            is_left = (sets[first_word + code // WORD] >> code % WORD) & ONE != 0
        rows[left] = row
        scratch[right] = row
        left += np.uint64(is_left)
        right += np.uint64(not is_left)
    for i in range(right):
        rows[left + np.uint64(i)] = scratch[i]
    return np.int64(left)
