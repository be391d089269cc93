"""The codes of a feature that are present in a node, and their sums.

Codes are read by columns or by rows. Sums come from sorted rows if they are few, from a table of
all codes if most are present, and else from those that are.
"""

import numpy as np

from gpuboost.kernels.cpu._jit import helper, inlined
from gpuboost.kernels.cpu.cart.words import ONE, mark, take_marked

#: Up to so many rows a node's codes are sorted one by one; from so many on they are read by
#: columns.
FEW_ROWS, MANY_ROWS = 24, 1024


@inlined
def read_codes(matrix, at, stride, rows, out):
    """Codes of one feature; row r has its at matrix[at + r * stride]."""
    at, stride = np.uint64(at), np.uint64(stride)
    for i in range(np.uint64(rows.shape[0])):
        out[i] = np.int32(matrix[at + np.uint64(rows[i]) * stride])


@helper
def add_row(cells, at, i, weight, classes, values, n_outputs):
    """Add a row of the node to the sums that begin at cells[at]."""
    if classes.shape[0] > 0:
        for o in range(np.uint64(n_outputs)):
            cells[at + np.uint64(classes[np.uint64(i) * np.uint64(n_outputs) + np.uint64(o)])] += (
                weight[i]
            )
    else:
        cells[at] += weight[i]
        for o in range(np.uint64(n_outputs)):
            cells[at + ONE + np.uint64(o)] += values[
                np.uint64(i) * np.uint64(n_outputs) + np.uint64(o)
            ]


@inlined
def sum_few(code, scratch, weight, classes, values, n_outputs, n_cell, present, cells, counts):
    """Sums of the codes of a few rows, which are sorted; returns how many codes there are."""
    n = code.shape[0]
    for i in range(n):
        j = i
        while j > 0 and code[scratch[j - 1]] > code[i]:
            scratch[j] = scratch[j - 1]
            j -= 1
        scratch[j] = i
    m, last = 0, np.int32(-1)
    for k in range(n):
        i = np.uint64(scratch[k])
        if code[i] != last:
            if last < 0 and code[i] > 0:
                m = 1  # entry 0 is the missing value's
            last = code[i]
            present[m] = last
            counts[m] = 0
            for c in range(n_cell):
                cells[m * n_cell + c] = 0
            m += 1
        counts[m - 1] += 1
        add_row(cells, np.uint64((m - 1) * n_cell), i, weight, classes, values, n_outputs)
    return m


@helper
def sum_all_codes(
    code, weight, classes, values, n_outputs, n_cell, n_codes, table, present, cells, counts
):
    """Sums of the codes of many rows, over a table of all codes.

    Returns how many codes there are.
    """
    n = np.uint64(code.shape[0])
    if classes.shape[0] > 0 and n_outputs == 1:
        for i in range(n):
            table[np.uint64(code[i]) * np.uint64(n_cell) + np.uint64(classes[i])] += weight[i]
    elif n_outputs == 1:
        for i in range(n):
            at = np.uint64(code[i]) * np.uint64(2)
            table[at] += weight[i]
            table[at + ONE] += values[i]
    else:
        for i in range(n):
            add_row(
                table, np.uint64(code[i]) * np.uint64(n_cell), i, weight, classes, values, n_outputs
            )
    for c in range(n_codes):
        counts[c] = 0
    for i in range(n):
        counts[np.uint64(code[i])] += 1
    m = 1
    for b in range(n_codes):
        if counts[b] > 0:
            to = m if b > 0 else 0
            present[to] = b
            counts[to] = counts[b]  # to <= b: what is overwritten has been looked at
            for c in range(n_cell):
                cells[to * n_cell + c] = table[b * n_cell + c]
                table[b * n_cell + c] = 0
            m += b > 0
    return m


@helper
def sum_marked_codes(
    code,
    weight,
    classes,
    values,
    n_outputs,
    n_cell,
    n_codes,
    bits,
    summary,
    place,
    present,
    cells,
    counts,
):
    """Sums of the codes of some rows, of which few are present; returns how many there are."""
    n = np.uint64(code.shape[0])
    for i in range(n):
        mark(bits, summary, code[i])
    m = take_marked(bits, summary, n_codes, present[1:])
    if present[1] == 0:  # the missing value
        m -= 1
        for j in range(m + 1):
            present[j] = present[j + 1]
    for j in range(m + 1):
        place[present[j]] = j
        counts[j] = 0
        for c in range(n_cell):
            cells[j * n_cell + c] = 0
    for i in range(n):
        j = np.uint64(place[np.uint64(code[i])])
        counts[j] += 1
        add_row(cells, j * np.uint64(n_cell), i, weight, classes, values, n_outputs)
    return m + 1


@inlined
def sum_codes(f, coded, work, rows, n_outputs, n_cell):
    """The codes present in a node's rows and their sums.

    Returns how many there are, the missing value aside.
    """
    n, n_codes, n_features = rows.shape[0], np.int64(coded.n_codes[f]), coded.n_codes.shape[0]
    code, n_all = work.code[:n], coded.by_rows.shape[0] // n_features
    work.present[0], work.counts[0] = 0, 0
    if n >= MANY_ROWS:
        read_codes(coded.by_columns, f * n_all, 1, rows, code)
    else:
        read_codes(coded.by_rows, f, n_features, rows, code)
    if n <= FEW_ROWS:
        m = sum_few(
            code,
            work.scratch,
            work.weight,
            work.classes,
            work.values,
            n_outputs,
            n_cell,
            work.present,
            work.cells,
            work.counts,
        )
    elif 2 * n >= n_codes:
        m = sum_all_codes(
            code,
            work.weight,
            work.classes,
            work.values,
            n_outputs,
            n_cell,
            n_codes,
            work.table,
            work.present,
            work.cells,
            work.counts,
        )
    else:
        m = sum_marked_codes(
            code, work.weight, work.classes, work.values, n_outputs, n_cell, n_codes, work.bits,
            work.summary, work.place, work.present, work.cells, work.counts,
        )  # fmt: skip
    return m - 1


@helper
def cell_sums(cells, j, n_cell, with_classes, n_weights, growth, out, add):
    """Sums of a code present by channel, into ``out`` or added to it; returns its weight."""
    p = growth[0]
    at = j * n_cell
    if not with_classes:
        for c in range(n_cell - 1):
            channel_sum = np.float64(cells[at + c + 1]) * p.value_unit
            out[c] = out[c] + channel_sum if add else channel_sum
        return np.float64(cells[at]) * p.weight_unit
    weight = np.int64(0)
    for c in range(n_weights):
        weight += cells[at + c]
    for c in range(n_cell):
        channel_sum = np.float64(cells[at + c]) * p.weight_unit
        out[c] = out[c] + channel_sum if add else channel_sum
    return np.float64(weight) * p.weight_unit
