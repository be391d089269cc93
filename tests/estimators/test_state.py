"""The fitted state of each kind of estimator, said and taken back."""

import numpy as np
import pytest

import gpuboost as gb
from gpuboost.estimators import state
from gpuboost.model.file import Arrays, ModelFormatError

FOREST = gb.RandomForestRegressor(n_estimators=2, max_depth=2, oob_score=True, keep_targets=True)
CASES = {
    "boosting": gb.GPUBoostClassifier(n_estimators=2, max_depth=2),
    "tree": gb.DecisionTreeClassifier(max_depth=2),
    "adaboost": gb.AdaBoostClassifier(n_estimators=2),
    "forest": FOREST,
}


def said(kind, rng):
    x = rng.normal(size=(80, 2))
    model = CASES[kind].fit(x, x[:, 0] > 0 if kind != "forest" else x[:, 0])
    arrays = {}
    return model, getattr(state, f"put_{kind}")(model, arrays), arrays


def taken(kind, model, fitted, arrays):
    given = state.Given(model, 2, Arrays(arrays))
    return getattr(state, f"take_{kind}")(fitted, given)


@pytest.mark.filterwarnings("ignore:.*training rows are in the bags of all")
@pytest.mark.parametrize("kind", CASES)
def test_fitted_attributes_come_back(kind, rng):
    model, fitted, arrays = said(kind, rng)
    back = taken(kind, model, fitted, arrays)
    assert back["ensemble_"].fingerprint() == model.fingerprint()
    known = {name for name in vars(model) if name.endswith("_")} - {"n_features_in_"}
    assert set(back) == known


@pytest.mark.filterwarnings("ignore:.*training rows are in the bags of all")
@pytest.mark.parametrize("kind", CASES)
def test_a_state_that_lacks_something_is_refused(kind, rng):
    model, fitted, arrays = said(kind, rng)
    for name in fitted:
        less = {key: value for key, value in fitted.items() if key != name}
        with pytest.raises(ModelFormatError):
            taken(kind, model, less, arrays)


def test_a_tree_without_votes_is_no_adaboost(rng):
    model, fitted, arrays = said("adaboost", rng)
    with pytest.raises(ModelFormatError, match="trees vote for classes"):
        taken("adaboost", model, fitted | {"vote": False}, arrays)
    arrays["estimator_weights"] = -np.ones(len(arrays["estimator_weights"]))
    with pytest.raises(ModelFormatError, match="the weight of a tree"):
        taken("adaboost", model, fitted, arrays)
