"""The course of training: rows held out, warm starts, initial models, margins, rates, time."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import gpuboost as gb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4)).astype(np.float32)
X[:, 1] = RNG.integers(0, 6, 400)
SIGNAL = X[:, 0] + X[:, 1] % 2 + X[:, 2] ** 2 + 0.3 * RNG.normal(size=400)
THREE = np.digitize(SIGNAL, [0.5, 1.5])
WEIGHT = RNG.exponential(size=400) * (np.arange(400) % 9 > 0)
SAMPLED = {"subsample": 0.7, "colsample_bytree": 0.8, "random_state": 3, "max_depth": 3}
#: Trainings that could differ after a break, each with what it adds.
TRAININGS = {
    "numbers": (gb.GPUBoostRegressor, SIGNAL, {}),
    "classes": (gb.GPUBoostClassifier, THREE, {"sampling_method": "goss", "subsample": 0.5}),
    "vector": (gb.GPUBoostClassifier, THREE, {"multi_strategy": "vector_leaf"}),
    "outputs": (
        gb.GPUBoostRegressor,
        np.stack([SIGNAL, 1e3 * SIGNAL**2], axis=1),
        {"multi_strategy": "vector_leaf", "oob_score": True},
    ),
    "categories": (
        gb.GPUBoostClassifier,
        THREE,
        {"categorical_features": [1], "categorical_encoding": "both"},
    ),
    "rules": (
        gb.GPUBoostRegressor,
        SIGNAL * 1e100,
        {
            "feature_penalties": [0.0, 1e5, 1e5, 1e5],
            "monotone_constraints": [1, 0, 0, 0],
            "grow_policy": "leafwise",
            "learning_rate": [0.5, 0.4, 0.3, 0.2, 0.1, 0.1],
        },
    ),
    "small": (gb.GPUBoostRegressor, SIGNAL * 2.0**-400, {"early_stopping_rounds": 2}),
}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", TRAININGS)
def test_rounds_and_more_rounds_are_all_rounds(name, device, monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    kind, y, more = TRAININGS[name]
    options = SAMPLED | more | {"device": device}
    fit = {"sample_weight": WEIGHT, "eval_set": [(X[::2], y[::2]), (X[1::3], y[1::3])]}
    fit["eval_names"] = ["half", "third"]
    whole = kind(n_estimators=6, **options).fit(X, y, **fit)
    parts = kind(n_estimators=2, warm_start=True, **options).fit(X, y, **fit)
    parts.set_params(n_estimators=6).fit(X, y, **fit)
    assert parts.fingerprint() == whole.fingerprint()
    assert parts.evals_result_ == whole.evals_result_
    again = parts.fit(X, y, **fit)  # nothing is left to do
    assert again.fingerprint() == whole.fingerprint()
    if "learning_rate" not in more:
        first = kind(n_estimators=2, **options).fit(X, y, **fit)
        second = kind(n_estimators=4, **options).fit(X, y, init_model=first, **fit)
        if "early_stopping_rounds" not in more:
            assert second.fingerprint() == whole.fingerprint()
        assert list(second.evals_result_)[-1] == "third"


def test_models_to_go_on_from(tmp_path):
    first = gb.GPUBoostRegressor(n_estimators=2).fit(X, SIGNAL)
    first.save_model(tmp_path / "first.gb")
    models = [
        gb.GPUBoostRegressor(n_estimators=3).fit(X, SIGNAL, init_model=given).fingerprint()
        for given in (first, first.ensemble_, tmp_path / "first.gb", str(tmp_path / "first.gb"))
    ]
    assert len(set(models)) == 1
    assert models[0] == gb.GPUBoostRegressor(n_estimators=5).fit(X, SIGNAL).fingerprint()
    sparse = gb.GPUBoostRegressor(n_estimators=2).fit(csr_array(X), SIGNAL)
    sparse = gb.GPUBoostRegressor(n_estimators=3).fit(csr_array(X), SIGNAL, init_model=sparse)
    assert sparse.fingerprint() == models[0]
    # other rows, other targets: the trees that are there stay
    more = gb.GPUBoostRegressor(n_estimators=3).fit(X[:200], SIGNAL[:200] + 1, init_model=first)
    assert more.n_estimators_ == 5
    np.testing.assert_array_equal(more.predict(X, iteration_range=(0, 2)), first.predict(X))


@pytest.mark.parametrize(
    ("options", "fit", "message"),
    [
        ({}, {"init_model": gb.GPUBoostRegressor()}, "init_model must be a fitted estimator"),
        ({}, {"init_model": 3}, "init_model must be .* got int"),
        ({}, {"init_model": "forest"}, "init_model must be a fitted estimator of gradient"),
        ({}, {"init_model": "five"}, "same features: their number"),
        ({}, {"init_model": "classes"}, "must have the objective, outputs and multi_strategy"),
        ({"warm_start": True}, {"init_model": "five"}, "init_model must be None with warm_start"),
        ({"warm_start": True, "refit": True}, {}, "needs early_stopping_rounds"),
        ({"validation_fraction": 0.1}, {"eval_set": (X, SIGNAL)}, "exclude each other"),
        ({"validation_split": "last"}, {}, "validation_split needs validation_fraction"),
        ({"validation_split": "first"}, {}, "validation_split must be one of 'random', 'last'"),
        ({"min_delta": 0.1}, {}, "min_delta needs early_stopping_rounds"),
        ({"stopping_metric": "mae"}, {}, "stopping_metric needs early_stopping_rounds"),
        (
            {"stopping_set": "x", "early_stopping_rounds": 3},
            {"eval_set": (X, SIGNAL)},
            "stopping_set must be one of 'validation_0' or None; got 'x'",
        ),
        (
            {"refit": True, "early_stopping_rounds": 3},
            {"eval_set": (X, SIGNAL)},
            "refit needs validation_fraction",
        ),
        ({}, {"base_margin": SIGNAL[:5]}, "base_margin must have a score for each row"),
        ({}, {"base_margin": SIGNAL * np.nan}, "base_margin must be finite; row 0 has"),
        ({}, {"base_margin": "x"}, "base_margin must hold numbers"),
        ({}, {"eval_base_margin": [SIGNAL]}, "eval_base_margin was given without"),
        (
            {},
            {"base_margin": SIGNAL, "eval_set": (X, SIGNAL)},
            "eval_base_margin must have scores for each of the 1 eval sets",
        ),
        ({}, {"eval_set": (X, SIGNAL), "eval_names": "abc"}, "eval_names must be a list"),
        ({}, {"eval_set": (X, SIGNAL), "eval_names": ["out_of_bag"]}, "eval_names must be dist"),
        ({"learning_rate": [0.1]}, {}, "learning_rate must have a number for each"),
        ({}, {"groups": np.zeros(400)}, "subsample below 1 or validation_fraction"),
        ({"max_time": 0}, {}, "max_time must be a number above 0 or None"),
    ],
)
def test_refusals(options, fit, message):
    models = {
        "forest": lambda: gb.RandomForestRegressor(n_estimators=1).fit(X, SIGNAL),
        "five": lambda: gb.GPUBoostRegressor(n_estimators=1).fit(X[:, :3], SIGNAL),
        "classes": lambda: gb.GPUBoostClassifier(n_estimators=1).fit(X, THREE),
    }
    if fit.get("init_model") in models:
        fit = fit | {"init_model": models[fit["init_model"]]()}
    with pytest.raises((ValueError, TypeError), match=message):
        gb.GPUBoostRegressor(**({"n_estimators": 2} | options)).fit(X, SIGNAL, **fit)


def test_a_warm_start_that_cannot_be_one_changes_nothing():
    model = gb.GPUBoostClassifier(n_estimators=4, warm_start=True).fit(X, THREE)
    before = model.fingerprint()
    for change, y, message in (
        ({"n_estimators": 2}, THREE, "must be at least the 4 rounds"),
        ({"n_estimators": 6}, np.minimum(THREE, 1), "objective, outputs"),
        ({"n_estimators": 6}, THREE + 1, "other classes"),
    ):
        with pytest.raises(ValueError, match=message):
            model.set_params(**change).fit(X, y)
        assert model.fingerprint() == before
    with pytest.raises(ValueError, match="goes on with the curves of evals_result_"):
        model.set_params(n_estimators=6).fit(X, THREE, eval_set=(X, THREE))


def test_rows_held_out_are_an_eval_set():
    groups = np.arange(400) // 7
    options = {"n_estimators": 40, "learning_rate": 0.5, "early_stopping_rounds": 3}
    for y, fit, how in (
        (SIGNAL, {}, "random"),
        (THREE, {"sample_weight": WEIGHT}, "random"),
        (THREE, {"groups": groups}, "random"),
        (SIGNAL, {}, "last"),
    ):
        kind = gb.GPUBoostClassifier if y is THREE else gb.GPUBoostRegressor
        model = kind(validation_fraction=0.25, validation_split=how, **options).fit(X, y, **fit)
        curve = next(iter(model.evals_result_["validation"].values()))
        assert len(curve) == model.best_iteration_ + 4 and model.best_score_ == min(curve)
    model = gb.GPUBoostRegressor(validation_fraction=0.25, validation_split="last", **options)
    last = model.fit(X, SIGNAL)
    by_hand = gb.GPUBoostRegressor(**options).fit(
        X[:300], SIGNAL[:300], eval_set=(X[300:], SIGNAL[300:])
    )
    assert last.fingerprint() == by_hand.fingerprint()
    assert last.best_score_ == by_hand.best_score_
    sparse = gb.GPUBoostRegressor(validation_fraction=0.25, **options).fit(csr_array(X), SIGNAL)
    dense = gb.GPUBoostRegressor(validation_fraction=0.25, **options).fit(X, SIGNAL)
    assert sparse.fingerprint() == dense.fingerprint() and sparse.best_score_ == dense.best_score_


def test_refit_is_a_fit_of_all_rows(tmp_path):
    options = {"learning_rate": 0.5, "random_state": 1}
    model = gb.GPUBoostRegressor(
        n_estimators=50, validation_fraction=0.2, early_stopping_rounds=3, refit=True, **options
    ).fit(X, SIGNAL, sample_weight=WEIGHT)
    n_best = int(np.argmin(model.evals_result_["validation"]["rmse"])) + 1
    n_held_out = round(0.2 * (WEIGHT > 0).sum())
    n_rounds = round(n_best * 400 / (400 - n_held_out))
    assert model.n_estimators_ == n_rounds == model.best_iteration_ + 1
    by_hand = gb.GPUBoostRegressor(n_estimators=n_rounds, **options).fit(
        X, SIGNAL, sample_weight=WEIGHT
    )
    np.testing.assert_array_equal(model.predict(X), by_hand.predict(X))
    model.save_model(tmp_path / "m.gb")
    assert gb.load_model(tmp_path / "m.gb").best_score_ == model.best_score_


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_margins_are_where_training_begins(device, monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    first = gb.GPUBoostClassifier(n_estimators=3, device=device).fit(X, THREE)
    margin = first.decision_function(X)
    model = gb.GPUBoostClassifier(n_estimators=3, device=device, random_state=9)
    model.fit(X, THREE, base_margin=margin, eval_set=(X, THREE), eval_base_margin=[margin])
    assert (model.ensemble_.base_score == 0).all()
    proba = model.predict_proba(X, base_margin=margin)
    loss = -np.log(proba[np.arange(400), THREE]).mean()
    assert loss == pytest.approx(model.evals_result_["validation_0"]["mlogloss"][-1], rel=1e-9)
    raw = model.decision_function(X, base_margin=margin)
    np.testing.assert_allclose(raw, model.decision_function(X) + margin, rtol=1e-12, atol=1e-12)
    assert (model.predict(X, base_margin=margin) == proba.argmax(axis=1)).all()
    many = gb.GPUBoostRegressor(n_estimators=2, device=device, warm_start=True)
    many.fit(X, SIGNAL, base_margin=SIGNAL / 2).set_params(n_estimators=4)
    many.fit(X, SIGNAL, base_margin=SIGNAL / 2)
    whole = gb.GPUBoostRegressor(n_estimators=4).fit(X, SIGNAL, base_margin=SIGNAL / 2)
    assert many.fingerprint() == whole.fingerprint()
    of_sparse = whole.predict(csr_array(X), base_margin=SIGNAL / 2)
    np.testing.assert_array_equal(of_sparse, whole.predict(X, base_margin=SIGNAL / 2))


def test_ranges_of_iterations():
    model = gb.GPUBoostClassifier(n_estimators=6).fit(X, THREE)
    stages = list(model.staged_decision_function(X))
    np.testing.assert_array_equal(model.decision_function(X, iteration_range=(0, 4)), stages[3])
    late = model.decision_function(X, iteration_range=(4, 6))
    expected = stages[5] - stages[3] + model.ensemble_.base_score
    np.testing.assert_allclose(late, expected, rtol=1e-9, atol=1e-12)
    for wrong in ((0, 7), (3, 3), (-1, 2), 4, (0, 1.5)):
        with pytest.raises(ValueError, match="iteration_range must be"):
            model.predict(X, iteration_range=wrong)


def test_schedules_and_time():
    rates = [0.5, 0.25, 0.125]
    by_list = gb.GPUBoostRegressor(n_estimators=3, learning_rate=rates).fit(X, SIGNAL)
    by_function = gb.GPUBoostRegressor(n_estimators=3, learning_rate=lambda i: 0.5 ** (i + 1))
    assert by_function.fit(X, SIGNAL).fingerprint() == by_list.fingerprint()
    first = gb.GPUBoostRegressor(n_estimators=1, learning_rate=0.5).fit(X, SIGNAL)
    np.testing.assert_array_equal(by_list.predict(X, iteration_range=(0, 1)), first.predict(X))
    assert gb.GPUBoostRegressor(max_time=1e-9).fit(X, SIGNAL).n_estimators_ == 1
    assert gb.GPUBoostRegressor(max_time=1e9, n_estimators=2).fit(X, SIGNAL).n_estimators_ == 2
