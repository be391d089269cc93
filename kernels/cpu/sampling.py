"""Random choices of rows and columns, from the hash of a counter: no state, no order."""

import numpy as np

from gpuboost.kernels.cpu._jit import kernel
from gpuboost.kernels.cpu.growth import choose_some
from gpuboost.scalar.formulas import hash32

#: A counter that is the number of no row: rows are numbered below 2**31.
NO_ROW = 0xFFFFFFFF


@kernel
def mix_key(seed, a, b, c):
    """A 32-bit key for one purpose, from the seed and up to three counters."""
    return hash32(hash32(hash32(np.uint32(seed), a), b), c)


@kernel
def draw_rows(
    usable,  # (n,) int32, IN: rows with weight
    fraction,
    key,
    out,  # (n,) int32, OUT
):
    """Keep each row with the given probability, and one row if chance would keep none.

    Returns how many are kept.
    """
    limit = fraction * 4294967296.0
    n = 0
    for i in range(usable.shape[0]):
        out[n] = usable[i]
        n += np.float64(hash32(key, usable[i])) < limit
    if n == 0:
        word = np.uint64(hash32(key, np.uint32(NO_ROW))) * np.uint64(usable.shape[0])
        out[0] = usable[word >> np.uint64(32)]
        n = 1
    return n


@kernel
def draw_bag(
    n_draws,
    key,
    out,  # (n_rows,) int32, OUT: how often each row is drawn
):
    """Draw rows with replacement; the i-th draw depends on the key and i alone.

    It is hashed twice: numbers hashed once under two keys may be the same sequence, begun at
    another place."""
    n_rows = np.uint64(out.shape[0])
    for i in range(n_rows):
        out[i] = 0
    for i in range(np.uint64(n_draws)):
        out[(np.uint64(hash32(key, hash32(key, i))) * n_rows) >> np.uint64(32)] += 1


@kernel
def draw_features(
    growth,  # (1,) GROWTH, IN
    n_features,
    out,  # (n_wanted,) int32, OUT
):
    """The features a tree may use, ascending."""
    allowed = np.ones(n_features, np.uint8)
    choose_some(allowed, out.shape[0], growth[0].column_key ^ np.uint32(1), allowed)
    n = 0
    for f in range(n_features):
        if allowed[f] != 0:
            out[n] = f
            n += 1
