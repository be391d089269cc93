"""Prediction, one thread per row."""

import numpy as np

from gpuboost.kernels.cuda.rowwise import RowKernel
from gpuboost.scalar.rows import add_value_trees, logistic, softmax


def add_binned_tree(i, bins, nodes, values, n_rows, group_features, raw):
    """Walk one tree on the bins of a row."""
    k = 0
    while nodes[k].left >= 0:
        split = nodes[k].split
        f = split.feature
        b = bins[(f // group_features * n_rows + i) * group_features + f % group_features]
        shift = np.uint8(0) if split.missing_left else np.uint8(1)
        goes_right = np.uint8(b - shift) > np.uint8(split.bin - shift)
        k = nodes[k].right if goes_right else nodes[k].left
    raw[i] += values[k]


def labels(i, raw, classes, out):
    """The class with the highest score, the first of equals; one output means two classes."""
    best = 0
    if raw.shape[0] == 1:
        best = 1 if raw[0, i] > 0.0 else 0
    for k in range(1, raw.shape[0]):
        best = k if raw[k, i] > raw[best, i] else best
    out[i] = classes[best]


ADD_BINNED_TREE = RowKernel(add_binned_tree)
ADD_VALUE_TREES = RowKernel(add_value_trees)
LOGISTIC = RowKernel(logistic)
SOFTMAX = RowKernel(softmax)
LABELS = RowKernel(labels)
