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
        (
            [f"u{i}" for i in range(101)] * 20,
            "auto",
            "holds 101 different texts in 2,020 rows, such as 'u0' and 'u99'. If they are classes, "
            "say --task multiclass; if they are numbers, make all of them numbers",
        ),
        ([f"u{i}" for i in range(21)] * 9, "auto", "holds 21 different texts in 189 rows"),
        (
            [f"{i / 10} kg" for i in range(21)] * 10,
            "auto",
            "holds 21 numbers with the unit 'kg', such as '0.0 kg', which is not known: write them",
        ),
    ],
)
def test_tasks_that_a_target_does_not_fit(write, values, task, message):
    with pytest.raises(TableError, match=message):
        settle_target(read(write("x,y\n" + "".join(f"1,{v}\n" for v in values))), "y", task)


def test_many_texts_can_be_classes(write):
    """Up to 100 if there are rows enough for them, and any number if that is said."""
    for n, repeat, task in ((100, 10, "auto"), (21, 2, "multiclass"), (150, 2, "multiclass")):
        rows = "".join(f"1,u{i}\n" for i in range(n)) * repeat
        assert len(settle_target(read(write("x,y\n" + rows)), "y", task).classes) == n
    for texts in ([f"{i}k" for i in range(20)], [f"{i}{'ab'[i % 2]}" for i in range(30)]):
        rows = "".join(f"1,{text}\n" for text in texts) * 10
        assert len(settle_target(read(write("x,y\n" + rows)), "y").classes) == len(texts)


def test_the_reason_names_leading_zeros(write):
    target = settle_target(read(write("x,y\n" + "1,01\n1,1\n" * 5)), "y")
    assert target.reason == "its values are text, as some begin with 0"
    assert target.classes.tolist() == ["01", "1"]
