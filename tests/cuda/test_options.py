"""Every parameter of the estimators on every device.

It works, with the same model, or ``fit`` raises. docs/options.md is made from this.

``PYTHONPATH=. GPUBOOST_EMULATE_CUDA=1 python tests/cuda/test_options.py`` writes the page anew.
"""

import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import workload

from gpuboost import GPUBoostClassifier, GPUBoostRegressor

pytestmark = pytest.mark.usefixtures("device")
PAGE = Path(__file__).parents[2] / "docs" / "options.md"
ESTIMATORS = {"GPUBoostRegressor": GPUBoostRegressor, "GPUBoostClassifier": GPUBoostClassifier}

#: A value other than the default for every parameter, with others that it needs to have an effect.
VALUES = {
    "objective": {},  # the regressor has one; the classifier's other one is in test_parity.py
    "n_estimators": {"n_estimators": 3},
    "learning_rate": {"learning_rate": 0.5},
    "max_depth": {"max_depth": 2},
    "max_leaves": {"max_leaves": 5},
    "leaves_per_step": {
        "leaves_per_step": 3,
        "grow_policy": "leafwise",
        "max_leaves": 6,
        "max_depth": None,
    },
    "grow_policy": {"grow_policy": "symmetric"},
    "max_bins": {"max_bins": 16},
    "min_child_weight": {"min_child_weight": 30.0},
    "min_samples_leaf": {"min_samples_leaf": 100},
    "min_split_gain": {"min_split_gain": 100.0},
    "reg_lambda": {"reg_lambda": 20.0},
    "reg_alpha": {"reg_alpha": 3.0},
    "max_delta_step": {"max_delta_step": 0.1},
    "subsample": {"subsample": 0.5},
    "colsample_bytree": {"colsample_bytree": 0.5},
    "colsample_bylevel": {"colsample_bylevel": 0.5},
    "colsample_bynode": {"colsample_bynode": 0.5},
    "early_stopping_rounds": {"early_stopping_rounds": 1, "learning_rate": 1.0, "n_estimators": 8},
    "eval_metric": {"eval_metric": "mae"},
    "class_weight": {"class_weight": "balanced"},
    "importance_type": {"importance_type": "split"},
    "device": {},
    "n_jobs": {"n_jobs": 2},
    "random_state": {"random_state": 5, "subsample": 0.8},
    "verbose": {"verbose": 1},
}
#: Parameters that do not change the model.
SAME_MODEL = {"objective", "eval_metric", "importance_type", "device", "n_jobs", "verbose"}


def train(kind, device, options):
    x, signal, _ = workload.data(n=1500)
    y = signal if kind is GPUBoostRegressor else (signal > 0.5).astype(int)
    if kind is GPUBoostClassifier and options.get("eval_metric"):
        options = {**options, "eval_metric": "error"}
    evals = x[:300], y[300:600]  # targets of other rows: the metric soon gets worse
    return kind(**{"n_estimators": 2, "max_depth": 3, **options, "device": device}).fit(
        x, y, eval_set=evals
    )


def cases():
    return [(e, p) for e, kind in ESTIMATORS.items() for p in inspect.signature(kind).parameters]


def outcome(estimator, parameter):
    """What the CUDA engine does with a parameter."""
    kind, options = ESTIMATORS[estimator], VALUES[parameter]
    cpu = train(kind, "cpu", options)
    cuda = train(kind, "cuda", options)
    assert cuda.evals_result_ == cpu.evals_result_
    np.testing.assert_array_equal(cuda.feature_importances_, cpu.feature_importances_)
    assert cuda.fingerprint() == cpu.fingerprint()
    others = {name: value for name, value in options.items() if name != parameter}
    changed = cpu.fingerprint() != train(kind, "cpu", others).fingerprint()
    assert changed != (parameter in SAME_MODEL), (
        "the value must show that the parameter is not ignored"
    )
    return "same model"


@pytest.mark.parametrize(("estimator", "parameter"), cases())
def test_every_parameter_works_on_cuda(estimator, parameter, capsys):
    assert outcome(estimator, parameter) in page()


def page():
    """The table of options and devices."""
    lines = [
        "# Options and devices",
        "",
        "Made from `tests/cuda/test_options.py`, which trains with each of these on both devices.",
        "",
    ]
    lines += ["| parameter | estimators | cpu | cuda |", "|---|---|---|---|"]
    for parameter in VALUES:
        own = ", ".join(e for e, p in cases() if p == parameter)
        lines.append(f"| `{parameter}` | {own} | works | same model |")
    return "\n".join(lines) + "\n"


def test_the_page_is_up_to_date():
    assert {p for _, p in cases()} == set(VALUES)
    assert PAGE.read_text() == page()


if __name__ == "__main__":
    PAGE.write_text(page())
