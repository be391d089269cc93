"""What classical estimators share: training data, classes, devices."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris

from gpuboost import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GPUBoostClassifier,
    RandomForestRegressor,
)


def test_weights_of_samples_and_classes_are_multiplied():
    x, y = np.arange(4.0)[:, None], np.array(["a", "a", "a", "b"])
    data = DecisionTreeClassifier(class_weight="balanced")._prepare(x, y, [1, 1, 2, 3])
    np.testing.assert_allclose(data.weight[:3] / [1, 1, 2], 4 / 6)
    assert data.weight[3] == 3 * 2.0 and data.classes[0].tolist() == ["a", "b"]
    assert data.y[:, 0].tolist() == [0, 0, 0, 1] and data.one_column


def test_rows_without_weight_leave_with_their_categories_but_not_with_their_classes(backend):
    frame = pd.DataFrame({"c": ["x", "y", "z", "y"], "v": [1.0, 2.0, 3.0, 4.0]})
    model = DecisionTreeClassifier(categorical_features=["c"])
    data = model._prepare(frame, [0, 1, 2, 1], [0, 1, 1, 1]).without_weightless_rows(backend)
    assert data.features.categories[0].tolist() == ["y", "z"]
    np.testing.assert_array_equal(data.x, [[0, 2], [1, 3], [0, 4]])
    assert data.classes[0].tolist() == [0, 1, 2] and len(data.targets.classes) == 3


def test_if_all_rows_have_weight_nothing_is_copied(backend):
    data = DecisionTreeRegressor()._prepare(np.zeros((3, 1)), [1.0, 2.0, 3.0], None)
    assert data.without_weightless_rows(backend) is data


def test_bins_are_for_the_splitter_that_has_them():
    with pytest.raises(
        ValueError, match="max_bins must be 256, its default, with splitter='exact'"
    ):
        DecisionTreeClassifier(max_bins=16).check_parameters()
    DecisionTreeClassifier(max_bins=16, splitter="hist").check_parameters()


def test_objects_that_are_no_finite_numbers_say_where():
    with pytest.raises(ValueError, match=r"y contains NaN or infinity: \[inf\] at row 1"):
        DecisionTreeRegressor().fit(np.zeros((2, 1)), np.array([1.0, np.inf], object))


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, RandomForestRegressor])
def test_sparse_y_is_refused(kind):
    with pytest.raises(TypeError, match="y must be a dense array; got a sparse csr_matrix"):
        kind().fit(np.eye(4), csr_matrix(np.eye(4)))


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, GPUBoostClassifier, AdaBoostClassifier])
def test_labels_that_cannot_be_sorted_are_named(kind):
    for labels, message in (
        (["a", None, "b"], "y must not have missing values; got None"),
        (["a", 1, "b"], "y must hold classes of one type; got 'a' and 1"),
    ):
        with pytest.raises(ValueError, match=message):
            kind().fit(np.eye(3), np.array(labels, object))


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor])
def test_friedman_mse_is_another_name_of_squared_error(kind):
    x, y = load_iris(return_X_y=True)
    model = kind(criterion="friedman_mse", max_depth=3).fit(x, y)
    assert model.fingerprint() == kind(max_depth=3).fit(x, y).fingerprint()


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor, AdaBoostRegressor])
def test_dates_are_no_targets(kind):
    """They would be whole numbers of an unknown unit, and NaT the smallest of them."""
    y = np.array(["2020-01-01", "NaT", "2021-01-01"], "datetime64[D]")
    for dates in (y, y - y[0], pd.Series(y)):
        with pytest.raises(ValueError, match="y must hold real numbers; got dtype"):
            kind().fit(np.eye(3), dates)


@pytest.mark.parametrize(
    "kind", [DecisionTreeRegressor, RandomForestRegressor, AdaBoostRegressor, AdaBoostClassifier]
)
def test_masked_y_is_refused(kind):
    y = np.ma.masked_array([0, 1, 0], mask=[True, False, False])
    with pytest.raises(ValueError, match="y must not have masked entries"):
        kind().fit(np.eye(3), y)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_best_is_another_name_of_exact(kind):
    x, y = load_iris(return_X_y=True)
    best = kind(splitter="best").fit(x, y)
    assert best.fingerprint() == kind(splitter="exact").fit(x, y).fingerprint()
    with pytest.raises(ValueError, match="max_bins must be 256"):
        kind(splitter="best", max_bins=16).fit(x, y)
