"""Scalar maths written once: gains, leaf values, exp, log, and the hash behind every random choice.

Pure functions of numbers. The CPU kernels compile them with numba, the CUDA kernels do the same,
and they also run as plain Python. They use multiplication, addition, division and bit operations
only, never libm, whose last bit differs between machines.
"""

from typing import Any

import numpy as np

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.6931471803691238  # ln 2 in two parts: n * LN2_HIGH is exact for |n| < 2**20
LN2_LOW = 1.9082149292705877e-10
ROUND_TO_INT = (
    6755399441055744.0  # 1.5 * 2**52: adding it leaves the nearest integer in the low bits
)
SQRT_HALF = 0.7071067811865476


def exp(x: float) -> float:
    """e**x within 1 ulp; saturates at +-708 instead of overflowing."""
    x = -708.0 if x < -708.0 else x
    x = 708.0 if x > 708.0 else x
    shifted = x * LOG2_E + ROUND_TO_INT
    n = shifted - ROUND_TO_INT
    r = x - n * LN2_HIGH
    r = r - n * LN2_LOW  # |r| <= ln(2) / 2
    p = 1.0 / 479001600.0  # Taylor series to r**12 / 12!
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    bits = np.float64(shifted).view(np.int64)  # n sits in the low bits
    return p * np.int64((bits + np.int64(1023)) << np.int64(52)).view(np.float64)


def log(x: float) -> float:
    """Natural logarithm within 2 ulp for positive normal numbers.

    Smaller ones count as the smallest normal number.
    """
    x = 2.2250738585072014e-308 if x < 2.2250738585072014e-308 else x
    bits = np.float64(x).view(np.int64)
    exponent = np.float64((bits >> np.int64(52)) - np.int64(1022))
    m = np.int64((bits & np.int64(0x000FFFFFFFFFFFFF)) | np.int64(0x3FE0000000000000)).view(
        np.float64
    )
    small = m < SQRT_HALF  # m in [sqrt(1/2), sqrt(2))
    m = m + m if small else m
    exponent = exponent - 1.0 if small else exponent
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = 1.0 / 21.0  # 2 atanh(s) = 2 s (1 + z/3 + z**2/5 + ...)
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 1.0 / 5.0
    p = p * z + 1.0 / 3.0
    f = 2.0 * s + 2.0 * s * (z * p)
    return exponent * LN2_HIGH + (exponent * LN2_LOW + f)


def sigmoid(x: float) -> float:
    """1 / (1 + e**-x)."""
    return 1.0 / (1.0 + exp(-x))


def softplus(x: float) -> float:
    """log(1 + e**x) without overflow."""
    a = -x if x > 0.0 else x
    positive = x if x > 0.0 else 0.0
    return positive + log(1.0 + exp(a))


def hash32(key: Any, x: Any) -> Any:
    """Hash a counter under a key into 32 bits that look random.

    It is the source of all randomness, with no state and no order.
    """
    x = np.uint32(np.uint32(x) * np.uint32(0x9E3779B1) + np.uint32(key))
    x ^= x >> np.uint32(16)
    x = np.uint32(x * np.uint32(0x7FEB352D))
    x ^= x >> np.uint32(15)
    x = np.uint32(x * np.uint32(0x846CA68B))
    x ^= x >> np.uint32(16)
    return x


def arrival(word: Any, weight: float) -> float:
    """A random time from a random 32-bit word: exponential, earlier for things of more weight.

    Of things that arrive at such times, each is the first with a probability in proportion to its
    weight.
    """
    return -log((np.float64(word) + 0.5) * 2.0**-32) / weight


def random_sign(key: Any, x: Any) -> float:
    """1 or -1, by the hash of a counter under a key."""
    return 1.0 if hash32(key, x) & np.uint32(1) else -1.0


def may_be_split(
    n_rows: Any, depth: Any, max_depth: Any, min_samples_split: Any, min_samples_leaf: Any
) -> Any:
    """Whether a node of a classical tree is large enough and not too deep to look for a split.

    The arguments are numbers of one node, or arrays of several.
    """
    enough = (n_rows >= min_samples_split) & (n_rows >= 2 * min_samples_leaf)
    return enough & (depth < max_depth)


def power_of_two_below(x: float) -> float:
    """The largest power of two <= x, for positive x; within 2**-1000 and 2**1000."""
    x = 1.0715086071862673e301 if x > 1.0715086071862673e301 else x  # 2**1000
    x = 9.332636185032189e-302 if x < 9.332636185032189e-302 else x
    power: float = np.int64(np.float64(x).view(np.int64) & np.int64(0x7FF0000000000000)).view(
        np.float64
    )
    return power


def unit_for(room: float, total: float) -> float:
    """Value of one fixed-point step.

    Sums of values whose absolute values add up to ``total`` stay below ``room`` steps.
    """
    return 1.0 / power_of_two_below(room / total) if total > 0.0 else 1.0


def threshold_l1(g: float, alpha: float) -> float:
    """Pull a gradient sum towards zero by the L1 penalty."""
    if g > alpha:
        return g - alpha
    if g < -alpha:
        return g + alpha
    return 0.0


def leaf_weight(
    g: float, h: float, reg_lambda: float, reg_alpha: float, max_delta_step: float
) -> float:
    """Newton step of a leaf with gradient sum g and hessian sum h, before shrinkage."""
    d = h + reg_lambda
    if not d > 0.0:
        return 0.0
    w = -threshold_l1(g, reg_alpha) / d
    if max_delta_step > 0.0:
        w = max_delta_step if w > max_delta_step else w
        w = -max_delta_step if w < -max_delta_step else w
    return w


def leaf_score(
    g: float, h: float, reg_lambda: float, reg_alpha: float, max_delta_step: float
) -> float:
    """Twice what a leaf takes off the penalised loss.

    A split's gain is what its two sides score above their parent.
    """
    w = leaf_weight(g, h, reg_lambda, reg_alpha, max_delta_step)
    return -(2.0 * g * w + (h + reg_lambda) * w * w + 2.0 * reg_alpha * abs(w))


def within(value: float, low: float, high: float) -> float:
    """The number between two bounds that is next to a value."""
    value = low if value < low else value
    return high if value > high else value


def score_at(g: float, h: float, weight: float, reg_lambda: float, reg_alpha: float) -> float:
    """``leaf_score`` of a leaf that has this weight, the best one or another."""
    return -(weight * (2.0 * g + (h + reg_lambda) * weight) + 2.0 * reg_alpha * abs(weight))


def plain_score(g: float, h: float, reg_lambda: float) -> float:
    """``leaf_score`` without L1 penalty and step limit, for h + reg_lambda > 0."""
    return g * g / (h + reg_lambda)
