"""A saved model comes back as it was, whatever it is."""

import pickle
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pandas as pd
import pytest
from saved_models import (
    CLASSES,
    FOREST,
    FRAME,
    FUZZ,
    MODELS,
    ROOT,
    WEIGHT,
    X,
    Y,
    assert_same,
    boosted,
    everything_said,
    fit,
    fitted,
    round_trip,
)
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

import gpuboost as gb
from gpuboost.estimators.saving import ESTIMATORS
from gpuboost.model.table_schema import TableSchema

# --- the round trip


def test_every_estimator_is_among_the_models():
    assert {type(fitted(name)).__name__ for name in MODELS} == set(ESTIMATORS)
    assert set(ESTIMATORS) == {name for name in gb.__all__ if hasattr(getattr(gb, name), "fit")}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_as_it_was(name, tmp_path):
    """Every attribute, those of ``fit`` and those of the constructor.

    One that no class annotates is missing here.
    """
    model = fitted(name)
    loaded = round_trip(model, tmp_path)
    assert type(loaded) is type(model)
    assert_same(dict(vars(model)), dict(vars(loaded)))
    public = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    assert public == [name for name in dir(loaded) if name in public]
    for name in public:
        has = hasattr(model, name)
        assert has == hasattr(loaded, name), name
        if has:
            assert_same(getattr(model, name), getattr(loaded, name), name)
    assert_same(everything_said(model), everything_said(loaded))


def test_equal_models_are_equal_files(tmp_path):
    for name in MODELS:
        fitted(name).save_model(tmp_path / "one.gb")
        fit(name).save_model(tmp_path / "two.gb")
        gb.load_model(tmp_path / "one.gb").save_model(tmp_path / "three.gb")
        assert (
            (tmp_path / "one.gb").read_bytes()
            == (tmp_path / "two.gb").read_bytes()
            == (tmp_path / "three.gb").read_bytes()
        ), name


@pytest.mark.parametrize("kind", [gb.RandomForestClassifier, gb.ExtraTreesClassifier])
def test_a_warm_start_goes_on_after_loading(kind, tmp_path):
    options = {
        "max_depth": 5,
        "warm_start": True,
        "class_weight": {0: 1, 1: 2, 2: 3},
        "max_samples": 0.7,
        "bootstrap": True,
    }
    whole = kind(n_estimators=9, **options).fit(X, CLASSES, WEIGHT)
    loaded = round_trip(kind(n_estimators=4, **options).fit(X, CLASSES, WEIGHT), tmp_path)
    assert (
        loaded.set_params(n_estimators=9).fit(X, CLASSES, WEIGHT).fingerprint()
        == whole.fingerprint()
    )
    with pytest.raises(ValueError, match="y is not what they were fitted with"):
        loaded.set_params(n_estimators=10).fit(X, CLASSES[::-1], WEIGHT)


def test_a_warm_start_of_a_file_from_before_a_parameter_was_there(tmp_path):
    """What is younger than a file had its default."""
    options = {"max_depth": 5, "warm_start": True}
    for kind in (gb.RandomForestClassifier, gb.ExtraTreesClassifier):
        whole = kind(n_estimators=7, **options).fit(X, CLASSES, WEIGHT)
        part = kind(n_estimators=3, **options).fit(X, CLASSES, WEIGHT)
        header, arrays = FUZZ.content_of(FUZZ.file_of(part))
        for name in ("splitter", "max_bins", "max_leaf_nodes", "class_weight"):
            del header["parameters"][name]
            header["origin_"] = [own for own in header["origin_"] if own[0] != name]
        with open(tmp_path / "old.gb", "wb") as file:
            FUZZ.write_model(file, header, arrays)
        loaded = gb.load_model(tmp_path / "old.gb")
        assert loaded.get_params() == part.get_params()
        loaded.set_params(n_estimators=7).fit(X, CLASSES, WEIGHT)
        assert loaded.fingerprint() == whole.fingerprint()


def test_out_of_bag_importances_after_loading(tmp_path):
    model = gb.RandomForestRegressor(**FOREST).fit(X, Y, WEIGHT)
    loaded = round_trip(model, tmp_path)
    for function in (gb.importance.mda_oob, gb.importance.mdi_oob, gb.importance.sobol_mda):
        assert_same(function(model, X, Y), function(loaded, X, Y))


def test_a_pruned_tree_can_be_pruned_again(tmp_path):
    loaded = round_trip(gb.DecisionTreeRegressor().fit(X, Y), tmp_path)
    assert (
        loaded.prune_reduced_error(X[:30], Y[:30]).fingerprint()
        == fitted("tree, pruned").fingerprint()
    )


def test_the_schema_of_a_table_is_kept(tmp_path):
    model = boosted(gb.GPUBoostRegressor, Y)
    model.table_ = TableSchema("price", "regression", ["a", "b", "c", "d"])
    assert round_trip(model, tmp_path).table_ == model.table_
    model.table_ = TableSchema("price", "regression", ["a", "b"])
    with pytest.raises(
        gb.ModelFormatError,
        match="this GPUBoostRegressor cannot be saved: the table has 2 columns for 4 features",
    ):
        model.save_model(tmp_path / "other.gb")
    assert not (tmp_path / "other.gb").exists()


@pytest.mark.parametrize(
    "values",
    [
        np.array(["b", "a", None, "c"], dtype=object),
        np.array(["2020-01-02", "2020-01-01", "NaT", "2020-01-03"], dtype="M8[ns]"),
        np.array([3, 1, np.nan, 2.5]),
        np.array([b"b", b"a", b"", b"ccc"]),
        np.array([True, False, None, True], dtype=object),
    ],
    ids=["objects", "times", "floats", "bytes", "truth values"],
)
def test_categories_of_any_kind(values, tmp_path):
    frame = (
        pd.DataFrame({"c": np.tile(values, 20)})
        if values.dtype.kind == "M"
        else np.tile(values, 20)[:, None]
    )
    model = gb.DecisionTreeRegressor(categorical_features=[0]).fit(
        frame, np.tile([1.0, 2.0, 3.0, 4.0], 20)
    )
    loaded = round_trip(model, tmp_path)
    assert_same(dict(vars(model)), dict(vars(loaded)))
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


def test_categories_that_are_neither_text_nor_numbers_are_saved_by_their_text(tmp_path):
    column = np.array([(1, 2), (3, 4)] * 10 + [None], dtype=object)[:20, None]
    y = np.arange(20) % 2
    model = gb.DecisionTreeRegressor(categorical_features=[0]).fit(column, y)
    model.save_model(tmp_path / "model.gb")
    loaded = gb.load_model(tmp_path / "model.gb")
    np.testing.assert_array_equal(loaded.predict(column), y)
    np.testing.assert_array_equal(loaded.predict([["(3, 4)"], ["(1, 2)"]]), [1.0, 0.0])


def test_predictions_in_a_fresh_process(tmp_path):
    model = fitted("forest of classes")
    model.save_model(tmp_path / "model.gb")
    np.save(tmp_path / "x.npy", X)
    code = """
        import sys, numpy as np, gpuboost as gb
        folder = sys.argv[1]
        model = gb.load_model(folder + "/model.gb")
        assert "pickle" not in open(folder + "/model.gb", "rb").read().decode("latin-1")
        np.save(folder + "/out.npy", model.predict_proba(np.load(folder + "/x.npy")))
        print(model.fingerprint())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert done.stdout.strip() == model.fingerprint()
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), model.predict_proba(X))


def test_pickle_still_works():
    for name in ("classes", "forest with targets", "adaboost of names"):
        again = pickle.loads(pickle.dumps(fitted(name)))
        assert_same(everything_said(fitted(name)), everything_said(again))


# --- parameters


def test_what_a_file_cannot_hold_gets_its_default_and_a_warning(tmp_path):
    def my_metric(y, prediction):
        return float(np.abs(y - prediction).mean())

    model = boosted(gb.GPUBoostRegressor, Y, {"eval_set": (X, Y)}, eval_metric=["rmse", my_metric])
    with pytest.warns(
        UserWarning,
        match=(
            "eval_metric is a function, which a model file cannot hold: it will be None "
            "after loading"
        ),
    ) as seen:
        model.save_model(tmp_path / "model.gb")
    assert seen[0].filename == __file__
    with pytest.warns(
        UserWarning,
        match="model.gb: eval_metric was a function, which a file cannot hold; it now is None",
    ) as seen:
        loaded = gb.load_model(tmp_path / "model.gb")
    assert seen[0].filename == __file__
    assert loaded.eval_metric is None
    assert loaded.evals_result_ == model.evals_result_ and list(
        loaded.evals_result_["validation_0"]
    ) == ["rmse", "my_metric"]
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what was lost is lost: saving again is quiet
        loaded.save_model(tmp_path / "again.gb")

    tree = gb.DecisionTreeRegressor(ccp_alpha="cv", cv=KFold(3)).fit(X, Y)
    with pytest.warns(UserWarning, match="cv is a KFold"):
        tree.save_model(tmp_path / "tree.gb")
    with pytest.warns(UserWarning, match="it now is 5"):
        assert gb.load_model(tmp_path / "tree.gb").cv == 5


def test_a_random_state_of_a_forest_is_saved_as_the_seed_it_gave(tmp_path):
    options = {"max_depth": 5, "warm_start": True}
    model = gb.RandomForestRegressor(
        n_estimators=3, random_state=np.random.RandomState(5), **options
    ).fit(X, Y)
    with pytest.warns(UserWarning, match="random_state is a RandomState"):
        model.save_model(tmp_path / "model.gb")
    with pytest.warns(UserWarning, match=f"it now is {model.origin_['random_state']}"):
        loaded = gb.load_model(tmp_path / "model.gb")
    more = loaded.set_params(n_estimators=6).fit(X, Y)
    assert more.fingerprint() == model.set_params(n_estimators=6).fit(X, Y).fingerprint()


def test_splits_given_as_arrays_are_kept(tmp_path):
    splits = list(KFold(3).split(X))
    loaded = round_trip(gb.DecisionTreeRegressor(ccp_alpha="cv", cv=splits).fit(X, Y), tmp_path)
    assert_same(splits, loaded.cv)


def test_an_index_of_names_is_kept_as_an_array(tmp_path):
    loaded = round_trip(
        gb.DecisionTreeRegressor(categorical_features=FRAME.columns[1:2]).fit(FRAME, Y), tmp_path
    )
    assert_same(loaded.categorical_features, np.array(["kind"], dtype=object))


def test_a_cuda_device_is_saved_as_auto(tmp_path):
    """A model trained on a GPU loads and predicts where there is none."""
    model = boosted(gb.GPUBoostRegressor, Y)
    model.device = "cuda:1"
    loaded = round_trip(model, tmp_path)
    assert loaded.device == "auto"
    np.testing.assert_array_equal(loaded.predict(X), model.set_params(device="cpu").predict(X))


def test_parameters_that_are_wrong_are_not_saved(tmp_path):
    model = boosted(gb.GPUBoostRegressor, Y).set_params(learning_rate=-1.0)
    with pytest.raises(
        gb.ModelFormatError,
        match="cannot be saved: learning_rate must be a number above 0; got -1.0",
    ):
        model.save_model(tmp_path / "model.gb")


def test_only_fitted_estimators_of_the_library_can_be_saved(tmp_path):
    for name in ESTIMATORS:
        with pytest.raises(NotFittedError):
            getattr(gb, name)().save_model(tmp_path / "model.gb")

    class Mine(gb.GPUBoostRegressor):
        pass

    with pytest.raises(TypeError, match="only estimators of gpuboost can be saved"):
        Mine(n_estimators=1).fit(X, Y).save_model(tmp_path / "model.gb")
    assert not list(tmp_path.iterdir())


def test_predictions_that_are_no_numbers_are_not_saved(tmp_path):
    model = gb.DecisionTreeRegressor(max_depth=2).fit(X, Y)
    model.ensemble_.trees[0].value[-1] = np.inf
    with pytest.raises(
        gb.ModelFormatError, match="ensemble_/trees/value has .*, which is not a number"
    ):
        model.save_model(tmp_path / "model.gb")
