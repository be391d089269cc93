"""Mean targets of categories in gradient boosting, from the frame to the saved model."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

import gpuboost as gb
from gpuboost import importance
from gpuboost.data.target_statistics import MANY_LEVELS
from gpuboost.kernels.cuda.device import cupy

N = 600
FAST = {"n_estimators": 8, "n_jobs": 1}
TARGET = {"categorical_encoding": "target", **FAST}


@pytest.fixture(scope="module")
def data():
    """Cities and streets with effects of their own, a colour without one, and a number."""
    rng = np.random.default_rng(0)
    city, street = rng.integers(0, 100, N), rng.integers(0, 80, N)
    x = pd.DataFrame(
        {
            "city": pd.Categorical([f"c{i:03}" for i in city]),
            "street": pd.Categorical([f"s{i}" for i in street]),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], N)),
            "size": rng.normal(size=N).astype(np.float32),
        }
    )
    x.loc[::7, "city"] = None
    effect = rng.normal(size=100)[city] + 0.5 * rng.normal(size=80)[street]
    return x, effect + x["size"].to_numpy() + 0.3 * rng.normal(size=N)


def kinds(model):
    return [feature.kind for feature in model.ensemble_.features.features]


def test_auto_encodes_columns_with_many_categories(data):
    model = gb.GPUBoostRegressor(**FAST).fit(*data)
    assert kinds(model) == ["encoded", "encoded", "categorical", "numeric"]
    assert len(model.ensemble_.features.categories[0]) >= MANY_LEVELS
    assert model.features_["city"].taken.startswith("mean target: c000")
    assert model.n_features_in_ == len(model.feature_importances_) == 4


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("partition", "categorical"), ("target", "encoded"), ("both", "split and encoded")],
)
def test_an_encoding_is_obeyed(data, encoding, expected):
    model = gb.GPUBoostRegressor(categorical_encoding=encoding, **FAST).fit(*data)
    assert kinds(model) == [expected] * 3 + ["numeric"]


def test_the_trees_name_what_they_see(data):
    x, y = data
    text = gb.export_text(gb.GPUBoostRegressor(**TARGET).fit(x, y))
    assert "city: mean of target <= " in text
    three = pd.cut(y, 3, labels=["low", "mid", "high"]).astype(str)
    names = gb.GPUBoostClassifier(**TARGET).fit(x, three).ensemble_.tree_names()
    assert names[:4] == ["city: share of high", "street: share of high", "colour: share of high",
                         "size"]  # fmt: skip
    assert names[4:7] == ["city: share of low", "city: share of mid", "city: rows"]
    two = gb.GPUBoostClassifier(**TARGET).fit(x, np.where(y > 0, "yes", "no"))
    assert two.ensemble_.tree_names()[0] == "city: share of yes"


def test_new_rows_get_what_an_eval_set_got(data):
    x, y = data
    target = (y > 0).astype(int)
    model = gb.GPUBoostClassifier(**TARGET)
    model.fit(x[:400], target[:400], eval_set=[(x[400:], target[400:])])
    expected = log_loss(target[400:], model.predict_proba(x[400:]))
    assert model.evals_result_["validation_0"]["logloss"][-1] == pytest.approx(expected, rel=1e-12)


def test_categories_in_another_order_as_text_or_as_integers_are_the_same(data):
    x, y = data
    model = gb.GPUBoostRegressor(**TARGET).fit(x, y)
    turned = x.assign(city=x["city"].cat.reorder_categories(x["city"].cat.categories[::-1]))
    as_text = x.assign(city=x["city"].astype(object))
    for same in (turned, as_text):
        assert gb.GPUBoostRegressor(**TARGET).fit(same, y).fingerprint() == model.fingerprint()
        np.testing.assert_array_equal(model.predict(same), model.predict(x))


@pytest.mark.parametrize("encoding", ["target", "both"])
def test_a_saved_model_predicts_the_same(data, tmp_path, encoding):
    x, y = data
    many = pd.Series(np.arange(N) % 300).astype(str).astype("category")  # more than bytes can tell
    x = x.assign(many=many)
    model = gb.GPUBoostRegressor(categorical_encoding=encoding, **FAST).fit(x, y)
    model.save_model(tmp_path / "model.gb")
    loaded = gb.load_model(tmp_path / "model.gb")
    assert loaded.fingerprint() == model.fingerprint()
    x = x.assign(city=x["city"].cat.add_categories("new").fillna("new"))
    np.testing.assert_array_equal(loaded.predict(x), model.predict(x))


def test_the_seed_is_that_of_the_order(data):
    one, other = (gb.GPUBoostRegressor(random_state=i, **TARGET).fit(*data) for i in (0, 1))
    assert one.fingerprint() != other.fingerprint()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_do_not_change_the_model(data, n_jobs):
    model = gb.GPUBoostRegressor(**TARGET | {"n_jobs": n_jobs}).fit(*data)
    assert model.fingerprint() == gb.GPUBoostRegressor(**TARGET).fit(*data).fingerprint()


def test_rows_without_weight_are_as_if_they_were_not_there(data):
    x, y = data
    weight = (np.arange(N) % 3 > 0).astype(float)
    model = gb.GPUBoostRegressor(**TARGET).fit(x, y, sample_weight=weight)
    alone = gb.GPUBoostRegressor(**TARGET).fit(x[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(model.predict(x), alone.predict(x))


def test_a_column_of_noise_is_no_leak():
    """The mean of a row's own category would tell the row's target."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"noise": rng.integers(0, 1000, 2000).astype(str), "x": rng.normal(size=2000)})
    y = (x["x"] + rng.normal(size=2000) > 0).astype(int)
    losses = [
        log_loss(
            y[1000:],
            gb.GPUBoostClassifier(n_estimators=15, max_depth=3, n_jobs=1)
            .fit(x.loc[:999, columns], y[:1000])
            .predict_proba(x.loc[1000:, columns]),
        )
        for columns in (["noise", "x"], ["x"])
    ]
    assert losses[0] < 1.02 * losses[1]


def test_partial_dependence_is_the_answer_for_each_category(data):
    """Of a model of one column, which has no other to average over."""
    x, y = data
    one = x[["city"]]
    model = gb.GPUBoostRegressor(**TARGET).fit(one, y)
    result = gb.partial_dependence(model, one, "city")
    answers = model.predict(pd.DataFrame({"city": result["grid_values"][0]}))
    np.testing.assert_allclose(result["average"][0], answers, rtol=1e-12)


def test_leaves_and_stages_see_the_same_columns(data):
    x, y = data
    model = gb.GPUBoostRegressor(**TARGET).fit(x, y)
    *_, last = model.staged_predict(x)
    np.testing.assert_array_equal(last, model.predict(x))
    leaves = model.apply(x)
    values = [tree.value[leaves[:, t], 0] for t, tree in enumerate(model.ensemble_.trees)]
    total = model.ensemble_.base_score[0] + np.sum(values, axis=0)
    np.testing.assert_allclose(total, model.predict(x), rtol=1e-12)


def test_permuting_a_column_moves_all_that_is_made_of_it(data):
    x, y = data
    model = gb.GPUBoostRegressor(**TARGET).fit(x, y)
    values = importance.mda(model, x, y, n_repeats=2).values
    assert values.shape == (4,)
    assert values[0] > values[2]


def test_monotone_features_have_no_categories(data):
    model = gb.GPUBoostRegressor(monotone_constraints={"city": 1}, **TARGET)
    with pytest.raises(ValueError, match="monotone_constraints must be 0 for categorical"):
        model.fit(*data)
    rising = gb.GPUBoostRegressor(monotone_constraints={"size": 1}, **TARGET).fit(*data)
    x = data[0]
    higher = x.assign(size=x["size"] + np.float32(1))
    assert (rising.predict(higher) >= rising.predict(x)).all()


def test_an_encoding_that_is_none_is_refused(data):
    with pytest.raises(ValueError, match="categorical_encoding must be one of 'auto', 'partition'"):
        gb.GPUBoostRegressor(categorical_encoding="onehot").fit(*data)


OPTIONS = {
    "missing": {},
    "weights": {"sample_weight": np.arange(N) % 4 * 0.5},
    "sampling": {"subsample": 0.6, "colsample_bytree": 0.7},
    "symmetric": {"grow_policy": "symmetric"},
    "leafwise": {"grow_policy": "leafwise"},
    "stopping": {"early_stopping_rounds": 2, "learning_rate": 0.9, "n_estimators": 15},
    "monotone": {"monotone_constraints": {"size": 1}},
}


NUMBERS, TWO, CLASSES, OUTPUTS = "numbers", "two classes", "classes", "outputs"
PAIRS = [
    *(("missing", target) for target in (NUMBERS, TWO, CLASSES, OUTPUTS)),
    ("weights", TWO),
    ("weights", CLASSES),
    ("sampling", TWO),
    ("sampling", OUTPUTS),
    ("symmetric", CLASSES),
    ("leafwise", NUMBERS),
    ("stopping", TWO),
    ("monotone", TWO),
]


@pytest.mark.parametrize(("case", "target"), PAIRS)
def test_devices_make_the_same_model(data, monkeypatch, case, target):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    x, y = data
    if target == OUTPUTS:
        y = np.stack([y, -(y**2)], axis=1)
    elif target != NUMBERS:
        y = np.digitize(y, [0] if target == TWO else [-1, 1])
    kind = gb.GPUBoostClassifier if target in (TWO, CLASSES) else gb.GPUBoostRegressor
    options = OPTIONS[case].copy()
    weight = options.pop("sample_weight", None)
    models = [
        kind(**{**TARGET, "n_estimators": 3, **options, "device": device}).fit(
            x[:400],
            y[:400],
            sample_weight=None if weight is None else weight[:400],
            eval_set=[(x[400:], y[400:])],
        )
        for device in ("cpu", "cuda")
    ]
    assert models[0].fingerprint() == models[1].fingerprint()
    assert models[0].evals_result_ == models[1].evals_result_
    np.testing.assert_array_equal(models[0].predict(x), models[1].predict(x))


def test_rows_on_a_device_are_encoded_as_those_of_the_host(data, monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    x, y = data
    x = np.stack([x["city"].cat.codes, x["street"].cat.codes, x["size"]], axis=1)
    options = {"categorical_features": [0, 1], **TARGET, "n_estimators": 3}
    host = gb.GPUBoostRegressor(**options).fit(x, y)
    there = cupy().asarray(x)
    model = gb.GPUBoostRegressor(**options).fit(there, y)
    assert model.fingerprint() == host.fingerprint()
    np.testing.assert_array_equal(cupy().asnumpy(model.predict(there)), host.predict(x))


def test_rules_of_a_column_are_those_of_what_is_made_of_it(data):
    x, y = data
    model = gb.GPUBoostRegressor(feature_weights={"city": 0}, colsample_bynode=0.9, **TARGET)
    assert model.fit(x, y).feature_importances_[0] == 0
    dear = gb.GPUBoostRegressor(feature_penalties={"city": 1e9}, **TARGET).fit(x, y)
    assert dear.feature_importances_[0] == 0
    groups = [["city", "size"], ["street", "colour"]]
    apart = gb.GPUBoostRegressor(interaction_constraints=groups, **TARGET).fit(x, y).ensemble_
    assert all(len(one.columns) == 1 for one in apart.features.statistics)
    sides = {0: 0, 3: 0, 1: 1, 2: 1}
    for tree in apart.trees:
        for path in paths(tree):
            assert len({sides[apart.features.sources[f, 0]] for f in path}) <= 1


def paths(tree, node=0, asked=()):
    """The columns that are asked for on the way to each leaf."""
    if tree.left[node] < 0:
        return [asked]
    below = tree.left[node], tree.left[node] + 1
    return [path for i in below for path in paths(tree, i, (*asked, int(tree.feature[node])))]


def test_forced_splits_are_on_numbers(data):
    model = gb.GPUBoostRegressor(forced_splits={"feature": "city", "threshold": 0.0}, **TARGET)
    with pytest.raises(ValueError, match="forced_splits must be on features of numbers; feature 0"):
        model.fit(*data)


# --- categories that training has not seen


@pytest.mark.parametrize("encoding", ["target", "both"])
def test_a_new_category_may_have_the_mean_of_all(data, encoding, tmp_path):
    """As a category that no row with weight had, whose mean is the prior; a gap is another thing.

    Gaps have a mean of their own here, as training has some.
    """
    x, y = data
    y = np.where(x["city"].isna(), y + 8, y)
    new, gone = x[:9].assign(city="new"), x[:9].assign(city=None)
    options = {"categorical_encoding": encoding, **FAST}
    plain = gb.GPUBoostRegressor(**options).fit(x, y)
    np.testing.assert_array_equal(plain.predict(new), plain.predict(gone))
    model = gb.GPUBoostRegressor(unknown_category="prior", **options)
    model.fit(x, y, eval_set=(new, y[:9]))
    assert model.fingerprint() == plain.fingerprint()
    np.testing.assert_array_equal(model.predict(x), plain.predict(x))
    np.testing.assert_array_equal(model.predict(gone), plain.predict(gone))
    assert encoding == "both" or (model.predict(new) != plain.predict(new)).all()
    rmse = np.sqrt(np.mean((model.predict(new) - y[:9]) ** 2))
    assert model.evals_result_["validation_0"]["rmse"][-1] == pytest.approx(rmse)
    seen = model.ensemble_.features.expand_on_host(model.check_rows(new))
    features, (of_city, *_) = model.ensemble_.features, model.ensemble_.features._made_places
    np.testing.assert_allclose(seen[:, of_city[0]], y.mean(), rtol=1e-6)
    np.testing.assert_array_equal(seen[:, of_city[1]], 0)  # no rows
    assert encoding == "target" or np.isnan(seen[:, 0]).all()  # no set has it
    assert "a new one has the mean of all" in model.features_["city"].missing
    model.save_model(tmp_path / "model.gb")
    loaded = gb.load_model(tmp_path / "model.gb")
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    both = pd.concat([x[:50], new])
    effect = gb.partial_dependence(model, both, "city")
    assert effect.grid_values[0].tolist() == features.features[0].categories.tolist()
    model.report(tmp_path / "page.html", both, np.append(y[:50], y[:9]))


def test_means_of_all_are_for_columns_that_have_means(data):
    x, y = data
    with pytest.raises(ValueError, match="must be 'auto', 'target' or 'both'; got 'partition'"):
        model = gb.GPUBoostRegressor(unknown_category="prior", categorical_encoding="partition")
        model.fit(x, y)
    with pytest.raises(ValueError, match="unknown_category must be one of 'missing', 'error'"):
        gb.RandomForestRegressor(unknown_category="prior").fit(x, y)
