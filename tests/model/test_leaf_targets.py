"""Training targets by leaves."""

import numpy as np

from gpuboost import RandomForestRegressor


def test_every_leaf_has_its_rows_with_shares_that_add_up_to_one(rng):
    x, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    model = RandomForestRegressor(n_estimators=3, max_depth=3, keep_targets=True).fit(x, y)
    kept, leaves = model.leaf_targets_, model.apply(x)
    np.testing.assert_array_equal(kept.by_rank[kept.rank[:, 0], 0], y)
    for t, tree in enumerate(model.ensemble_.trees):
        counts = model.bag_counts(t)
        for node in range(len(tree.left)):
            span = slice(*kept.begin[kept.first_node[t] + node :][:2])
            own = kept.rows[span]
            expected = np.flatnonzero((leaves[:, t] == node) & (counts > 0))
            np.testing.assert_array_equal(np.sort(own), expected)
            if len(own):
                np.testing.assert_allclose(kept.share[span], counts[own] / counts[own].sum())


def test_quantiles_of_leaves_of_one_value_are_this_value(rng):
    x = np.repeat([0.0, 1.0], 20)[:, None]
    model = RandomForestRegressor(n_estimators=3, keep_targets=True).fit(x, 5.0 * x[:, 0])
    found = model.predict_quantiles([[0.0], [1.0]], [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(found, [[0.0] * 3, [5.0] * 3])
