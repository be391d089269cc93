"""The CPU as a backend."""

import numpy as np
import pytest

from gpuboost.backend import get_backend
from gpuboost.scalar.rows import mean_of_trees


def test_arrays_stay_where_they_are(backend):
    x = np.arange(3.0)
    assert backend.put(x) is x and backend.to_host(x) is x
    assert backend.empty((2, 3), np.int32).shape == (2, 3)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_work_is_shared_out_once(n_threads):
    done = np.zeros(50, int)

    def job(i):
        done[i] += 1

    with get_backend("cpu", n_threads) as backend:
        backend.share_out(50, job)
    assert (done == 1).all()


def test_keys_differ_by_seed_and_counters(backend):
    keys = {int(backend.mix_key(*a)) for a in [(0,), (1,), (0, 1), (0, 0, 1), (0, 0, 0, 1)]}
    assert len(keys) == 5 and backend.mix_key(7, 1, 2) == backend.mix_key(7, 1, 2, 0)


def test_sums_in_fixed_point_do_not_depend_on_the_order(backend, rng):
    values, weight = rng.normal(size=1000), rng.random(1000)
    order = rng.permutation(1000)
    found = backend.fixed_point_sum(values, weight, 2.0**30)
    assert found == backend.fixed_point_sum(values[order], weight[order], 2.0**30)
    assert found / 2.0**30 == pytest.approx((values * weight).sum(), abs=1e-6)


def test_labels_are_classes_of_the_highest_score_the_first_among_equals(backend):
    classes = np.array(["a", "b", "c"])
    raw = np.array([[1.0, 0.0], [3.0, 0.0], [2.0, 0.0]])
    assert backend.labels(raw, classes).tolist() == ["b", "a"]
    assert backend.labels(np.array([[-1.0, 0.0, 1.0]]), classes[:2]).tolist() == ["a", "a", "b"]


def test_one_class_is_the_class_of_every_row(backend):
    assert backend.labels(np.array([[-1.0, 1.0]]), np.array(["a"])).tolist() == ["a", "a"]


@pytest.mark.parametrize("n_rows", [1, 3000])
def test_functions_of_a_row_are_compiled_and_run_for_all_rows(backend, n_rows):
    sums = np.arange(2.0 * n_rows).reshape(-1, 2)
    out = backend.each_row(mean_of_trees, sums.shape, sums, 4.0)
    np.testing.assert_array_equal(out, sums / 4.0)


def test_borders_are_of_rows_with_weight(backend):
    x, columns = np.array([[4.0], [1.0], [7.0], [5.0]]), np.array([[1, 0, 3, 1]], np.uint8)
    for weight, highest in ((np.ones(4), 5.0), (np.array([1.0, 1.0, 1.0, 0.0]), 4.0)):
        lower, upper = backend.code_borders(x, weight, columns, np.array([4], np.int32))
        assert lower[0, :3].tolist() == [4.0, np.inf, 7.0]
        assert upper[0, :3].tolist() == [highest, -np.inf, 7.0]


def test_rows_and_bins_of_a_matrix(backend):
    x = np.array([[0.5], [2.0], [np.nan]])
    assert backend.take_rows(x, np.array([1, 1])).tolist() == [[2.0], [2.0]]
    cuts = np.full((1, 256), np.inf)
    cuts[0, 0] = 1.0
    assert backend.bin_columns(x, cuts, np.array([1], np.int32)).tolist() == [[1, 2, 0]]
