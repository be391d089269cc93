"""What any fitted model must satisfy."""

import numpy as np


def check_model(model, n_rows=None):
    """Counts and hessians of children add up to their parent's; values and gains are finite.

    Shapes fit.
    """
    ensemble = model.ensemble_
    for tree in ensemble.trees:
        inner = tree.left >= 0
        left, right = tree.left[inner], tree.right[inner]
        assert (left > np.flatnonzero(inner)).all() and (right > np.flatnonzero(inner)).all()
        np.testing.assert_array_equal(tree.count[inner], tree.count[left] + tree.count[right])
        np.testing.assert_allclose(
            tree.cover[inner], tree.cover[left] + tree.cover[right], rtol=1e-9
        )
        assert (tree.count > 0).all()
        assert np.isfinite(tree.value).all() and np.isfinite(tree.gain).all()
        assert (tree.feature[inner] >= 0).all() and (
            tree.feature[inner] < ensemble.n_features
        ).all()
        assert (tree.feature[~inner] == -1).all()
        assert tree.n_leaves == (~inner).sum()
        if n_rows is not None:
            assert tree.count[0] == n_rows
    return model
