"""The task that follows from a target."""

import pytest
from table_files import read

from gpuboost.tables import TableError
from gpuboost.tables.target import settle_target


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["no", "yes"] * 5, "binary"),
        (["true", "false"] * 5, "binary"),
        ([0, 1], "binary"),
        ([0, 1, 2] * 10, "multiclass"),
        ([0, 1, 2], "regression"),
        (list(range(21)) * 20, "regression"),
        ([0.5, 1.5] * 50, "regression"),
    ],
)
def test_the_task_follows_from_the_target(write, values, task):
    target = settle_target(read(write("a,y\n" + "".join(f"1,{v}\n" for v in values))), "y")
    assert target.task == task
    if target.classes is not None:
        written = [str(label).lower() for label in target.classes[target.train]]
        assert written == [str(v) for v in values]


@pytest.mark.parametrize(
    ("values", "task", "message"),
    [
        ("aab", "regression", "regression needs numbers"),
        ("abc", "binary", "needs two classes"),
        ("aaa", "auto", "has only one value, a"),
    ],
)
def test_tasks_that_a_target_does_not_fit(write, values, task, message):
    with pytest.raises(TableError, match=message):
        settle_target(read(write("x,y\n" + "".join(f"1,{v}\n" for v in values))), "y", task)
