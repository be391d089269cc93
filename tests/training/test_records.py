"""Records of a grower become trees and records again."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import gpuboost as gb
from gpuboost.training.boosting import Booster

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
X[RNG.random(X.shape) < 0.2] = np.nan
Y = np.nan_to_num(X[:, 0]) + np.isnan(X[:, 2]) + 0.1 * RNG.normal(size=400)
CATEGORIES = np.column_stack([X[:, 0], RNG.integers(0, 100, 400)])


@pytest.mark.parametrize(
    ("x", "options"),
    [
        (X, {}),
        (X, {"grow_policy": "leafwise", "max_leaves": 300, "min_child_weight": 0.0}),
        (csr_array(np.nan_to_num(X)), {}),
        (CATEGORIES, {"categorical_features": [1], "categorical_encoding": "partition"}),
        (X[:, :1], {"max_bins": 2, "max_depth": 1}),
    ],
    ids=["numbers", "many leaves", "sparse", "sets", "missing or not"],
)
def test_there_and_back(x, options, monkeypatch):
    boosters = []
    collect = Booster.collect_trees

    def watched(self, everything):
        if self not in boosters:
            boosters.append(self)
        collect(self, everything)

    monkeypatch.setattr(Booster, "collect_trees", watched)
    gb.GPUBoostRegressor(n_estimators=3, **options).fit(x, Y)
    (booster,) = boosters
    again = booster.reader.trees([booster.reader.records(tree) for tree in booster.trees])
    for one, other in zip(booster.trees, again, strict=True):
        for name, values in vars(one).items():
            np.testing.assert_array_equal(getattr(other, name), values, err_msg=name)
