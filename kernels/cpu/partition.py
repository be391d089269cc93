"""Stable partition of the rows of a split node.

They become its left child's rows followed by its right child's, both still ascending.

    rows     a b c d e f | g h i j k l       two pieces of one node; capitals below go right
    pass 1   a c f D B E | h l K J I G       scratch: lefts in front, rights behind, reversed
    settle   left_at, right_at               sums of the pieces' counts, by one thread
    pass 2   a c f h l B D E G I J K         rows: lefts, and rights turned round

A node of one piece is done in one pass: lefts move up in place, rights wait in the scratch buffer.
Bins are read column by column."""

import numpy as np

from gpuboost.kernels.cpu._jit import helper, take_number
from gpuboost.kernels.cpu.columns import code_of, codes_of, column_of
from gpuboost.kernels.cpu.sets import goes_right, question_of

ONE = np.uint64(1)


@helper
def code_at(column, listed, row, i):
    """Code of the row at place i: of its column, or from a list of codes in the rows' order."""
    if listed is not None:
        return listed[i]
    return code_of(column, row)


@helper
def partition_pieces(
    counter,  # (1,) int64, INOUT
    columns,  # (n_features, n_rows) uint8, IN; or SparseColumns
    stored,  # StoredByColumn, IN, of a sparse matrix, else None
    progress,  # (1,) PROGRESS, IN
    nodes,  # (max_nodes,) NODE, IN
    pieces,  # (max_pieces,) PIECE, INOUT: n_left
    rows,  # (n,) int32, INOUT
    scratch,  # (n,) int32, SCRATCH
    codes,  # (n,) uint8, SCRATCH, for a sparse matrix, else None
):
    """Pass 1."""
    task = take_number(counter)
    while task < progress[0].n_pieces:
        piece = pieces[task]
        node = nodes[piece.node]
        column = column_of(columns, node.split.feature)
        question = question_of(node.split)
        piece_rows = rows[piece.begin : piece.end]
        buffer = scratch[piece.begin : piece.end]
        listed = codes[piece.begin : piece.end] if codes is not None else None
        if listed is not None:
            codes_of(columns, stored, node.split.feature, piece_rows, listed)
        n = np.uint64(piece_rows.shape[0])
        left, right = np.uint64(0), np.uint64(0)
        if piece.begin == node.begin and piece.end == node.end:
            for i in range(n):
                row = piece_rows[i]
                is_right = goes_right(question, code_at(column, listed, row, i))
                piece_rows[left] = row
                buffer[right] = row
                left += np.uint64(not is_right)
                right += np.uint64(is_right)
            for i in range(right):
                piece_rows[left + np.uint64(i)] = buffer[i]
        else:
            last = n - ONE
            for i in range(n):
                row = piece_rows[i]
                is_right = goes_right(question, code_at(column, listed, row, i))
                buffer[left] = (
                    row  # no branch: the place it does not belong to is written again later
                )
                buffer[last - right] = row
                left += np.uint64(not is_right)
                right += np.uint64(is_right)
        piece.n_left = np.int64(left)
        task = take_number(counter)


@helper
def move_pieces(
    counter,  # (1,) int64, INOUT
    progress,  # (1,) PROGRESS, IN
    nodes,  # (max_nodes,) NODE, IN
    pieces,  # (max_pieces,) PIECE, IN
    rows,  # (n,) int32, OUT
    scratch,  # (n,) int32, IN
):
    """Pass 2, for nodes of several pieces."""
    task = take_number(counter)
    while task < progress[0].n_pieces:
        piece = pieces[task]
        node = nodes[piece.node]
        if piece.begin != node.begin or piece.end != node.end:
            n_right = piece.end - piece.begin - piece.n_left
            target = rows[piece.left_at : piece.left_at + piece.n_left]
            source = scratch[piece.begin : piece.begin + piece.n_left]
            for i in range(np.uint64(piece.n_left)):
                target[i] = source[i]
            target = rows[piece.right_at : piece.right_at + n_right]
            source = scratch[piece.end - n_right : piece.end]
            for i in range(np.uint64(n_right)):
                target[i] = source[np.uint64(n_right) - ONE - np.uint64(i)]
        task = take_number(counter)
