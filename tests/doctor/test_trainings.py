"""The trainings of a full run."""

from dataclasses import replace

import numpy as np
import ptx_cases
import pytest

import gpuboost
from gpuboost.doctor import trainings
from gpuboost.doctor.checks import FAILED, PASSED, Sizes
from gpuboost.doctor.operations import OPERATIONS, run_operation
from gpuboost.doctor.trainings import TRAININGS, Data, first_difference, run_training
from gpuboost.kernels.cuda import tree_steps
from gpuboost.kernels.emulation import control

SIZES = Sizes(small=300, large=600, rates=300)


def test_all_estimators_are_trained_with_parameters_that_they_have():
    estimators = {name for name in gpuboost.__all__ if name.endswith(("Classifier", "Regressor"))}
    assert {t.estimator for t in TRAININGS.values()} == estimators and len(estimators) == 10
    for training in TRAININGS.values():
        kind = getattr(gpuboost, training.estimator)
        assert set(training.options) <= set(kind().get_params())


@pytest.mark.parametrize("name", ["boosting, weights", "boosting, X on the device"])
def test_a_training_on_the_emulated_device(monkeypatch, name):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    check = run_training(name, SIZES)
    assert check.state == PASSED and check.figures["cpu"] == check.figures["cuda"]
    assert check.figures["rows"] == 300 and check.figures["cpu"][:16] in check.detail


#: Some of the checks, which together launch every kernel.
OF_ALL_KERNELS = (
    "cuts of columns, weighted", "codes and their borders", "rows taken", "gradients, log_loss",
    "gradients of groups", "metric auc", "metric logloss (logistic)", "metric mlogloss (softmax)",
    "predictions", "leaves, out-of-bag sums and medians", "GPUBoostClassifier, five, symmetric",
    "boosting, columns drawn", "boosting, rules of features, symmetric", "boosting, rows drawn",
    "boosting, sparse matrix, leafwise", "boosting, leaves of several outputs",
    "boosting, rows drawn by size", "boosting, rows drawn, large gradients kept",
    "boosting, groups drawn, out of bag", "boosting, categories, leafwise",
    "boosting, categories, symmetric", "boosting, absolute error, monotone",
    "boosting, adaptive Huber",
    "tree, many rows", "tree, categories",
    "tree, cuts in the middle", "RandomForestRegressor",
)  # fmt: skip


def test_every_kernel_is_launched(monkeypatch):
    """But for one that no GPU needs: they all have shared memory for a histogram."""
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    monkeypatch.setattr(tree_steps, "TILE_ROWS", 256)
    control.counters.reset()
    for name in OF_ALL_KERNELS:
        run = run_operation if name in OPERATIONS else run_training
        assert run(name, SIZES).state == PASSED, name
    assert ptx_cases.kernels() - set(control.counters.launches) == {"build_histograms_global"}


def test_another_model_is_a_failure_that_says_where(monkeypatch):
    fit = Data.fit

    def other_on_cuda(self, training, device):
        own = training if device == "cpu" else replace(training, options={"max_depth": 2})
        return fit(self, own, "cpu")

    monkeypatch.setattr(trainings.Data, "fit", other_on_cuda)
    check = run_training("GPUBoostRegressor, values, depthwise", SIZES)
    assert check.state == FAILED
    assert check.detail == "the model is NOT the CPU's: 100 trees instead of 4"


def test_the_first_difference_of_trees_is_named():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 3))
    model = gpuboost.GPUBoostRegressor(n_estimators=2, max_depth=2).fit(x, x[:, 0])
    first, second = trees = model.ensemble_.trees
    value = second.value.copy()
    value[1] += 1.0
    assert "tree 1 is the first that differs, its node 1 in value" in first_difference(
        trees, [first, replace(second, value=value)]
    )
    small = gpuboost.GPUBoostRegressor(n_estimators=2, max_depth=1).fit(x, x[:, 0]).ensemble_.trees
    assert first_difference(trees, small).startswith("tree 0 is the first that differs: 3 nodes")
    assert "not what else" in first_difference(trees, trees)
