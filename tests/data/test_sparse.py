"""Sparse matrices give the models and predictions of the same values in a dense matrix."""

import numpy as np
import pytest
from scipy import sparse as scipy_sparse

import gpuboost as gb
from gpuboost.data import sparse
from gpuboost.data.sparse import dense_blocks, dense_matrix, sparse_rows


@pytest.fixture
def data(rng):
    x = np.where(rng.random((400, 12)) < 0.2, np.round(rng.normal(size=(400, 12)), 1), 0.0)
    x[:, 3] = rng.integers(0, 3, 400)
    y = x[:, 0] + 2 * x[:, 3] * (x[:, 5] > 0) + rng.normal(scale=0.3, size=400)
    x[rng.random(x.shape) < 0.01] = np.nan
    return x, y, rng.exponential(size=400) * (rng.random(400) > 0.1)


def test_rows_and_dense_blocks_of_them(data, monkeypatch):
    x = data[0].astype(np.float32)
    rows = sparse_rows(scipy_sparse.csr_matrix(x), absent_is_missing=False)
    assert rows.shape == x.shape and rows.dtype == np.float32 and len(rows) == 400
    monkeypatch.setattr(sparse, "BLOCK_CELLS", 100)
    columns = np.array([0, 3, 11])
    blocks = list(dense_blocks(rows, columns))
    assert max(map(len, blocks)) == 33
    np.testing.assert_array_equal(np.concatenate(blocks), x[:, columns])
    np.testing.assert_array_equal(dense_matrix(rows), x)


def test_what_is_not_stored_may_be_missing(data):
    x = data[0]
    rows = sparse_rows(scipy_sparse.csr_matrix(x), absent_is_missing=True)
    holes = np.where(x == 0, np.nan, x)
    np.testing.assert_array_equal(dense_matrix(rows), holes)
    np.testing.assert_array_equal(np.concatenate(list(dense_blocks(rows, np.arange(12)))), holes)


def test_entries_of_one_place_are_added_up_and_the_matrix_is_left_alone():
    twice = scipy_sparse.csr_matrix(
        (np.array([2.0, 1.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2)
    )
    assert dense_matrix(sparse_rows(twice, False)).tolist() == [[1.0, 6.0]]
    assert twice.nnz == 3


def test_a_matrix_that_is_too_large_to_be_dense_is_refused(monkeypatch):
    monkeypatch.setattr(sparse, "LARGEST_DENSE", 1000)
    x = scipy_sparse.random_array((100, 50), density=0.1, rng=0).tocsr()
    with pytest.raises(ValueError, match=r"shape \(100, 50\); .* GiB are allowed"):
        gb.RandomForestRegressor().fit(x, np.arange(100.0))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"grow_policy": "symmetric", "subsample": 0.6},
        {"grow_policy": "leafwise", "min_samples_leaf": 5, "colsample_bytree": 0.5},
    ],
    ids=["depthwise", "symmetric", "leafwise"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_boosting_gives_the_model_of_the_dense_matrix(data, options, weighted):
    x, y, weight = data
    weight = weight if weighted else None
    labels = np.digitize(y, [0.0, 2.0])
    of_dense, of_sparse = (
        gb.GPUBoostClassifier(n_estimators=4, n_jobs=n_jobs, **options).fit(
            matrix, labels, sample_weight=weight, eval_set=(matrix[:100], labels[:100])
        )
        for n_jobs, matrix in ((1, x), (2, scipy_sparse.csc_array(x)))
    )
    assert of_sparse.fingerprint() == of_dense.fingerprint()
    assert of_sparse.evals_result_ == of_dense.evals_result_
    for kind in (scipy_sparse.csr_matrix, scipy_sparse.csc_array, scipy_sparse.coo_array):
        np.testing.assert_array_equal(of_dense.predict_proba(kind(x)), of_dense.predict_proba(x))
    stages = zip(of_dense.staged_predict(x), of_sparse.staged_predict(kind(x)), strict=True)
    for one, other in stages:
        np.testing.assert_array_equal(one, other)


def test_training_and_eval_rows_may_differ_in_kind(data):
    x, y, _ = data
    fits = [
        gb.GPUBoostRegressor(n_estimators=3).fit(a, y, eval_set=(b, y))
        for a in (x, scipy_sparse.csr_array(x))
        for b in (x, scipy_sparse.csr_array(x))
    ]
    assert len({model.fingerprint() for model in fits}) == 1
    assert all(model.evals_result_ == fits[0].evals_result_ for model in fits)


@pytest.mark.parametrize(
    "model",
    [
        gb.DecisionTreeRegressor(max_depth=4),
        gb.ExtraTreesRegressor(n_estimators=3, max_depth=4),
        gb.AdaBoostRegressor(n_estimators=3),
        gb.GPUBoostRegressor(n_estimators=1, min_child_weight=1e6),  # no split at all
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_all_families_take_sparse_matrices(data, model):
    x, y, weight = data
    of_dense = model.fit(x, y, sample_weight=weight)
    expected, fingerprint = of_dense.predict(x), of_dense.fingerprint()
    of_sparse = model.fit(scipy_sparse.csr_matrix(x), y, sample_weight=weight)
    assert of_sparse.fingerprint() == fingerprint
    np.testing.assert_array_equal(of_sparse.predict(scipy_sparse.csc_matrix(x)), expected)


def test_more_columns_than_rows_and_few_values_take_little_memory():
    import tracemalloc

    x = scipy_sparse.random_array((300, 200_000), density=1e-4, rng=0, format="csr")
    y = np.asarray(x[:, [0, 1]].sum(axis=1)) + np.arange(300) % 2
    tracemalloc.start()
    model = gb.GPUBoostRegressor(n_estimators=2, max_depth=2).fit(x, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.predict(x).shape == (300,)
    assert peak < 300 * 200_000 * 4  # of a dense matrix of float32
