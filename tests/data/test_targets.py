"""Targets of classical trees."""

import numpy as np

from gpuboost.data.targets import TreeTargets


def test_classes_of_several_outputs_have_channels_one_after_another():
    targets = TreeTargets.of_classes(np.array([[0, 1], [2, 0]]), [3, 2])
    np.testing.assert_array_equal(targets.classes, [[0, 4], [2, 3]])
    assert targets.first_channel.tolist() == [0, 3, 5]
    assert (targets.n_outputs, targets.n_channels) == (2, 5)
    assert [part.shape for part in targets.ranks] == [(0, 2), (0, 2)]


def test_a_value_has_one_channel_and_a_rank_among_its_output():
    y = np.array([[5.0, 1.0], [2.0, 1.0], [5.0, 3.0]])
    targets = TreeTargets.of_values(y)
    assert targets.first_channel.tolist() == [0, 1, 2]
    rank, by_rank = targets.ranks
    np.testing.assert_array_equal(rank, [[1, 0], [0, 0], [1, 1]])
    np.testing.assert_array_equal(np.take_along_axis(by_rank, rank, axis=0), y)


def test_some_rows_by_number_or_mask():
    for targets in (
        TreeTargets.of_values(np.arange(6.0).reshape(3, 2)),
        TreeTargets.of_classes(np.arange(3)[:, None], [3]),
    ):
        some, same = targets.of_rows(np.array([0, 2])), targets.of_rows(np.array([1, 0, 1]) > 0)
        for name in ("classes", "y", "first_channel"):
            np.testing.assert_array_equal(getattr(some, name), getattr(same, name))
        assert len(some.y) + len(some.classes) == 2
