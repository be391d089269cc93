"""Parameters on the command line."""

import pytest

from gpuboost import GPUBoostClassifier, RandomForestRegressor
from gpuboost.cli.common import CliError
from gpuboost.cli.parameters import candidates, check_parameters, make_model, read_parameters


def test_values_are_those_of_toml_and_other_text_is_itself():
    assert read_parameters(None, ["a=3", "b = 0.5", "c=true", "d=[1, 2]", "e=gini", "f='x=y'"]) == {
        "a": 3, "b": 0.5, "c": True, "d": [1, 2], "e": "gini", "f": "x=y",
    }  # fmt: skip
    assert read_parameters(None, ["a=none", "b=null", "c=True"]) == {
        "a": None,
        "b": None,
        "c": True,
    }


def test_the_line_wins_over_the_file(tmp_path):
    path = tmp_path / "parameters.toml"
    path.write_text('max_depth = 4\ncriterion = "none"\n')
    assert read_parameters(str(path), ["max_depth=7"]) == {"max_depth": 7, "criterion": None}
    path.write_text("max_depth 4")
    with pytest.raises(CliError, match="not a valid TOML file"):
        read_parameters(str(path), [])


@pytest.mark.parametrize("assignment", ["max_depth", "=4", " = 4"])
def test_what_is_no_assignment(assignment):
    with pytest.raises(CliError, match="is no parameter: write name=value"):
        read_parameters(None, [assignment])


def test_tasks_have_their_estimators():
    assert candidates("boost", "binary") == [GPUBoostClassifier]
    assert candidates("forest", "regression") == [RandomForestRegressor]
    assert len(candidates("tree", "auto")) == 2


@pytest.mark.parametrize(
    ("model", "task", "parameters", "message"),
    [
        ("boost", "auto", {"max_dept": 3}, r"no parameter 'max_dept' \(did you mean 'max_depth'"),
        ("boost", "auto", {"max_depth": 0}, "max_depth must be an integer at least 1"),
        ("boost", "auto", {"eval_metric": "speed"}, "speed"),
        ("boost", "auto", {"early_stopping_rounds": 3}, "needs rows to watch"),
        ("boost", "regression", {"class_weight": "balanced"}, "has no parameter 'class_weight'"),
    ],
)
def test_parameters_are_checked_before_anything_is_read(model, task, parameters, message):
    with pytest.raises((CliError, ValueError), match=message):
        check_parameters(model, task, parameters, has_valid=False)


def test_what_one_of_the_estimators_takes_is_fine_until_the_task_is_settled():
    check_parameters("boost", "auto", {"class_weight": "balanced"}, has_valid=False)
    with pytest.raises(CliError, match="GPUBoostRegressor has no parameter 'class_weight'"):
        make_model("boost", "regression", {"class_weight": "balanced"}, None)


def test_class_weights_are_for_the_numbers_of_the_classes():
    model = make_model("tree", "binary", {"class_weight": {"b": 2.0}}, ["a", "b"])
    assert model.class_weight == {1: 2.0}
    with pytest.raises(CliError, match="class_weight names 'c', which is no class"):
        make_model("tree", "binary", {"class_weight": {"c": 2.0}}, ["a", "b"])
