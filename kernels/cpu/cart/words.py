"""Sets of codes as the bits of 64-bit words."""

import numpy as np

from gpuboost.kernels.cpu._jit import helper, lowest_bit
from gpuboost.scalar.rows import ONE, WORD


@helper
def mark(bits, summary, code):
    """Note that a code is present."""
    word = np.uint64(code) // WORD
    bits[word] |= ONE << np.uint64(code) % WORD
    summary[word // WORD] |= ONE << word % WORD


@helper
def take_marked(bits, summary, n_codes, out):
    """Codes that were marked, ascending, into ``out``; returns how many. Clears the marks."""
    n = 0
    n_words = (np.uint64(n_codes) + WORD - ONE) // WORD
    for s in range((n_words + WORD - ONE) // WORD):
        words = summary[s]
        summary[s] = 0
        while words != 0:
            word = np.uint64(s) * WORD + lowest_bit(words)
            words &= words - ONE
            marks = bits[word]
            bits[word] = 0
            while marks != 0:
                out[n] = np.int32(word * WORD + lowest_bit(marks))
                n += 1
                marks &= marks - ONE
    return n
