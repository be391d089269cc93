"""Numbers of rows or of codes, sorted by what is known of them."""

from gpuboost.kernels.cpu._jit import helper


@helper
def sort_order(order, m, key):
    """Sort ``order`` by key, equal keys by place."""
    gap = 1
    while 3 * gap + 1 < m:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, m):
            moving, j = order[i], i
            while j >= gap and (
                key[order[j - gap]] > key[moving]
                or (key[order[j - gap]] == key[moving] and order[j - gap] > moving)
            ):
                order[j] = order[j - gap]
                j -= gap
            order[j] = moving
        gap //= 3
