"""Predictions on the device: of rows on the host and of rows that are there, the CPU's bits."""

import warnings

import numpy as np
import pytest

import gpuboost as gb
from gpuboost.kernels.cuda import backend as cuda_backend
from gpuboost.kernels.emulation import control

METHODS = (
    "predict", "predict_proba", "predict_log_proba", "decision_function", "apply",
    "staged_predict", "staged_predict_proba", "staged_decision_function",
)  # fmt: skip
SMALL = {"n_estimators": 4, "max_depth": 4, "random_state": 1}


def data(n=400):
    """Rows with missing values and a column of few numbers, and what depends on them."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, 5))
    x[:, 1] = rng.integers(0, 70, n)
    signal = x[:, 0] + x[:, 1] % 3 + x[:, 2] * x[:, 3] + 0.3 * rng.normal(size=n)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x, signal


X, SIGNAL = data()
CLASSES = np.digitize(SIGNAL, [0.0, 1.5])
TWO = np.stack([SIGNAL, -SIGNAL[::-1]], axis=1)
LABELS = np.stack([CLASSES, np.zeros(len(X), int), CLASSES[::-1] > 1], axis=1)
#: Estimators, their options, and the targets.
CASES = {
    "boosting": (gb.GPUBoostRegressor, SMALL, SIGNAL),
    "boosting, three classes": (gb.GPUBoostClassifier, SMALL, CLASSES),
    "boosting, more than 256 leaves": (
        gb.GPUBoostRegressor,
        {"n_estimators": 2, "max_depth": 12, "min_child_weight": 0.0, "reg_lambda": 0.0},
        SIGNAL,
    ),
    "tree, sets of categories": (
        gb.DecisionTreeRegressor,
        {"max_depth": 6, "categorical_features": [1]},
        TWO,
    ),
    "tree, three labels, one of one class": (gb.DecisionTreeClassifier, {"max_depth": 5}, LABELS),
    "forest": (gb.RandomForestRegressor, {**SMALL, "keep_targets": True}, TWO),
    "forest, hard votes": (gb.RandomForestClassifier, {**SMALL, "voting": "hard"}, CLASSES),
    "extra trees": (gb.ExtraTreesRegressor, SMALL, SIGNAL),
    "extra trees, two classes": (gb.ExtraTreesClassifier, SMALL, CLASSES > 1),
    "AdaBoost": (gb.AdaBoostClassifier, {**SMALL, "max_depth": 1}, CLASSES),
    "AdaBoost, two classes": (gb.AdaBoostClassifier, {**SMALL, "max_depth": 2}, CLASSES > 1),
    "AdaBoost.R2": (gb.AdaBoostRegressor, SMALL, SIGNAL),
}  # fmt: skip


@pytest.fixture
def on_the_device(monkeypatch):
    """However few the rows are, they go to the device, in several chunks."""
    monkeypatch.setattr(cuda_backend, "FEW_ROWS", 0)
    monkeypatch.setattr(cuda_backend, "CHUNK_BYTES", X.nbytes // 3)
    monkeypatch.setattr(cuda_backend, "MEDIAN_CELLS", 400)


def arrays_of(result):
    """What a method returns, as a list of arrays."""
    return [result] if hasattr(result, "dtype") else list(result)


def assert_equal(cp, found, expected, there):
    """The same numbers, where they should be."""
    for a, b in zip(arrays_of(found), arrays_of(expected), strict=True):
        assert isinstance(a, cp.ndarray) == there, type(a)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(cp.asnumpy(a), b)


def results(model, name, x):
    """All that a method returns or yields."""
    out = getattr(model, name)(x)
    return list(out) if name.startswith("staged") else [out]


@pytest.mark.usefixtures("on_the_device")
@pytest.mark.parametrize("case", CASES)
def test_every_method_of_every_family(cp, case):
    kind, options, y = CASES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # AdaBoost may stop early
        model = kind(**options, device="cpu").fit(X, y)
    names = [name for name in METHODS if hasattr(model, name)]
    expected = {name: results(model, name, X) for name in names}
    model.set_params(device="cuda")
    there = cp.asarray(X)
    for name in names:
        for place in (X, there):
            for found, wanted in zip(results(model, name, place), expected[name], strict=True):
                assert_equal(cp, found, wanted, place is there)


@pytest.mark.usefixtures("on_the_device")
def test_paths_are_on_the_host_and_quantiles_are_where_the_rows_are(cp):
    kind, options, y = CASES["forest"]
    model = kind(**options, device="cpu").fit(X, y)
    path, begin = model.decision_path(X)
    quantiles = model.predict_quantiles(X, [0.1, 0.5])
    model.set_params(device="cuda")
    for place in (X, cp.asarray(X)):
        found, own_begin = model.decision_path(place)
        assert (found != path).nnz == 0 and found.format == "csr"
        np.testing.assert_array_equal(own_begin, begin)
        there = isinstance(place, cp.ndarray)
        assert_equal(cp, model.predict_quantiles(place, [0.1, 0.5]), quantiles, there)
    tree = gb.DecisionTreeRegressor(max_depth=3).fit(X, SIGNAL)
    assert (tree.decision_path(cp.asarray(X)) != tree.decision_path(X)).nnz == 0


def test_labels_that_are_not_numbers_come_to_the_host(cp):
    names = np.array(["no", "yes"])[(CLASSES > 1).astype(int)]
    forest = gb.RandomForestClassifier(**SMALL).fit(X, np.stack([names, names[::-1]], axis=1))
    found = forest.predict(cp.asarray(X))
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, forest.predict(X))
    assert isinstance(forest.predict_proba(cp.asarray(X))[0], cp.ndarray)


def test_few_rows_of_the_host_stay_there(emulated):
    for kind, options, y in (CASES["forest"], CASES["AdaBoost.R2"], CASES["boosting"]):
        model = kind(**options, device="cpu").fit(X, y).set_params(device="cuda")
        control.counters.reset()
        model.predict(X)
        assert control.counters.launches == {} and control.counters.uploads == 0


def test_rows_on_the_device_stay_there(cp, device):
    if device != "emulated":
        pytest.skip("only the emulated device counts copies")
    there = cp.asarray(X)
    for case in ("forest, hard votes", "AdaBoost", "AdaBoost.R2", "boosting"):
        kind, options, y = CASES[case]
        model = kind(**options, device="cpu").fit(X, y).set_params(device="cuda")
        control.counters.reset()
        model.predict(there)
        assert control.counters.download_bytes == 0
        # six arrays of the trees; classes, or weights for the medians, are among the others
        assert control.counters.upload_bytes < X.nbytes and control.counters.uploads <= 7


@pytest.mark.usefixtures("on_the_device")
def test_out_of_bag_predictions_and_leaf_targets_of_many_rows(device):
    fitted = [
        gb.RandomForestRegressor(
            **SMALL, oob_score=True, keep_targets=True, max_features=2, device=where
        ).fit(X, TWO)
        for where in ("cpu", "cuda")
    ]
    for name in ("oob_prediction_", "oob_score_"):
        np.testing.assert_array_equal(*(getattr(model, name) for model in fitted))
    np.testing.assert_array_equal(*(model.leaf_targets_.rows for model in fitted))
    classified = [
        gb.RandomForestClassifier(**SMALL, oob_score=True, voting="hard", device=where).fit(
            X, CLASSES
        )
        for where in ("cpu", "cuda")
    ]
    np.testing.assert_array_equal(*(model.oob_decision_function_ for model in classified))


@pytest.mark.usefixtures("on_the_device")
@pytest.mark.parametrize("measure", ["mda_oob", "mdi_oob", "ufi", "sobol_mda"])
def test_importances_from_out_of_bag_rows(cp, measure):
    model = gb.RandomForestRegressor(**SMALL, device="cpu").fit(X, SIGNAL)
    expected = getattr(gb.importance, measure)(model, X, SIGNAL)
    model.set_params(device="cuda")
    for place in (X, cp.asarray(X)):
        found = getattr(gb.importance, measure)(model, place, SIGNAL)
        np.testing.assert_array_equal(found.values, expected.values)
        np.testing.assert_array_equal(found.errors, expected.errors)
