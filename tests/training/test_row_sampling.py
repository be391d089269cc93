"""Which rows a round is trained on."""

import numpy as np
import pytest

from gpuboost import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.backend import get_backend
from gpuboost.config import BoostParams
from gpuboost.objectives.scores import log_loss
from gpuboost.training.row_sampling import RowSampler, RowUnits, gradient_sample

METHODS = ["goss", "mvs"]


@pytest.fixture
def table(rng):
    x = rng.normal(size=(4000, 8))
    return x, x[:, 0] + np.sin(3 * x[:, 1]) + x[:, 2] * x[:, 3] + 0.3 * rng.normal(size=4000)


def sampler(backend, n, params, g, units=None, out_of_bag=False, weight=None):
    usable = np.arange(n, dtype=np.int32)
    return RowSampler(usable, n, params, units, out_of_bag, backend)


@pytest.mark.parametrize("method", METHODS)
def test_sums_are_right_on_average(rng, method):
    """Rows that are drawn stand for the others: 400 draws of sums over parts of the rows."""
    n = 2000
    g, h = rng.normal(size=(1, n)) ** 3, rng.random((1, n))
    params = BoostParams(subsample=0.3, sampling_method=method)
    with get_backend("cpu", 1) as backend:
        draws = RowSampler(np.arange(n, dtype=np.int32), n, params, None, False, backend)
        part, sums, sizes = np.arange(n) % 3 == 0, [], []
        for key in range(400):
            gradient, hessian, total = g.copy(), h.copy(), np.array([[np.abs(g).sum(), h.sum()]])
            rows = draws.draw(np.uint32(key), gradient, hessian, np.empty(0), total).rows
            kept = np.zeros(n, bool)
            kept[rows] = True
            assert (gradient[0, ~kept] == 0).all() and (hessian[0, ~kept] == 0).all()
            assert total[0] == pytest.approx([np.abs(gradient).sum(), hessian.sum()])
            sums.append((gradient[0, part].sum(), hessian[0, part].sum()))
            sizes.append(len(rows))
    error = np.std(sums, axis=0) / 20  # of the mean of 400
    assert (np.abs(np.mean(sums, axis=0) - [g[0, part].sum(), h[0, part].sum()]) < 4 * error).all()
    assert np.mean(sizes) == pytest.approx(600, rel=0.02)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("subsample", [0.3, 1e-9])
@pytest.mark.parametrize("method", METHODS)
def test_gradients_put_apart_are_those_of_the_rows_in_place(rng, method, subsample, weighted):
    n = 9000
    weight = rng.exponential(size=n) * (rng.random(n) > 0.1) if weighted else np.empty(0)
    usable = np.flatnonzero(weight > 0 if weighted else np.ones(n)).astype(np.int32)
    g, h = rng.normal(size=(2, n)) ** 3, rng.random((2, n))
    params = BoostParams(subsample=subsample, sampling_method=method)
    found = []
    for only_drawn in (False, True):
        own = g.copy(), h.copy(), weight, np.array([[2.0, 1.0], [3.0, 1.0]])
        with get_backend("cpu", 2) as backend:
            draws = RowSampler(usable, n, params, None, False, backend, only_drawn)
            found.append((draws.draw(np.uint32(5), *own), own[3]))
    (whole, sums), (apart, own_sums) = found
    assert whole.g.shape == (2, n) and apart.g.shape == (2, len(apart.rows))
    np.testing.assert_array_equal(whole.rows, apart.rows)
    np.testing.assert_array_equal(whole.g[:, whole.rows], apart.g)
    np.testing.assert_array_equal(whole.h[:, whole.rows], apart.h)
    np.testing.assert_array_equal(sums, own_sums)
    if weighted:
        np.testing.assert_array_equal(weight[whole.rows], apart.weight)


def test_a_bad_hessian_is_found_in_a_row_that_is_not_drawn(rng):
    g, h, sums = np.ones((1, 900)), np.ones((1, 900)), np.array([[900.0, np.nan]])
    params = BoostParams(subsample=0.3, sampling_method="mvs")
    with get_backend("cpu", 1) as backend:
        draws = RowSampler(np.arange(900, dtype=np.int32), 900, params, None, False, backend, True)
        draws.draw(np.uint32(5), g, h, np.empty(0), sums)
    assert np.isnan(sums[0, 1])


@pytest.mark.parametrize("method", METHODS)
def test_a_third_of_the_rows_is_almost_as_good_as_all(table, method):
    x, y = table
    options = {"n_estimators": 60, "max_depth": 4, "random_state": 0}
    errors = {}
    for name, more in {
        "all": {},
        "uniform": {"subsample": 0.15},
        method: {"subsample": 0.15, "sampling_method": method},
    }.items():
        model = GPUBoostRegressor(**options, **more).fit(x[:3000], y[:3000])
        errors[name] = np.sqrt(np.mean((model.predict(x[3000:]) - y[3000:]) ** 2))
    assert errors[method] < errors["uniform"] and errors[method] < 1.12 * errors["all"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 4])
def test_threads_draw_the_same_rows(table, method, classes):
    x, signal = table
    y = np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes))
    x, y = np.tile(x, (10, 1)), np.tile(y, 10)  # enough rows for several threads
    prints = {
        GPUBoostClassifier(
            n_estimators=3, max_depth=3, subsample=0.2, sampling_method=method, n_jobs=n
        )
        .fit(x, y)
        .fingerprint()
        for n in (1, 2)
    }
    assert len(prints) == 1


def test_top_rate_is_the_part_that_is_kept_for_certain():
    params = BoostParams(subsample=0.3, sampling_method="goss")
    assert gradient_sample(params, 1000) == (False, 300.0, pytest.approx(100.0), 0.0, False)
    params = BoostParams(subsample=0.3, sampling_method="goss", top_rate=0.2)
    assert gradient_sample(params, 1000).n_top == pytest.approx(200.0)
    params = BoostParams(subsample=0.3, sampling_method="mvs", reg_lambda=4.0)
    assert gradient_sample(params, 1000).root == 2.0


def test_rows_of_a_group_are_drawn_together(rng):
    groups = rng.permutation(np.repeat(["a", "b", "c", "d", "e", "f", "g", "h"], 50))
    units = RowUnits.of(400, 0.5, groups)
    n_drawn = np.zeros(8)
    with get_backend("cpu", 1) as backend:
        draws = RowSampler(
            np.arange(400, dtype=np.int32), 400, BoostParams(subsample=0.5), units, False, backend
        )
        for key in range(300):
            rows = draws.draw(np.uint32(key), None, None, None, None).rows
            names, counts = np.unique(groups[rows], return_counts=True)
            if len(rows) > 1:  # chance may keep no group: one row is drawn then
                assert (counts == 50).all()
                n_drawn[[ord(name) - ord("a") for name in names]] += 1
    assert np.abs(n_drawn / 300 - 0.5).max() < 0.12


def test_without_groups_units_are_the_rows_that_are_drawn_anyway(table):
    """Out-of-bag scores do not change the model."""
    x, y = table
    models = [
        GPUBoostRegressor(n_estimators=5, subsample=0.5, oob_score=oob).fit(x, y)
        for oob in (False, True)
    ]
    assert models[0].fingerprint() == models[1].fingerprint()


def test_classes_have_shares_of_their_own(table):
    x, signal = table
    y = np.where(signal > 1.5, "rare", "common")
    model = GPUBoostClassifier(n_estimators=1, max_depth=2, subsample={"common": 0.1}).fit(x, y)
    n_rare, n_common = (y == "rare").sum(), (y == "common").sum()
    n_drawn = model.ensemble_.trees[0].count[0]
    assert n_rare + 0.07 * n_common < n_drawn < n_rare + 0.13 * n_common


@pytest.mark.parametrize("weighted", [False, True])
def test_the_out_of_bag_curve_adds_up_what_rounds_do_to_rows_they_have_not_seen(
    table, weighted, rng
):
    x, signal = table
    y = (signal > 0).astype(int)
    weight = rng.exponential(size=len(y)) if weighted else None
    model = GPUBoostClassifier(n_estimators=4, max_depth=3, subsample=0.6, oob_score=True)
    model.fit(x, y, sample_weight=weight)
    share = np.average(y, weights=weight)
    before = np.tile([1 - share, share], (4000, 1))
    expected = [log_loss(y, before, weight)]
    with get_backend("cpu", 1) as backend:
        draws = RowSampler(
            np.arange(4000, dtype=np.int32), 4000, BoostParams(subsample=0.6), None, True, backend
        )
        for number, after in enumerate(model.staged_predict_proba(x)):
            draws.draw(backend.mix_key(0, 2, number), None, None, None, None)
            left_out = draws.factor == 0
            own = None if weight is None else weight[left_out]
            old, new = (log_loss(y[left_out], p[left_out], own) for p in (before, after))
            expected.append(expected[-1] + new - old)
            before = after
    assert model.evals_result_["out_of_bag"]["logloss"] == pytest.approx(expected[1:], rel=1e-9)


def test_early_stopping_by_the_rows_left_out(table):
    x, y = table
    noise = np.random.default_rng(1).normal(size=len(y)) * 3
    model = GPUBoostRegressor(
        n_estimators=300, subsample=0.5, oob_score=True, early_stopping_rounds=5, learning_rate=0.5
    ).fit(x, y + noise)
    assert model.n_estimators_ < 100
    curve = model.evals_result_["out_of_bag"]["rmse"]
    assert model.best_score_ == min(curve) and model.best_iteration_ == int(np.argmin(curve))


@pytest.mark.parametrize(
    ("options", "fit", "message"),
    [
        ({}, {"groups": [0] * 30}, "groups are for drawing rows, and need a subsample below 1"),
        ({"subsample": 0.5}, {"groups": [0] * 7}, r"groups must have one entry for each of the 30"),
        (
            {"subsample": 0.5},
            {"groups": [np.nan] * 30},
            "groups must not have missing entries; got .*nan.* at row 0",
        ),
        (
            {"subsample": 0.5, "sampling_method": "mvs"},
            {"groups": [0] * 30},
            "groups must be None with sampling_method='mvs'",
        ),
        ({"oob_score": True}, {}, "oob_score=True needs rows that are not drawn.*subsample=1.0"),
        ({"oob_score": 1}, {}, "oob_score must be True or False; got 1"),
        ({"subsample": {7: 0.5}}, {}, "subsample has a class that y does not have: 7"),
        ({"subsample": {0: 2.0}}, {}, "subsample of class 0 must be a number above 0.*got 2.0"),
        (
            {"subsample": 0.5, "early_stopping_rounds": 3},
            {},
            "needs an eval_set, validation_fraction",
        ),
    ],
)
def test_bad_input_is_named(rng, options, fit, message):
    x, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    with pytest.raises(ValueError, match=message):
        GPUBoostClassifier(**options).fit(x, y, **fit)
