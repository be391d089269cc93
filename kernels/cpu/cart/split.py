"""The best split of a node over the features that it draws."""

import numpy as np

from gpuboost.dtypes import BEST, TIE
from gpuboost.kernels.cpu._jit import helper, inlined
from gpuboost.kernels.cpu.cart.categories import has_rails, keep_set, order_categories
from gpuboost.kernels.cpu.cart.chance import draw_feature, drawn_cut
from gpuboost.kernels.cpu.cart.codes import sum_codes
from gpuboost.kernels.cpu.cart.cuts import PREFIXES, scan_cuts
from gpuboost.kernels.cpu.cart.distances import node_distance, rank_in_node, score_distances
from gpuboost.kernels.cpu.cart.gather import gather_classes, gather_values
from gpuboost.kernels.cpu.cart.scores import side_score
from gpuboost.scalar.formulas import hash32, may_be_split
from gpuboost.scalar.quantiles import cut_between

#: What a row of a feature takes under the absolute error, where others take 1.
DISTANCE_COST = 64


@inlined
def try_feature(f, coded, targets, growth, work, distances, nodes, node_id, weight, best):
    """The cuts of one feature; returns whether it has any (it is not constant in the node)."""
    p = growth[0]
    node = nodes[node_id]
    rows, n = work.rows[node.begin : node.end], node.end - node.begin
    n_outputs, n_channels = targets.first_channel.shape[0] - 1, work.total.shape[0]
    with_classes = targets.classes.shape[0] > 0
    n_cell = n_channels if with_classes else n_channels + 1
    m = sum_codes(f, coded, work, rows, n_outputs, n_cell)
    has_missing = work.counts[0] > 0
    if m + has_missing < 2:
        return False
    key, nominal, threshold = hash32(node.key, 3 * f + 2), coded.nominal[f] != 0, np.nan
    rails = has_rails(nominal, coded.n_codes[f], growth)
    attempt = 0
    while True:
        kind, n_cuts, only = PREFIXES, m - 1, -1
        if nominal:
            kind, n_cuts, only = order_categories(
                attempt, m, n, key, rails, growth, with_classes, n_outputs, n_channels,
                work.cells, work.counts, n_cell, np.int64(targets.first_channel[1]), work.present,
                work.order, work.sort_key, work.total, weight, work.left,
            )  # fmt: skip
            if n_cuts == 0 and (attempt > 0 or not has_missing):
                break
        else:
            for k in range(m):
                work.order[k] = k + 1
            if p.splitter != BEST and m > 1:
                only, threshold = drawn_cut(f, coded, growth, work, nodes, node_id, key, m)
                if only < 0:
                    break
        if has_missing and only < 0:
            n_cuts += 1  # all values left, missing right
        if distances is not None:
            score_distances(
                kind, n_cuts, work.order, m, has_missing, n, growth, targets.first_channel, work,
                distances,
            )  # fmt: skip
        score, cut, missing_left, heavier_left = scan_cuts(
            kind, n_cuts, only, work.order, m, has_missing, rails, work.cells, work.counts, n_cell,
            with_classes, targets.first_channel, n, work.total, weight, growth, work.left,
            work.side, work.sort_key, distances.scores if distances is not None else None,
        )  # fmt: skip
        margin = TIE * abs(best.score)
        if cut >= 0 and (
            best.feature < 0
            or score > best.score + margin
            or (f < best.feature and score >= best.score - margin)  # ties go to the lowest feature
        ):
            best.score, best.feature, best.threshold = score, f, threshold
            # missing values that training has not seen go to the heavier side
            best.missing_left = missing_left if has_missing else heavier_left
            if nominal:
                best.code = -1
                keep_set(
                    kind,
                    cut,
                    work.order,
                    work.present,
                    m,
                    np.int64(coded.n_codes[f]),
                    heavier_left,
                    work.best_set,
                )
            else:
                best.code = work.present[cut + 1]
                best.next_code = work.present[cut + 2] if cut + 1 < m else 0
        attempt += 1
        if not nominal:
            break
    return True


@helper
def settle_threshold(node, next_code, begin, lower, upper):
    """Replace the drawn threshold (NaN: none was drawn) by the one that the tree keeps."""
    drawn = node.threshold
    node.threshold = np.inf  # all values left, missing right
    if next_code > 0:
        first = begin[node.feature]
        below, above = upper[first + node.code], lower[first + next_code]
        node.threshold = drawn if below <= drawn and drawn < above else cut_between(below, above)


@helper
def begin_search(n_features, work, best, state):
    """Nothing has been found yet, and no feature drawn."""
    best.feature, best.score, state.n_tried = -1, -np.inf, 0
    for f in range(n_features):
        work.features[f] = f


@inlined
def find_split(coded, targets, growth, work, distances, nodes, node_id, best, state, budget):
    """The best split of a node, into its record; returns whether it has one.

    It may come back in the middle of the features, with ``state.n_seen`` of them looked at, and has
    to be called again then.
    """
    p = growth[0]
    node = nodes[node_id]
    n = node.end - node.begin
    if not may_be_split(n, node.depth, p.max_depth, p.min_samples_split, p.min_samples_leaf):
        return False
    rows = work.rows[node.begin : node.end]
    for c in range(work.total.shape[0]):
        work.total[c] = 0.0
    if targets.classes.shape[0] > 0:
        weight, same = gather_classes(
            rows,
            targets.weight,
            targets.classes,
            p.weight_unit,
            work.weight,
            work.classes,
            work.total,
        )
    else:
        weight, same = gather_values(
            rows,
            targets.weight,
            targets.values,
            targets.rank,
            growth,
            work.weight,
            work.values,
            work.total,
        )
    if same or weight < 2.0 * p.min_weight_leaf:
        return False
    if distances is not None:
        for o in range(targets.first_channel.shape[0] - 1):
            distances.n_ranks[o] = rank_in_node(
                rows,
                targets.rank[:, o],
                targets.by_rank[:, o],
                work.bits,
                work.summary,
                work.place,
                distances.rank[o],
                distances.by_rank[o],
            )
        node_score = node_distance(n, growth, targets.first_channel, work, distances)
    else:
        node_score = side_score(p.criterion, work.total, weight, targets.first_channel)
    n_features, first = coded.n_codes.shape[0], state.n_seen
    if first == 0:
        begin_search(n_features, work, best, state)
    state.n_seen = 0
    for k in range(first, n_features):
        if state.done >= budget and k > first:
            state.n_seen = k
            return False
        state.done += n if distances is None else n * DISTANCE_COST
        if p.max_features < n_features and not draw_feature(
            work.features, k, node.key, coded.probability
        ):
            break
        if try_feature(
            np.int64(work.features[k]),
            coded,
            targets,
            growth,
            work,
            distances,
            nodes,
            node_id,
            weight,
            best,
        ):
            state.n_tried += 1
        if state.n_tried >= p.max_features and best.feature >= 0:
            break
    gain = best.score - node_score
    if best.feature < 0 or (p.min_gain > 0.0 and gain < p.min_gain):
        return False
    node.gain = max(gain, 0.0)
    node.feature = best.feature
    node.code = best.code
    node.missing_left = best.missing_left
    if node.code >= 0:
        node.threshold = best.threshold
        settle_threshold(node, best.next_code, coded.begin, coded.lower, coded.upper)
    return True
