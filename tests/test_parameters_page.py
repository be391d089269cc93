"""The tables of docs/parameters.md are what the signatures and the installed libraries say.

``PYTHONPATH=. python tests/test_parameters_page.py`` writes them anew.
"""

import inspect
import json
import re
from functools import cache
from pathlib import Path

import lightgbm
import numpy as np
import sklearn.ensemble
import sklearn.tree
import xgboost

import gpuboost as gb

PAGE = Path(__file__).parents[1] / "docs" / "parameters.md"
NONE = "–"
#: Asked before any test trains with XGBoost, which takes the setting for the whole process from a
#: model's parameters.
XGBOOST_VERBOSITY = xgboost.get_config()["verbosity"]

#: Our parameter: its names in XGBoost, LightGBM and scikit-learn's HistGradientBoosting. A text in
#: round brackets is shown as it is.
NAMES = {
    "objective": ("objective", "objective", "loss"),
    "gamma": (None, None, None),
    "base_score": ("base_score", "boost_from_average", None),
    "n_estimators": ("n_estimators", "n_estimators", "max_iter"),
    "learning_rate": ("learning_rate", "learning_rate", "learning_rate"),
    "max_depth": ("max_depth", "max_depth", "max_depth"),
    "max_leaves": ("max_leaves", "num_leaves", "max_leaf_nodes"),
    "leaves_per_step": (None, None, None),
    "grow_policy": ("grow_policy", "(always leaf-wise)", "(always leaf-wise)"),
    "max_bins": ("max_bin", "max_bin", "max_bins"),
    "min_child_weight": ("min_child_weight", "min_child_weight", None),
    "min_samples_leaf": (None, "min_child_samples", "min_samples_leaf"),
    "min_split_gain": ("gamma", "min_split_gain", None),
    "prune": ("(always)", None, None),
    "reg_lambda": ("reg_lambda", "reg_lambda", "l2_regularization"),
    "reg_alpha": ("reg_alpha", "reg_alpha", None),
    "max_delta_step": ("max_delta_step", "max_delta_step", None),
    "subsample": ("subsample", "subsample", None),
    "sampling_method": ("sampling_method", "data_sample_strategy", None),
    "top_rate": (None, "top_rate", None),
    "oob_score": (None, None, None),
    "colsample_bytree": ("colsample_bytree", "colsample_bytree", None),
    "colsample_bylevel": ("colsample_bylevel", None, None),
    "colsample_bynode": ("colsample_bynode", "feature_fraction_bynode", "max_features"),
    "multi_strategy": ("multi_strategy", None, None),
    "categorical_features": (
        "(dtypes of `DMatrix`, `enable_categorical`)",
        "(`categorical_feature` of `fit`)",
        "categorical_features",
    ),
    "unknown_category": (None, None, None),
    "categorical_encoding": (None, None, None),
    "cat_smooth": (None, "cat_smooth", None),
    "max_cat_to_onehot": ("max_cat_to_onehot", "max_cat_to_onehot", None),
    "max_cat_threshold": ("max_cat_threshold", "max_cat_threshold", None),
    "min_data_per_category": (None, "min_data_per_group", None),
    "monotone_constraints": ("monotone_constraints", "monotone_constraints", "monotonic_cst"),
    "interaction_constraints": (
        "interaction_constraints",
        "(`interaction_constraints`)",
        "interaction_cst",
    ),
    "feature_weights": ("(`feature_weights` None)", None, None),
    "feature_penalties": (None, "(`cegb_penalty_feature_coupled`)", None),
    "forced_splits": (None, "(`forcedsplits_filename`)", None),
    "early_stopping_rounds": ("early_stopping_rounds", "early_stopping_round", "n_iter_no_change"),
    "min_delta": ("(`min_delta` of `EarlyStopping`)", "early_stopping_min_delta", "tol"),
    "stopping_metric": (
        "(`metric_name` of `EarlyStopping`)",
        "(`first_metric_only`)",
        None,
    ),
    "stopping_set": ("(`data_name` of `EarlyStopping`)", None, None),
    "validation_fraction": (None, None, "validation_fraction"),
    "validation_split": (None, None, None),
    "refit": (None, None, None),
    "warm_start": ("(`xgb_model` of `fit`)", "(`init_model` of `fit`)", "warm_start"),
    "max_time": (None, None, None),
    "boosting": ("booster", "boosting_type", None),
    "rate_drop": ("(`rate_drop` 0)", "drop_rate", None),
    "skip_drop": ("(`skip_drop` 0)", "skip_drop", None),
    "normalize_type": ('(`normalize_type` "tree")', "xgboost_dart_mode", None),
    "callbacks": ("(`callbacks`)", "(`callbacks` of `fit`)", None),
    "eval_metric": ("eval_metric", "(`eval_metric` of `fit`)", "scoring"),
    "class_weight": ("scale_pos_weight", "class_weight", "class_weight"),
    "importance_type": ("importance_type", "importance_type", None),
    "date_features": (None, None, None),
    "sparse_missing": ("(always)", "zero_as_missing", None),
    "device": ("device", "device_type", None),
    "n_jobs": ("n_jobs", "n_jobs", "(environment variables)"),
    "random_state": ("random_state", "random_state", "random_state"),
    "verbose": ("verbosity", "verbosity", "verbose"),
}


#: Parameters of losses of numbers.
OF_REGRESSION = {"alpha", "delta", "power"}


def defaults(estimator):
    return {
        name: p.default
        for name, p in inspect.signature(estimator).parameters.items()
        if p.kind is not p.VAR_KEYWORD
    }


@cache
def xgboost_defaults():
    """The estimator says None for most; a trained model's configuration says what that means."""
    model = xgboost.XGBClassifier(n_estimators=1).fit(np.eye(4), [0, 1, 0, 1])
    found = {}

    def collect(part):
        for name, value in part.items():
            collect(value) if isinstance(value, dict) else found.setdefault(name, value)

    collect(json.loads(model.get_booster().save_config()))
    own = {
        name: getattr(xgboost.XGBClassifier(), name)
        for name in ("early_stopping_rounds", "eval_metric", "importance_type")
    }
    rounds = xgboost.XGBClassifier().get_num_boosting_rounds()
    return found | own | {"n_estimators": rounds, "verbosity": XGBOOST_VERBOSITY}


@cache
def lightgbm_defaults():
    """The estimator's signature; what it does not name is in a trained model's configuration."""
    data = lightgbm.Dataset(np.arange(40.0).reshape(-1, 1), label=np.arange(40) % 2)
    text = lightgbm.train({"min_data_in_leaf": 1}, data, num_boost_round=1).model_to_string()
    found = dict(re.findall(r"^\[(\w+): (.*)\]$", text, re.M))
    return found | defaults(lightgbm.LGBMClassifier)


def shown(value):
    if isinstance(value, str):
        try:
            return f"{float(value):.6g}"
        except ValueError:
            return f'"{value}"'
    return str(value)


def cell(name, known):
    if name is None:
        return NONE
    return name[1:-1] if name.startswith("(") else f"`{name}` {shown(known[name])}"


def boosting_table():
    """Every parameter of GPUBoostClassifier; the regressor has the same but for class_weight."""
    versions = (
        f"XGBoost {xgboost.__version__} | LightGBM {lightgbm.__version__} | "
        f"scikit-learn {sklearn.__version__}"
    )
    lines = [f"| gpuboost | {versions} |", "|---|---|---|---|"]
    known = (
        xgboost_defaults(),
        lightgbm_defaults(),
        defaults(sklearn.ensemble.HistGradientBoostingClassifier),
    )
    for name, default in defaults(gb.GPUBoostClassifier).items():
        peers = [cell(own, values) for own, values in zip(NAMES[name], known, strict=True)]
        lines.append(f"| `{name}` {shown(default)} | {' | '.join(peers)} |")
    return lines


def classical_table(ours, theirs):
    """Parameters of one of our estimators beside those of the same name in scikit-learn."""
    own, other = defaults(ours), defaults(theirs)
    lines = [f"| parameter | gpuboost | scikit-learn {sklearn.__version__} |", "|---|---|---|"]
    for name in [*own, *(name for name in other if name not in own)]:
        lines.append(
            f"| `{name}` | {shown(own[name]) if name in own else NONE} | "
            f"{shown(other[name]) if name in other else NONE} |"
        )
    return lines


def tables():
    return {
        "boosting": boosting_table(),
        "forest": classical_table(
            gb.RandomForestClassifier, sklearn.ensemble.RandomForestClassifier
        ),
        "tree": classical_table(gb.DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier),
    }


def page():
    """The page with its tables made anew."""
    text = PAGE.read_text()
    for name, lines in tables().items():
        begin, end = f"<!-- table {name} -->", "<!-- end of table -->"
        head, _, rest = text.partition(begin)
        text = "\n".join([head + begin, "", *lines, "", end]) + rest.partition(end)[2]
    return text


def ours(text):
    """What the tables of a page say about our parameters."""
    cells = [line.split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return [
        row[:1] if len(row) == 4 else row[:2] for row in cells if row[1] != NONE or len(row) == 4
    ]


def test_the_page_is_up_to_date():
    """In every word with the versions that it names; with others, in what it says about us.

    Another library may change its defaults.
    """
    now = page()
    assert ours(PAGE.read_text()) == ours(now)
    if boosting_table()[0] in PAGE.read_text():
        assert PAGE.read_text() == now


def test_every_boosting_parameter_is_in_the_table():
    assert (
        set(NAMES)
        == set(defaults(gb.GPUBoostClassifier))
        == {"class_weight", "gamma", *defaults(gb.GPUBoostRegressor)} - OF_REGRESSION
    )


def test_shared_parameters_have_one_default():
    """The page shows classifiers; regressors differ in what it says they differ."""
    for one, other in (
        (gb.GPUBoostClassifier, gb.GPUBoostRegressor),
        (gb.RandomForestClassifier, gb.RandomForestRegressor),
        (gb.DecisionTreeClassifier, gb.DecisionTreeRegressor),
    ):
        a, b = defaults(one), defaults(other)
        assert {name for name in a.keys() & b.keys() if a[name] != b[name]} <= {
            "objective",
            "criterion",
            "max_features",
        }


if __name__ == "__main__":
    PAGE.write_text(page())
