"""Prediction, one thread per row."""

import numpy as np

from gpuboost.kernels.cuda.rowwise import RowKernel
from gpuboost.scalar.formulas import exp, sigmoid


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


def add_value_trees(i, x, tree_begin, nodes, value, first_tree, end_tree, out):
    """Walk trees on the values of a row, in the order of the trees."""
    for t in range(first_tree, end_tree):
        begin = tree_begin[t]
        k = begin
        while nodes[k].left >= 0:
            v = np.float64(x[i, nodes[k].feature])
            goes_left = v <= nodes[k].threshold or (v != v and nodes[k].missing_left != 0)
            k = begin + nodes[k].left + (0 if goes_left else 1)
        out[t % out.shape[0], i] += value[k, 0]


def logistic(i, raw, scale, out):
    """Probabilities of two classes; the score times the scale is log odds."""
    p = sigmoid(scale * raw[0, i])
    out[i, 0] = 1.0 - p
    out[i, 1] = p


def softmax(i, raw, out):
    """Softmax of a row's scores."""
    n_classes = raw.shape[0]
    top = raw[0, i]
    for k in range(1, n_classes):
        top = raw[k, i] if raw[k, i] > top else top
    total = 0.0
    for k in range(n_classes):
        out[i, k] = exp(raw[k, i] - top)
        total += out[i, k]
    for k in range(n_classes):
        out[i, k] /= total


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
