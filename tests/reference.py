"""Naive oracles: every stage of training in plain Python and numpy.

Written from the definitions.
"""

from typing import NamedTuple

import numpy as np

from gpuboost.dtypes import DEPTHWISE, GROWTH, LEAFWISE, SYMMETRIC


def growth_record(**fields):
    """What kernels are told of a tree: units of sums, an L2 penalty, and these fields."""
    growth = np.zeros(1, GROWTH).view(np.recarray)
    growth["gradient_unit"], growth["hessian_unit"], growth["reg_lambda"] = 0.5, 0.25, 1.0
    for name, value in fields.items():
        growth[name] = value
    return growth


def histogram(columns, rows, gh):
    """(n_features, 256) sums of packed gradients."""
    out = np.zeros((len(columns), 256), np.int64)
    for f, column in enumerate(columns):
        np.add.at(out[f], column[rows], gh[rows])
    return out


def unpack(packed, p):
    """Gradient and hessian sums of a packed sum."""
    h = int(packed) & 0xFFFFFFFF
    g = (int(packed) - h) >> 32
    return g * p["gradient_unit"], h * p["hessian_unit"]


def weight_of(g, h, p):
    d = h + p["reg_lambda"]
    if d <= 0:
        return 0.0
    t = max(g - p["reg_alpha"], 0.0) if g > 0 else min(g + p["reg_alpha"], 0.0)
    w = -t / d
    return (
        float(np.clip(w, -p["max_delta_step"], p["max_delta_step"]))
        if p["max_delta_step"] > 0
        else w
    )


def score_of(packed, p):
    """What a leaf takes off the penalised loss, times two."""
    g, h = unpack(packed, p)
    if p["reg_alpha"] == 0 and p["max_delta_step"] == 0:
        return g * g / (h + p["reg_lambda"]) if h + p["reg_lambda"] > 0 else 0.0
    w = weight_of(g, h, p)
    return -(2 * g * w + (h + p["reg_lambda"]) * w * w + 2 * p["reg_alpha"] * abs(w))


class CodeSet(NamedTuple):
    """A set of categories in the place of the last bin of a cut; sets are tried by their places."""

    place: int
    codes: frozenset


def goes_left(column, last_bin, missing_left):
    if isinstance(last_bin, CodeSet):
        is_left = np.isin(column, list(last_bin.codes))
        return np.where(column == 0, bool(missing_left), is_left)
    return np.where(column == 0, bool(missing_left), column <= last_bin)


def sets_of_codes(column, gh, rows, p):
    """Sets of categories that are tried on these rows: one each, or both ends of Fisher's order."""
    total, codes = unpack(gh[rows].sum(), p)[1], np.unique(column[rows])
    codes = codes[codes > 0].tolist()
    if len(codes) <= p["max_cat_to_onehot"]:
        return [[code] for code in codes]
    key = {}
    for code in codes:
        g, h = unpack(gh[rows[column[rows] == code]].sum(), p)
        if h * len(rows) >= p["min_data_per_category"] * total:
            key[code] = g / (h + p["cat_smooth"])
    order = sorted(key, key=lambda code: (key[code], code))
    most = min((len(order) + 1) // 2, p["max_cat_threshold"])
    sizes = range(1, most + 1)
    return [order[:n] for n in sizes] + [order[len(order) - n :] for n in sizes]


def all_cuts(columns, n_bins, gh, rows, p, features):
    """Every (feature, bin, missing_left) worth trying on these rows."""
    for f in features:
        missing = (columns[f][rows] == 0).any()
        if f in p.get("categorical", ()):
            sets = sets_of_codes(columns[f], gh, rows, p)
            for place, codes in enumerate(sets):
                for missing_left in (0, 1) if missing else (0,):
                    yield f, CodeSet(place, frozenset(codes)), missing_left
            if missing:
                yield f, CodeSet(len(sets), frozenset()), 1
            continue
        for b in range(1, n_bins[f] + (1 if missing else 0)):
            yield f, b, 0
            if missing and b < n_bins[f]:
                yield f, b, 1


def cut_gain(columns, gh, rows, p, f, b, missing_left):
    """Gain of a cut, or None if a side is too small."""
    left = goes_left(columns[f][rows], b, missing_left)
    sides = []
    for part in (rows[left], rows[~left]):
        packed = gh[part].sum()
        _, h = unpack(packed, p)
        if h <= 0 or h < p["min_child_weight"] or len(part) < p["min_samples_leaf"]:
            return None
        sides.append(packed)
    return score_of(sides[0], p) + score_of(sides[1], p) - score_of(gh[rows].sum(), p)


def better(gain, cut, best):
    """Higher gain, or the same at a lower (feature, bin)."""
    return best is None or gain > best[0] or (gain == best[0] and cut[:2] < best[1][:2])


def best_split(columns, n_bins, gh, rows, p, features):
    best = None
    for cut in all_cuts(columns, n_bins, gh, rows, p, features):
        gain = cut_gain(columns, gh, rows, p, *cut)
        if gain is not None and better(gain, cut, best):
            best = (gain, cut)
    if best is None or best[0] <= max(
        p["min_split_gain"], 1e-11 * abs(best[0] + score_of(gh[rows].sum(), p))
    ):
        return None
    return best


def best_level_split(columns, n_bins, gh, nodes, p, features):
    """The cut whose gains over all open nodes add up to most."""
    best = None
    level = np.sort(np.concatenate(nodes))
    cuts = all_cuts(columns, n_bins, gh, level, p, features)
    for cut in sorted(cuts, key=lambda c: (c[0], c[2], c[1])):
        total = 0.0
        for rows in nodes:
            gain = cut_gain(columns, gh, rows, p, *cut)
            total += 0.0 if gain is None else gain
        if better(total, cut, best):
            best = (total, cut)
    return best if best is not None and best[0] > max(p["min_split_gain"], 1e-9) else None


def grow(columns, n_bins, gh, rows, p, features):
    """Leaves (as sorted tuples of rows) and splits of a tree grown without histograms.

    By trying every cut at every node.
    """
    leaves = {0: (rows, 0)}
    splits = []
    best = {}
    n_nodes = 1
    level = 0

    def apply(node, cut, gain):
        nonlocal n_nodes
        own, depth = leaves.pop(node)
        left = goes_left(columns[cut[0]][own], cut[1], cut[2])
        splits.append((node, cut[0], cut[1], gain))
        leaves[n_nodes], leaves[n_nodes + 1] = (own[left], depth + 1), (own[~left], depth + 1)
        n_nodes += 2

    while level < p["max_steps"]:
        for node, (own, depth) in leaves.items():
            if node not in best and p["order"] != SYMMETRIC:
                best[node] = (
                    best_split(columns, n_bins, gh, own, p, features)
                    if depth < p["max_depth"]
                    else None
                )
        open_nodes = sorted(n for n in leaves if best.get(n) is not None)
        room = p["max_leaves"] - len(leaves)
        if p["order"] == SYMMETRIC:
            if level == p["max_depth"]:
                break
            found = best_level_split(
                columns, n_bins, gh, [leaves[n][0] for n in sorted(leaves)], p, features
            )
            if found is None:
                break
            for node in sorted(leaves):
                gain = cut_gain(columns, gh, leaves[node][0], p, *found[1])
                if gain is not None:
                    apply(node, found[1], gain)
        else:
            if p["order"] == LEAFWISE:
                room = min(room, p["leaves_per_step"])
            chosen = sorted(sorted(open_nodes, key=lambda n: (-best[n][0], n))[: max(room, 0)])
            if not chosen:
                break
            assert p["order"] in (DEPTHWISE, LEAFWISE)
            for node in chosen:
                apply(node, best[node][1], best[node][0])
        level += 1
    return splits, sorted(tuple(own) for own, _ in leaves.values())


def predict_tree(tree, x):
    """Leaf value of each row, by walking."""
    out = np.empty(len(x))
    for i, row in enumerate(x):
        node = 0
        while tree.left[node] >= 0:
            v = row[tree.feature[node]]
            left = tree.missing_left[node] if np.isnan(v) else v <= tree.threshold[node]
            node = tree.left[node] if left else tree.right[node]
        out[i] = tree.value[node, 0]
    return out
