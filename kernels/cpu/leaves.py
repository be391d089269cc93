"""The leaf of every row, leaf values, and their addition to the raw scores.

Leaf values come from fine sums of the true gradients: one for each output that the tree is for,
where a block of rows is labelled once for all of them. Leaves have labels (see
kernels/cpu/predict.py). The splits of a tree of up to 256 leaves go over all rows in their order, a
block at a time, and the block's gradients are added to their labels' sums. The rows of a larger
tree are listed by leaf after growth; rows that the tree was not grown on walk it.
"""

import numpy as np

from gpuboost.dtypes import BY_SET, IN_SET, SET_WORDS
from gpuboost.kernels.cpu._jit import atomic_add, helper, inlined, kernel, prefetch, take_number
from gpuboost.kernels.cpu.columns import code_of, column_of
from gpuboost.kernels.cpu.predict import label_block
from gpuboost.kernels.cpu.sets import goes_right, question_of, shift_and_limit
from gpuboost.scalar.formulas import leaf_weight, within
from gpuboost.scalar.search import first_from

BLOCK = 4096
PREFETCH_ROWS = np.uint64(16)
#: Columns of the sums: gradient and hessian in 62-bit fixed point, and rows.
N_SUMS = 3


@kernel
def number_leaves(
    nodes,  # (n_nodes,) NODE, IN
    splits,  # (n_splits,) LABEL_SPLIT, OUT: the tree as a list of splits
    sets,  # (n_splits, SET_WORDS) uint64, OUT; None if there are no categories
    leaf_of_label,  # (n_splits + 1,) int32, OUT
):
    """Give the leaves their labels.

    A left child inherits its parent's, the right child of split s gets s + 1.
    """
    label_of_node = np.empty(nodes.shape[0], np.int32)
    label_of_node[0] = 0
    s = 0
    for i in range(nodes.shape[0]):
        node = nodes[i]
        node_label = label_of_node[i]
        if node.left < 0:
            leaf_of_label[node_label] = i
            continue
        shift, limit = shift_and_limit(node.split)
        if sets is not None and node.split.kind == IN_SET:
            shift = np.uint8(BY_SET)
            for w in range(SET_WORDS):
                sets[s, w] = node.split.set[w]
        splits[s].feature = node.split.feature
        splits[s].asked = node_label
        splits[s].shift = shift
        splits[s].limit = limit
        s += 1
        label_of_node[node.left] = node_label
        label_of_node[node.right] = s


@helper
def add_row(row, label, g, h, weight, g_scale, h_scale, sums):
    """Add one row to its label's sums."""
    w = weight[row] if weight.shape[0] > 0 else 1.0
    sums[label, 0] += np.int64(np.floor(g[row] * w * g_scale + 0.5))
    sums[label, 1] += np.int64(np.floor(h[row] * w * h_scale + 0.5))
    sums[label, 2] += 1


@inlined
def label_rows(columns, splits, sets, labels):
    """Labels of a block of rows."""
    label_block(
        columns, splits["feature"], splits["shift"], splits["limit"], splits["asked"], sets, labels
    )


@kernel
def sum_by_labels(
    counter,  # (1,) int64, INOUT
    columns,  # (n_features, n_rows) uint8, IN
    splits,  # (n_splits,) LABEL_SPLIT, IN
    sets,  # (n_splits, SET_WORDS) uint64, IN; None if there are no categories
    leaf_of_label,  # (n_splits + 1,) int32, IN
    rows,  # (n,) int32, IN: the rows the tree was grown on, ascending
    g,  # (n_values, n_rows) float64, IN; or (n_values, n), of those rows
    h,  # like g, IN
    weight,  # (n_rows,) or (n,) float64, or (0,), IN
    units,  # (n_values, 2) float64, IN: of the sums of gradients and of hessians
    labels,  # (n_rows,) uint8, OUT: of all rows
    sums,  # (n_values, n_nodes, N_SUMS) int64, INOUT: those of the leaves are added to
):
    """Label all rows, and add up the gradients of those the tree was grown on."""
    n_rows, n_values, n_nodes = labels.shape[0], sums.shape[0], sums.shape[1]
    apart, of_drawn = g.shape[1] < n_rows, np.empty(BLOCK, np.uint8)
    own_sums = np.zeros((n_values, leaf_of_label.shape[0], N_SUMS), np.int64)
    block = take_number(counter)
    while block * BLOCK < n_rows:
        begin, end = block * BLOCK, min((block + 1) * BLOCK, n_rows)
        label_rows(columns[:, begin:end], splits, sets, labels[begin:end])
        n = rows.shape[0]
        first, last = first_from(rows, 0, n, begin), first_from(rows, 0, n, end)
        if apart:
            for i in range(np.uint64(last - first)):
                of_drawn[i] = labels[np.uint64(rows[np.uint64(first) + np.uint64(i)])]
        for k in range(n_values):
            g_, h_, sums_ = g[k], h[k], own_sums[k]
            g_scale, h_scale = 1.0 / units[k, 0], 1.0 / units[k, 1]
            if apart:
                g_, h_, w_ = g_[first:last], h_[first:last], weight[first:last]
                for i in range(np.uint64(last - first)):
                    add_row(i, np.uint64(of_drawn[i]), g_, h_, w_, g_scale, h_scale, sums_)
            elif rows.shape[0] == n_rows:
                for row in range(np.uint64(begin), np.uint64(end)):
                    add_row(row, np.uint64(labels[row]), g_, h_, weight, g_scale, h_scale, sums_)
            else:
                for i in range(np.uint64(first), np.uint64(last)):
                    row = np.uint64(rows[i])
                    add_row(row, np.uint64(labels[row]), g_, h_, weight, g_scale, h_scale, sums_)
        block = take_number(counter)
    for k in range(n_values):
        for label in range(leaf_of_label.shape[0]):
            place = (k * n_nodes + np.int64(leaf_of_label[label])) * N_SUMS
            for s in range(N_SUMS):
                atomic_add(sums, place + s, own_sums[k, label, s])


@kernel
def sum_by_lists(
    counter,  # (1,) int64, INOUT
    nodes,  # (n_nodes,) NODE, IN
    leaf_of_label,  # (n_leaves,) int32, IN
    listed,  # (n,) int32, IN: places in g of the rows the tree was grown on, leaf by leaf
    rows,  # (n,) int32, IN: those rows, ascending
    g, h, weight, units,
    labels,  # (n_rows,) int32, OUT: of those rows
    sums,  # (n_values, n_nodes, N_SUMS) int64, INOUT: those of the leaves are added to
):  # fmt: skip
    """``sum_by_labels`` for large trees."""
    apart = g.shape[1] < labels.shape[0]
    label = take_number(counter)
    while label < leaf_of_label.shape[0]:
        leaf = leaf_of_label[label]
        leaf_rows = listed[nodes[leaf].begin : nodes[leaf].end]
        last = np.uint64(leaf_rows.shape[0] - 1)
        for k in range(sums.shape[0]):
            g_, h_, sums_ = g[k], h[k], sums[k]
            g_scale, h_scale = 1.0 / units[k, 0], 1.0 / units[k, 1]
            for i in range(np.uint64(leaf_rows.shape[0])):
                at = np.uint64(leaf_rows[i])
                row = np.uint64(rows[at]) if apart else at
                ahead = np.uint64(leaf_rows[min(np.uint64(i) + PREFETCH_ROWS, last)])
                prefetch(g_, ahead)
                prefetch(h_, ahead)
                labels[row] = np.int32(label)
                add_row(at, leaf, g_, h_, weight, g_scale, h_scale, sums_)
        label = take_number(counter)


@helper
def walk(columns, row, nodes):
    """The leaf of one row."""
    i = 0
    while nodes[i].left >= 0:
        question = question_of(nodes[i].split)
        code = code_of(column_of(columns, nodes[i].split.feature), row)
        i = nodes[i].right if goes_right(question, code) else nodes[i].left
    return i


@kernel
def walk_the_rest(
    counter,  # (1,) int64, INOUT
    columns,  # (n_features, n_rows) uint8, IN
    nodes,  # (n_nodes,) NODE, IN
    leaf_of_label,  # (n_leaves,) int32, IN
    labels,  # (n_rows,) int32, INOUT: negative in rows without a label
):
    """Label the rows that a large tree was not grown on."""
    n_rows = labels.shape[0]
    label_of_leaf = np.empty(nodes.shape[0], np.int32)
    for label in range(leaf_of_label.shape[0]):
        label_of_leaf[leaf_of_label[label]] = label
    block = take_number(counter)
    while block * BLOCK < n_rows:
        for row in range(block * BLOCK, min((block + 1) * BLOCK, n_rows)):
            if labels[row] < 0:
                labels[row] = label_of_leaf[walk(columns, row, nodes)]
        block = take_number(counter)


@kernel
def leaf_values(
    nodes,  # (n_nodes,) NODE, IN
    sums,  # (n_values, n_nodes, N_SUMS) int64, INOUT: leaves in, all nodes out
    growth,  # (1,) GROWTH, IN
    units,  # (n_values, 2) float64, IN: of the sums
    learning_rate,
    bounds,  # (max_nodes, 2) float64, IN: of the weight of each node; None: there are none
    # (n_nodes, n_values) float64, OUT: shrunken leaf values, of inner nodes what they would be as
    # leaves
    values,
    cover,  # (n_nodes,) float64, OUT: hessian sums, their mean if there are several values
):
    """Add children's sums to their parents and turn sums into values."""
    p, n_values = growth[0], sums.shape[0]
    for back in range(nodes.shape[0]):
        i = nodes.shape[0] - 1 - back  # children have higher ids than their parents
        total = 0.0
        for k in range(n_values):
            if nodes[i].left >= 0:
                for s in range(N_SUMS):
                    sums[k, i, s] = sums[k, nodes[i].left, s] + sums[k, nodes[i].right, s]
            g = np.float64(sums[k, i, 0]) * units[k, 0]
            h = np.float64(sums[k, i, 1]) * units[k, 1]
            total += h
            weight = leaf_weight(g, h, p.reg_lambda, p.reg_alpha, p.max_delta_step)
            if bounds is not None:
                weight = within(weight, bounds[i, 0], bounds[i, 1])
            values[i, k] = learning_rate * weight
        cover[i] = total / n_values


@helper
def by_label(leaf_of_label, values, out):
    """Leaf values by their labels, (n_values, n_leaves)."""
    for k in range(out.shape[0]):
        for label in range(out.shape[1]):
            out[k, label] = values[leaf_of_label[label], k]


@inlined
def add_block(labels, value_of_label, raw):
    """Add leaf values to the raw scores of a block of rows, which have labels."""
    for k in range(raw.shape[0]):
        raw_, values = raw[k], value_of_label[k]
        for i in range(np.uint64(labels.shape[0])):
            raw_[i] += values[np.uint64(labels[i])]


@kernel
def add_leaf_values(
    counter,  # (1,) int64, INOUT
    labels,  # (n_rows,) uint8 or int32, IN
    leaf_of_label,  # (n_leaves,) int32, IN
    values,  # (n_nodes, n_values) float64, IN
    raw,  # (n_values, n_rows) float64, INOUT
):
    """Add the leaf values to the raw scores of all rows."""
    n_rows = labels.shape[0]
    value_of_label = np.empty((values.shape[1], leaf_of_label.shape[0]), np.float64)
    by_label(leaf_of_label, values, value_of_label)
    block = take_number(counter)
    while block * BLOCK < n_rows:
        begin, end = block * BLOCK, min((block + 1) * BLOCK, n_rows)
        add_block(labels[begin:end], value_of_label, raw[:, begin:end])
        block = take_number(counter)


@kernel
def add_labelled(
    counter,  # (1,) int64, INOUT
    columns,  # (n_features, n_rows) uint8, IN
    splits,  # (n_splits,) LABEL_SPLIT, IN: at most MAX_LABELS - 1
    sets,  # (n_splits, SET_WORDS) uint64, IN; None if there are no categories
    leaf_of_label,  # (n_splits + 1,) int32, IN
    values,  # (n_nodes, n_values) float64, IN
    raw,  # (n_values, n_rows) float64, INOUT
):
    """Add the leaf values to the raw scores of rows the tree has not seen."""
    n_rows = raw.shape[1]
    value_of_label = np.empty((values.shape[1], leaf_of_label.shape[0]), np.float64)
    by_label(leaf_of_label, values, value_of_label)
    labels = np.empty(BLOCK, np.uint8)
    block = take_number(counter)
    while block * BLOCK < n_rows:
        begin, end = block * BLOCK, min((block + 1) * BLOCK, n_rows)
        block_labels = labels[: end - begin]
        label_rows(columns[:, begin:end], splits, sets, block_labels)
        add_block(block_labels, value_of_label, raw[:, begin:end])
        block = take_number(counter)


@kernel
def add_walked(
    counter,  # (1,) int64, INOUT
    columns,  # (n_features, n_rows) uint8, IN; or SparseColumns
    nodes,  # (n_nodes,) NODE, IN
    values,  # (n_nodes, n_values) float64, IN
    raw,  # (n_values, n_rows) float64, INOUT
):
    """``add_labelled`` for large trees, and for sparse matrices."""
    n_rows = raw.shape[1]
    block = take_number(counter)
    while block * BLOCK < n_rows:
        for row in range(block * BLOCK, min((block + 1) * BLOCK, n_rows)):
            leaf = walk(columns, row, nodes)
            for k in range(raw.shape[0]):
                raw[k, row] += values[leaf, k]
        block = take_number(counter)
