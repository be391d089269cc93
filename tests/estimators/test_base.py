"""scikit-learn's own checks and tools."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from gpuboost import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GPUBoostClassifier,
    GPUBoostRegressor,
)

ESTIMATORS = [
    kind(grow_policy=policy, n_estimators=20)
    for kind in (GPUBoostRegressor, GPUBoostClassifier)
    for policy in ("depthwise", "leafwise", "symmetric")
]
ESTIMATORS += [
    DecisionTreeClassifier(),
    DecisionTreeRegressor(),
    DecisionTreeClassifier(ccp_alpha="cv", cv=2),
    DecisionTreeRegressor(splitter="hist"),
]
CHECKS = [
    (e, c) for estimator in ESTIMATORS for e, c in estimator_checks_generator(estimator, mark=None)
]


@pytest.mark.parametrize(
    ("estimator", "check"),
    CHECKS,
    ids=lambda v: getattr(getattr(v, "func", v), "__name__", None) or repr(v),
)
def test_check_estimator(estimator, check):
    """Every check, none excused and none skipped."""
    name = getattr(check, "func", check).__name__
    if name == "check_classifiers_multilabel_output_format_decision_function":
        assert not hasattr(estimator, "decision_function")  # which is what it would look at
        return
    check(estimator)


def test_pipeline_grid_search_and_cross_validation():
    x, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), GPUBoostClassifier(n_estimators=10)),
        {"gpuboostclassifier__max_depth": [2, 3]},
        cv=3,
    )
    search.fit(x, y)
    assert search.best_score_ > 0.9
    assert (
        cross_val_score(
            GPUBoostRegressor(n_estimators=50, max_depth=2), *load_diabetes(return_X_y=True)
        ).mean()
        > 0.35
    )
    assert (
        cross_val_score(
            GPUBoostClassifier(n_estimators=20), *load_iris(return_X_y=True), n_jobs=2
        ).mean()
        > 0.9
    )


def test_clone_and_parameters():
    model = GPUBoostClassifier(max_depth=3, class_weight="balanced", random_state=5)
    assert clone(model).get_params() == model.get_params()
    assert "max_depth=3" in repr(model)


def test_set_output_names_columns_downstream():
    frame = load_iris(as_frame=True)
    pipeline = make_pipeline(
        StandardScaler().set_output(transform="pandas"), GPUBoostClassifier(n_estimators=5)
    )
    pipeline.fit(frame.data, frame.target)
    assert list(pipeline[-1].feature_names_in_) == list(frame.data.columns)
    pipeline.predict(frame.data)


def test_metadata_routing_of_weights():
    x, y = load_breast_cancer(return_X_y=True)
    weight = np.random.default_rng(0).random(len(y))
    with config_context(enable_metadata_routing=True):
        model = (
            GPUBoostClassifier(n_estimators=5)
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True)
        )
        scores = cross_validate(model, x, y, params={"sample_weight": weight})
    assert scores["test_score"].min() > 0.8


def test_string_classes_and_frames():
    frame = load_iris(as_frame=True)
    names = frame.target_names[frame.target]
    model = GPUBoostClassifier(n_estimators=20).fit(frame.data, names)
    assert set(model.classes_) == set(names) and model.score(frame.data, names) > 0.95
    np.testing.assert_allclose(model.predict_proba(frame.data).sum(axis=1), 1)
    nullable = frame.data.astype("Float64").mask(frame.data > 6)
    assert GPUBoostClassifier(n_estimators=20).fit(nullable, names).score(nullable, names) > 0.9
    assert isinstance(nullable, pd.DataFrame)
