import pytest

from gpuboost.config import NO_DEPTH_LIMIT, NO_LEAF_LIMIT, RANGES, BoostParams
from gpuboost.dtypes import DEPTHWISE, LEAFWISE, SYMMETRIC

BAD = {
    "n_estimators": [0, -1, 1.5, "10", True, 2**31],
    "learning_rate": [0, -0.1, float("nan"), float("inf"), "fast", 10**400],
    "max_depth": [0, 2.5],
    "max_leaves": [1, 2.5],
    "leaves_per_step": [0, 1.5, None],
    "max_bins": [1, 257, 3.5],
    "min_child_weight": [-1, float("nan")],
    "min_samples_leaf": [0, 0.5],
    "min_split_gain": [-1e-9],
    "reg_lambda": [-1],
    "reg_alpha": [-1],
    "max_delta_step": [-1],
    "subsample": [0, 1.1],
    "top_rate": [0, 1.1, "much"],
    "colsample_bytree": [0, 1.1],
    "colsample_bylevel": [0, 1.1],
    "colsample_bynode": [0, 1.1],
    "cat_smooth": [-1, float("nan")],
    "max_cat_to_onehot": [-1, 1.5],
    "max_cat_threshold": [0, 1.5],
    "min_data_per_category": [0, 1.5],
    "early_stopping_rounds": [0, 1.5],
    "min_delta": [-1, float("nan"), None],
    "stopping_metric": [3],
    "stopping_set": [["a"]],
    "validation_fraction": [0, 1.0, "much"],
    "validation_split": ["first", None],
    "refit": [None, 1],
    "max_time": [0, -1.0, "long"],
    "prune": [None, 1],
    "boosting": ["goss", None],
    "rate_drop": [0, 1.5],
    "skip_drop": [-0.1, 1.1],
    "normalize_type": ["both", None],
    "verbose": [-1, None],
    "grow_policy": ["lossguide", None],
    "sampling_method": ["gradient_based", None],
    "multi_strategy": ["multi_output_tree", None],
}


def test_every_parameter_has_a_case():
    assert (
        set(BAD)
        == set(RANGES)
        | {"grow_policy", "sampling_method", "multi_strategy", "validation_split", "refit"}
        | {"stopping_metric", "stopping_set", "prune", "boosting", "normalize_type"}
        == set(BoostParams.__dataclass_fields__)
    )


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n, values in BAD.items() for v in values], ids=str
)
def test_bad_values_are_named(name, value):
    with pytest.raises((ValueError, TypeError), match=name) as error:
        BoostParams(**{name: value})
    assert repr(value) in str(error.value)


def test_symmetric_growth_takes_no_leaf_limit_and_no_great_depth():
    with pytest.raises(ValueError, match="max_leaves"):
        BoostParams(grow_policy="symmetric", max_leaves=8)
    with pytest.raises(ValueError, match="max_depth"):
        BoostParams(grow_policy="symmetric", max_depth=17)


@pytest.mark.parametrize("policy", ["depthwise", "symmetric"])
def test_several_leaves_per_step_are_for_leafwise_growth(policy):
    with pytest.raises(ValueError, match=f"leaves_per_step must be 1 with .*'{policy}'.*; got 3"):
        BoostParams(grow_policy=policy, leaves_per_step=3)
    assert BoostParams(grow_policy="leafwise", leaves_per_step=3).leaves_per_step == 3


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, DEPTHWISE),
        ({"n_estimators": 2000}, DEPTHWISE),
        ({"n_estimators": 2000, "early_stopping_rounds": 50}, SYMMETRIC),
        ({"n_estimators": 1000, "early_stopping_rounds": 50, "learning_rate": 0.05}, SYMMETRIC),
        ({"n_estimators": 400, "early_stopping_rounds": 50}, DEPTHWISE),
        ({"n_estimators": 2000, "early_stopping_rounds": 50, "max_leaves": 20}, DEPTHWISE),
        ({"n_estimators": 2000, "early_stopping_rounds": 50, "max_depth": 17}, DEPTHWISE),
        (
            {"n_estimators": 2000, "early_stopping_rounds": 50, "grow_policy": "leafwise"},
            LEAFWISE,
        ),
    ],
    ids=str,
)
def test_trees_are_symmetric_by_default_if_data_says_when_to_stop(given, expected):
    assert BoostParams(**given).order == expected


def test_several_leaves_per_step_are_not_taken_by_default():
    with pytest.raises(ValueError, match="leaves_per_step must be 1 with grow_policy='auto'"):
        BoostParams(leaves_per_step=3, early_stopping_rounds=5, n_estimators=2000)


def test_verbose_takes_a_flag():
    assert BoostParams(verbose=True).verbose == 1


def test_limits_follow_the_policy():
    assert BoostParams().depth_limit == 6
    assert BoostParams(grow_policy="leafwise").leaf_limit == 31
    assert BoostParams(grow_policy="leafwise").depth_limit > 10**5
    assert BoostParams(grow_policy="leafwise", max_depth=3).depth_limit == 3


@pytest.mark.parametrize("huge", [2**31, 10**30, 10**400])
def test_limits_beyond_all_trees_are_none(huge):
    params = BoostParams(
        grow_policy="leafwise",
        max_depth=huge,
        max_leaves=huge,
        leaves_per_step=huge,
        early_stopping_rounds=huge,
    )
    assert params.depth_limit == NO_DEPTH_LIMIT and params.leaf_limit == NO_LEAF_LIMIT


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampling_method": "mvs"}, "sampling_method='mvs' needs a subsample below 1.*=1.0"),
        ({"subsample": 0.5, "top_rate": 0.2}, "top_rate must be None with .*'uniform'.*got 0.2"),
        (
            {"subsample": 0.3, "sampling_method": "goss", "top_rate": 0.4},
            "top_rate must be at most subsample=0.3.*got 0.4",
        ),
    ],
)
def test_nothing_is_said_of_a_sample_that_is_not_drawn(options, message):
    with pytest.raises(ValueError, match=message):
        BoostParams(**options)
