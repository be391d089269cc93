"""Arrays on the device go into ``fit`` and ``predict`` as they are, and give the bits of host arrays."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from gpuboost import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GPUBoostClassifier,
    GPUBoostRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from gpuboost.backend import device_of
from gpuboost.kernels.emulation import control


class Borrowed:
    """Another library's array: all it has is ``__cuda_array_interface__``."""

    def __init__(self, array):
        self._array = array

    @property
    def __cuda_array_interface__(self):
        return self._array.__cuda_array_interface__


class Tensor:
    """Another library's array that speaks DLPack only."""

    def __init__(self, array):
        self._array = array

    def __dlpack_device__(self):
        return 2, self._array.device.id

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)


class Series:
    """As much of a cuDF column as is used."""

    def __init__(self, values, cp):
        self._values, self._cp = pd.Series(values), cp
        self.dtype, self.null_count = self._values.dtype, int(self._values.isna().sum())

    def astype(self, dtype):
        return Series(self._values.astype(dtype), self._cp)

    def to_cupy(self, na_value=None):
        return self._cp.asarray(
            self._values.to_numpy()
            if na_value is None
            else self._values.to_numpy(dtype=float, na_value=na_value)
        )

    def to_pandas(self):
        return self._values


class Frame:
    """As much of a cuDF frame as is used."""

    def __init__(self, columns, cp):
        self._columns, self._cp = columns, cp
        self.columns = pd.Index(columns)

    def __len__(self):
        return len(next(iter(self._columns.values())))

    def __getitem__(self, name):
        return Series(self._columns[name], self._cp)

    def to_pandas(self):
        return pd.DataFrame(self._columns)

    def to_cupy(self):
        raise AssertionError("columns are taken one by one: nulls are not numbers")


def data(n=3000, n_features=6, dtype=np.float32, missing=True, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features)).astype(dtype)
    x[:, 3] = np.round(x[:, 3])
    signal = x[:, 0] + x[:, 1] * x[:, 3] + 0.3 * rng.normal(size=n)
    if missing:
        x[rng.random(x.shape) < 0.1] = np.nan
    return x, signal, rng.exponential(size=n).round(1)


def model_for(classes, **options):
    return (GPUBoostClassifier if classes else GPUBoostRegressor)(
        n_estimators=4, max_depth=4, random_state=2, **options
    )


def targets(signal, classes):
    return (
        np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes))
        if classes
        else signal
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("classes", [0, 2, 4])
def test_the_model_and_the_predictions_are_those_of_host_input(cp, classes, missing, weighted):
    x, signal, weight = data(missing=missing)
    y, weight = targets(signal, classes), weight if weighted else None
    host = model_for(classes, device="cpu").fit(x, y, sample_weight=weight)
    on_device = cp.asarray(x)
    model = model_for(classes).fit(
        on_device, cp.asarray(y), sample_weight=None if weight is None else cp.asarray(weight)
    )
    assert model.fingerprint() == host.fingerprint()
    assert model.n_features_in_ == x.shape[1] and not hasattr(model, "feature_names_in_")
    for name in ("predict", "predict_proba", "decision_function") if classes else ("predict",):
        found, expected = getattr(model, name)(on_device), getattr(host, name)(x)
        assert isinstance(found, cp.ndarray) and found.dtype == expected.dtype
        np.testing.assert_array_equal(cp.asnumpy(found), expected)
    for name in ("staged_predict", "staged_predict_proba") if classes else ("staged_predict",):
        for found, expected in zip(
            getattr(model, name)(on_device), getattr(host, name)(x), strict=True
        ):
            np.testing.assert_array_equal(cp.asnumpy(found), expected)
    np.testing.assert_array_equal(model.predict(x), host.predict(x))


@pytest.mark.parametrize("mixed", [False, True])
def test_eval_sets_and_early_stopping(cp, mixed):
    x, signal, weight = data()
    y = targets(signal, 2)
    options = {
        "early_stopping_rounds": 1,
        "learning_rate": 1.0,
        "eval_metric": ["error", "logloss"],
    }
    evals = [(x[:500], y[:500]), (x[500:900], y[900:1300])]
    host = model_for(2, device="cpu", **options).fit(
        x, y, eval_set=evals, eval_sample_weight=[None, weight[:400]]
    )
    places = [(cp.asarray(ex), ey if mixed else cp.asarray(ey)) for ex, ey in evals]
    if mixed:
        places[0] = evals[0]
    model = model_for(2, **options).fit(
        cp.asarray(x), y, eval_set=places, eval_sample_weight=[None, cp.asarray(weight[:400])]
    )
    assert model.fingerprint() == host.fingerprint()
    assert (
        model.evals_result_ == host.evals_result_
        and model.best_iteration_ == host.best_iteration_ < 3
    )


def test_an_eval_set_on_the_device_takes_training_there(cp):
    x, signal, _ = data(n=400)
    host = model_for(0, device="cpu").fit(x, signal, eval_set=(x, signal))
    assert (
        model_for(0).fit(x, signal, eval_set=(cp.asarray(x), signal)).evals_result_
        == host.evals_result_
    )


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "bool", "int8", "int32", "int64", "uint16", "uint64"]
)
def test_dtypes(cp, dtype):
    x, signal, _ = data(n=600, missing=False)
    x = (x * 3).round().clip(0, 100).astype(dtype)
    host = model_for(0, device="cpu").fit(x, signal)
    model = model_for(0).fit(cp.asarray(x), signal)
    assert model.fingerprint() == host.fingerprint()
    np.testing.assert_array_equal(cp.asnumpy(model.predict(cp.asarray(x))), host.predict(x))


LAYOUTS = {
    "Fortran order": lambda cp, x: cp.asarray(np.ascontiguousarray(x.T)).T,
    "some rows": lambda cp, x: cp.asarray(np.repeat(x, 2, axis=0))[::2],
    "some columns": lambda cp, x: cp.asarray(np.hstack([x, x]))[:, : x.shape[1]],
    "backwards": lambda cp, x: cp.asarray(np.ascontiguousarray(x[::-1]))[::-1],
    "interface": lambda cp, x: Borrowed(cp.asarray(x)),
    "DLPack": lambda cp, x: Tensor(cp.asarray(x)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_and_other_libraries(cp, layout):
    x, signal, weight = data(n=1500)
    host = model_for(0, device="cpu").fit(x, signal, sample_weight=weight)
    given = LAYOUTS[layout](cp, x)
    model = model_for(0).fit(given, signal, sample_weight=weight)
    assert model.fingerprint() == host.fingerprint()
    np.testing.assert_array_equal(cp.asnumpy(model.predict(given)), host.predict(x))


@pytest.mark.parametrize("n", [1, 2])
def test_few_rows(cp, n):
    x, signal, _ = data(n=n)
    host = model_for(0, device="cpu").fit(x, signal)
    model = model_for(0).fit(cp.asarray(x), signal)
    assert model.fingerprint() == host.fingerprint()
    np.testing.assert_array_equal(cp.asnumpy(model.predict(cp.asarray(x))), host.predict(x))


def test_frames_have_names_and_nulls(cp):
    frame = {"a": [1, 2, None, 4] * 50, "b": np.arange(200.0), "c": [True, False] * 100}
    host_frame = pd.DataFrame({"a": np.array(frame["a"], float), "b": frame["b"], "c": frame["c"]})
    integers = Frame(frame | {"a": pd.array(frame["a"], dtype="Int64")}, cp)
    y = np.array(["no", "yes"] * 100)
    host = model_for(2, device="cpu").fit(host_frame, y)
    model = model_for(2).fit(integers, Series(y, cp))
    assert model.fingerprint() == host.fingerprint()
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    assert isinstance(model.predict(integers), np.ndarray)  # text has no place on a device
    np.testing.assert_array_equal(model.predict(integers), host.predict(host_frame))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(Frame({"a": frame["b"], "b": frame["b"], "x": frame["b"]}, cp))
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(cp.asarray(host_frame.to_numpy(np.float64)))
    with pytest.raises(ValueError, match="X must hold numbers.*'t'"):
        model_for(0, categorical_features=None).fit(Frame({"t": ["x"] * 4}, cp), np.arange(4.0))
    words = {"t": ["x", "y"] * 50}  # categories, which are read on the host
    host = model_for(0, device="cpu").fit(pd.DataFrame(words), np.arange(100.0) % 4)
    assert model_for(0).fit(Frame(words, cp), np.arange(100.0) % 4).fingerprint() == (
        host.fingerprint()
    )


WRONG = {
    "one dimension": (lambda cp, x: cp.asarray(x[:, 0]), "Expected 2D array, got 1D array"),
    "three dimensions": (lambda cp, x: cp.asarray(x[None]), "Found array with dim 3"),
    "no rows": (lambda cp, x: cp.empty((0, 6), np.float32), "0 sample"),
    "no columns": (lambda cp, x: cp.empty((20, 0), np.float32), "0 feature"),
    "complex": (lambda cp, x: cp.asarray(x + 1j), "Complex data not supported"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_says_what_the_host_path_says(cp, case):
    x, signal, _ = data(n=20)
    model = model_for(0).fit(x, signal)
    before = model.fingerprint()
    make, message = WRONG[case]
    for call in (lambda: model.fit(make(cp, x), signal), lambda: model.predict(make(cp, x))):
        with pytest.raises(ValueError, match=message):
            call()
    assert model.fingerprint() == before
    with pytest.raises(ValueError, match="X has 2 features, but GPUBoostRegressor is expecting 6"):
        model.predict(cp.asarray(x[:, :2]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(cp.asarray(x), signal[:-1])
    with pytest.raises(ValueError, match="Input y contains NaN"):
        model.fit(cp.asarray(x), np.full(20, np.nan))


def test_nothing_is_copied_to_another_device_in_silence(cp, device):
    x, signal, _ = data(n=50)
    given = cp.asarray(x)
    with pytest.raises(ValueError, match="X is on cuda:0, but device='cpu': use device='auto'"):
        model_for(0, device="cpu").fit(given, signal)
    with pytest.raises(ValueError, match=r"X is on cuda:0, but device='cpu'"):
        model_for(0, device="cpu").fit(x, signal).predict(given)
    if device != "emulated":
        return
    with control.configure(n_devices=2):
        with cp.cuda.Device(1):
            other = cp.asarray(x)
        for wrapped in (other, Borrowed(other), Tensor(other)):
            assert device_of(wrapped) == "cuda:1"
        with pytest.raises(
            ValueError,
            match=r"X is on cuda:1, but the device in use is 'cuda:0': .*device='cuda:1'",
        ):
            model_for(0, device="cuda:0").fit(other, signal)
        with pytest.raises(
            ValueError, match=r"X of eval_set\[0\] is on cuda:0, but the device in use is 'cuda:1'"
        ):
            model_for(0).fit(other, signal, eval_set=(given, signal))
        model = model_for(0).fit(other, signal)
        assert model.fingerprint() == model_for(0, device="cpu").fit(x, signal).fingerprint()
        assert model.predict(other).device.id == 1


def test_x_does_not_come_to_the_host(cp, device):
    if device != "emulated":
        pytest.skip("only the emulated device counts bytes")
    x, signal, weight = data(n=40_000, n_features=12)
    given = cp.asarray(x)
    control.counters.reset()
    model = model_for(0).fit(given, signal, sample_weight=weight, eval_set=(given, signal))
    fitted = asdict(control.counters)
    assert fitted["download_bytes"] < x.nbytes / 20
    assert (
        fitted["upload_bytes"] < x.nbytes * 2
    )  # y, weights, raw scores, row numbers; X would come on top
    control.counters.reset()
    model.predict(given)
    assert control.counters.download_bytes == 0


def test_host_input_is_recognised_without_a_look_at_cuda(monkeypatch):
    monkeypatch.setattr(
        "gpuboost.backend._device_arrays", lambda: pytest.fail("a plain array was looked at twice")
    )
    x, signal, _ = data(n=30)
    assert device_of(x) is None
    model_for(0).fit(x, signal).predict(x)


CLASSICAL = [
    DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier, RandomForestRegressor,
    ExtraTreesClassifier, ExtraTreesRegressor, AdaBoostClassifier, AdaBoostRegressor,
]  # fmt: skip


def classical(kind, **options):
    if "DecisionTree" not in kind.__name__:
        options = {"n_estimators": 3} | options
    return kind(max_depth=3, random_state=1, **options)


@pytest.mark.parametrize("kind", CLASSICAL)
def test_classical_estimators_train_on_what_is_there(cp, kind):
    x, signal, weight = data(n=300, dtype=np.float64)
    y = targets(signal, 3 if "Classifier" in kind.__name__ else 0)
    given = cp.asarray(x), cp.asarray(y), cp.asarray(weight)
    for options in ({"splitter": "hist", "device": "cuda"}, {"splitter": "exact"}):
        host = classical(kind, **{**options, "device": "cpu"}).fit(x, y, weight)
        model = classical(kind, **options).fit(*given)
        assert model.fingerprint() == host.fingerprint()
        assert getattr(model, "origin_", None) == getattr(host, "origin_", None)
        expected = host.predict(x)
        found = model.predict(given[0])
        assert isinstance(found, cp.ndarray)
        np.testing.assert_array_equal(cp.asnumpy(found), expected)


def test_cross_validation_and_pruning_on_what_is_there(cp):
    x, signal, _ = data(n=200, dtype=np.float64)
    options = {"splitter": "hist", "ccp_alpha": "cv", "cv": 3, "max_depth": 4}
    host = DecisionTreeRegressor(**options, device="cpu").fit(x[:150], signal[:150])
    there = cp.asarray(x)
    model = DecisionTreeRegressor(**options, device="cuda").fit(there[:150], signal[:150])
    assert model.fingerprint() == host.fingerprint() and model.ccp_alpha_ == host.ccp_alpha_
    pruned = model.prune_reduced_error(there[150:], cp.asarray(signal[150:])).fingerprint()
    assert pruned == host.prune_reduced_error(x[150:], signal[150:]).fingerprint()


def test_categories_and_names_of_classical_estimators(cp):
    frame = {"a": np.arange(200.0) % 7, "b": np.arange(200.0), "c": [True, False] * 100}
    y = (frame["a"] > 3) ^ (frame["b"] > 90)
    options = {"n_estimators": 3, "max_depth": 4, "categorical_features": ["a"]}
    host = RandomForestClassifier(**options).fit(pd.DataFrame(frame), y)
    model = RandomForestClassifier(**options).fit(Frame(frame, cp), y)
    assert model.fingerprint() == host.fingerprint()
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    found = model.predict_proba(Frame(frame, cp))
    assert isinstance(found, cp.ndarray)
    np.testing.assert_array_equal(cp.asnumpy(found), host.predict_proba(pd.DataFrame(frame)))


@pytest.mark.parametrize("kind", [RandomForestRegressor, AdaBoostRegressor])
def test_what_of_x_comes_to_the_host_for_classical_estimators(cp, device, kind, caplog):
    if device != "emulated":
        pytest.skip("only the emulated device counts bytes")
    x, signal, _ = data(n=8000, n_features=12, dtype=np.float64)
    given = cp.asarray(x)
    control.counters.reset()
    classical(kind, splitter="hist", device="cuda", n_estimators=2).fit(given, signal)
    fitted = asdict(control.counters)
    assert fitted["download_bytes"] < x.nbytes / 2 and fitted["upload_bytes"] < x.nbytes
    control.counters.reset()
    with caplog.at_level("INFO", "gpuboost"):
        classical(kind, splitter="exact").fit(given, signal)
    assert control.counters.download_bytes == x.nbytes and control.counters.upload_bytes == 0
    assert "X is copied from cuda:0 to the host for training" in caplog.text


def test_classical_estimators_refuse_another_device(cp):
    x, signal, _ = data(n=50)
    given = cp.asarray(x)
    with pytest.raises(ValueError, match="X is on cuda:0, but device='cpu': use device='auto'"):
        RandomForestRegressor(device="cpu").fit(given, signal)
    model = RandomForestRegressor(n_estimators=2, device="cpu").fit(x, signal)
    with pytest.raises(ValueError, match="X is on cuda:0, but device='cpu': use device='auto'"):
        model.predict(given)
    with pytest.raises(ValueError, match="X has 2 features, but RandomForestRegressor is expect"):
        model.set_params(device="auto").predict(given[:, :2])
