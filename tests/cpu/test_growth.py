"""The whole growth of a tree against an oracle that tries every cut at every node."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuboost.backend import get_backend
from gpuboost.config import BoostParams
from gpuboost.dtypes import CUT, GROWTH, HIST_STRIDE, ROW
from gpuboost.exchange import FeatureMatrix
from gpuboost.kernels.cpu.histogram import PADDING
from gpuboost.training.boosting import growth_limits

ORDERS = {"depthwise": 0, "leafwise": 1, "symmetric": 2}


def make_case(seed, n, n_features, missing, max_bin=9):
    rng = np.random.default_rng(seed)
    columns = rng.integers(1, max_bin + 1, (n_features, n)).astype(np.uint8)
    if missing:
        columns[rng.random((n_features, n)) < 0.2] = 0
    g = rng.integers(-500, 500, n) + 300 * (columns[0] > 4)
    h = rng.integers(1, 200, n)
    return columns, (g.astype(np.int64) << 32) + h


def grow(columns, gh, n_threads=1, rows=None, features=None, categorical=(), **options):
    n_features, n = columns.shape
    params = BoostParams(
        **{k: v for k, v in options.items() if k in BoostParams.__dataclass_fields__}
    )
    record = np.zeros(1, GROWTH)
    record["gradient_unit"], record["hessian_unit"] = 2.0**-4, 2.0**-6
    for name in (
        "min_child_weight",
        "min_split_gain",
        "reg_lambda",
        "reg_alpha",
        "max_delta_step",
        "min_samples_leaf",
        "cat_smooth",
        "max_cat_to_onehot",
        "max_cat_threshold",
        "min_data_per_category",
        "order",
    ):
        record[name] = getattr(params, name)
    limits = growth_limits(params, n, n_features, params.min_samples_leaf > 1)
    record["max_depth"], record["max_leaves"] = limits.max_depth, limits.max_leaves
    record["level_features"] = record["node_features"] = n_features
    n_bins = np.full(n_features, max(9, columns.max()), np.int32)
    is_categorical = np.isin(np.arange(n_features), categorical).astype(np.uint8)
    rows = np.arange(n, dtype=ROW) if rows is None else rows
    features = np.arange(n_features, dtype=np.int32) if features is None else features
    record["leaves_per_step"], record["max_steps"] = limits.leaves_per_step, limits.max_steps
    hessian, gradient = (gh & 0xFFFFFFFF).astype(float), (gh >> 32).astype(float)
    with get_backend("cpu", n_threads) as backend:
        bins = np.append(np.ascontiguousarray(columns.T).reshape(-1), np.zeros(PADDING, np.uint8))
        codes = columns, bins, n_bins + np.int32(1), n
        matrix = FeatureMatrix(*codes, is_categorical=is_categorical)
        grower = backend.make_grower(matrix, limits)
        grower.grow(rows, features, gh, record)
        one = np.ones((1, 2))
        grower.finish(rows, gradient[None], hessian[None], np.empty(0), record, one, 1.0)
        leaf_of_row = grower.leaf_of_label[grower.labels]
        ((nodes, _, cover, counts),) = grower.take_trees(everything=True)
    leaves = [rows[leaf_of_row[rows] == i] for i in np.flatnonzero(nodes["left"] < 0)]
    np.testing.assert_array_equal(counts[nodes["left"] < 0], [len(own) for own in leaves])
    np.testing.assert_array_equal(cover[nodes["left"] < 0], [hessian[own].sum() for own in leaves])
    p = {name: record[name][0] for name in GROWTH.names} | {"categorical": categorical}
    return nodes, sorted(map(tuple, leaves)), p, n_bins


def splits_of(nodes):
    inner = np.flatnonzero(nodes["left"] >= 0)
    order = inner[np.argsort(nodes["left"][inner])]
    return [(int(i), int(nodes["split"]["feature"][i]), place_of(nodes["split"][i])) for i in order]


def place_of(split):
    """The last bin that goes left, or the codes."""
    if "set" not in split.dtype.names or split["kind"] == CUT:
        return int(split["bin"])
    bits = np.unpackbits(split["set"].view(np.uint8), bitorder="little")
    assert bits[0] == split["missing_left"]
    return frozenset(np.flatnonzero(bits[1:]) + 1)


def assert_like_oracle(columns, gh, **options):
    nodes, own, p, n_bins = grow(columns, gh, **options)
    splits, leaves = reference.grow(
        columns, n_bins, gh, np.arange(columns.shape[1]), p, range(len(columns))
    )
    assert splits_of(nodes) == [(*s[:2], getattr(s[2], "codes", s[2])) for s in splits]
    assert own == leaves
    np.testing.assert_allclose(
        [nodes["split"]["gain"][s[0]] for s in splits], [s[3] for s in splits], rtol=1e-9, atol=1e-9
    )


OPTIONS = [
    {},
    {"min_child_weight": 40.0},
    {"min_samples_leaf": 12},
    {"reg_alpha": 50.0, "reg_lambda": 3.0},
    {"max_delta_step": 0.5},
    {"min_split_gain": 2000.0},
    {"reg_lambda": 0.0, "min_child_weight": 0.0},
]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("policy", ORDERS)
def test_every_split_is_the_best_one(policy, options, missing):
    columns, gh = make_case(1, 120, 4, missing)
    limits = {"max_depth": 4} if policy != "leafwise" else {"max_leaves": 9}
    assert_like_oracle(columns, gh, grow_policy=policy, **limits, **options)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 80),
    n_features=st.integers(1, 5),
    missing=st.booleans(),
    policy=st.sampled_from(sorted(ORDERS)),
)
def test_random_cases(seed, n, n_features, missing, policy):
    columns, gh = make_case(seed, n, n_features, missing)
    limits = {"max_depth": 3} if policy != "leafwise" else {"max_leaves": 6}
    assert_like_oracle(columns, gh, grow_policy=policy, **limits)


SETS = [
    {"min_data_per_category": 1, "cat_smooth": 1.0},
    {"min_data_per_category": 4, "max_cat_to_onehot": 2},
    {"min_data_per_category": 1, "max_cat_threshold": 2, "min_samples_leaf": 9},
    {"max_cat_to_onehot": 50, "min_child_weight": 20.0},
    {"min_data_per_category": 2, "reg_alpha": 50.0, "max_delta_step": 2.0},
]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("options", SETS, ids=str)
@pytest.mark.parametrize("policy", ORDERS)
def test_every_set_of_categories_is_the_best_one(policy, options, missing):
    columns, gh = make_case(7, 160, 3, missing, max_bin=14)
    limits = {"max_depth": 4} if policy != "leafwise" else {"max_leaves": 9}
    assert_like_oracle(columns, gh, grow_policy=policy, categorical=(0, 2), **limits, **options)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 80),
    missing=st.booleans(),
    policy=st.sampled_from(sorted(ORDERS)),
    max_bin=st.sampled_from([1, 3, 12]),
    rows=st.integers(1, 4),
)
def test_random_categories(seed, n, missing, policy, max_bin, rows):
    columns, gh = make_case(seed, n, 3, missing, max_bin)
    limits = {"max_depth": 3} if policy != "leafwise" else {"max_leaves": 6}
    options = {"min_data_per_category": rows, "categorical": (0, 1)}
    assert_like_oracle(columns, gh, grow_policy=policy, **limits, **options)


@pytest.mark.parametrize("policy", ORDERS)
def test_threads_and_trees_with_many_leaves_change_nothing_about_categories(policy, monkeypatch):
    from gpuboost.kernels.cpu import grower

    columns, gh = make_case(3, 30_000, 6, True, max_bin=200)
    limits = {"max_depth": 10 if policy == "symmetric" else 9, "categorical": (0, 3, 4)}
    alone, leaves, _, _ = grow(columns, gh, grow_policy=policy, max_leaves=None, **limits)
    monkeypatch.setattr(grower, "SMALL_WORK", 1)
    nodes, own, _, _ = grow(columns, gh, 2, grow_policy=policy, max_leaves=None, **limits)
    assert splits_of(nodes) == splits_of(alone)
    assert own == leaves


@pytest.mark.parametrize("leaves_per_step", [2, 5])
def test_several_leaves_at_once(leaves_per_step):
    columns, gh = make_case(6, 200, 4, True)
    assert_like_oracle(
        columns,
        gh,
        grow_policy="leafwise",
        max_leaves=12,
        max_depth=6,
        leaves_per_step=leaves_per_step,
    )


@pytest.mark.parametrize("policy", ["depthwise", "leafwise"])
def test_both_limits_together(policy):
    columns, gh = make_case(2, 200, 4, True)
    assert_like_oracle(columns, gh, grow_policy=policy, max_depth=4, max_leaves=7)


@pytest.mark.parametrize("policy", ORDERS)
@pytest.mark.parametrize("count", [1, 7])
def test_threads_and_a_small_pool_change_nothing(policy, count, monkeypatch):
    from gpuboost.kernels.cpu import grower

    columns, gh = make_case(3, 60_000, 10, True)
    limits = {"max_depth": 5} if policy != "leafwise" else {"max_leaves": 20}
    alone, leaves, _, _ = grow(columns, gh, grow_policy=policy, min_samples_leaf=count, **limits)
    monkeypatch.setattr(grower, "SMALL_WORK", 1)
    for n_threads in (2, 4):
        nodes, own, _, _ = grow(
            columns, gh, n_threads, grow_policy=policy, min_samples_leaf=count, **limits
        )
        assert splits_of(nodes) == splits_of(alone)
        assert own == leaves
    if policy != "symmetric":
        monkeypatch.setattr(grower, "POOL_BYTES", 3 * 10 * HIST_STRIDE * 8)
        for n_threads in (1, 2):
            nodes, own, _, _ = grow(
                columns, gh, n_threads, grow_policy=policy, min_samples_leaf=count, **limits
            )
            assert splits_of(nodes) == splits_of(alone)
            assert own == leaves


@pytest.mark.parametrize("n_threads", [1, 2])
def test_large_trees(rng, n_threads):
    """More leaves than a byte can label: rows are listed by leaf; those left out walk."""
    columns, gh = make_case(5, 3000, 4, True)
    rows = np.sort(rng.choice(3000, 2000, replace=False)).astype(ROW)
    nodes, own, p, n_bins = grow(
        columns, gh, n_threads, rows=rows, max_depth=12, grow_policy="depthwise"
    )
    assert len(own) > 256
    splits, leaves = reference.grow(columns, n_bins, gh, rows, p, range(4))
    assert splits_of(nodes) == [s[:3] for s in splits]
    assert own == leaves


def test_some_rows_and_some_features(rng):
    columns, gh = make_case(4, 300, 6, True)
    rows = np.sort(rng.choice(300, 150, replace=False)).astype(ROW)
    features = np.array([1, 3, 4], np.int32)
    nodes, own, p, n_bins = grow(
        columns, gh, rows=rows, features=features, max_depth=3, colsample_bytree=0.5
    )
    splits, leaves = reference.grow(columns, n_bins, gh, rows, p, features)
    assert splits_of(nodes) == [s[:3] for s in splits]
    assert own == leaves
