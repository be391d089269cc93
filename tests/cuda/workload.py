"""Small trainings that together run every kernel in every way.

What check mode and the mutation score are run on.
"""

from unittest import mock

import numpy as np
from scipy.sparse import csr_array

from gpuboost import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GPUBoostClassifier,
    GPUBoostRegressor,
    RandomForestClassifier,
)
from gpuboost.kernels.cuda import tree_steps


def data(n=2600, n_features=18, seed=0):
    """Rows over three tiles, two groups of features, some values missing."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features)).astype(np.float32)
    x[:, 5] = np.round(x[:, 5])
    signal = x[:, 0] + x[:, 5] * x[:, 17] + 0.3 * rng.normal(size=n)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x, signal, rng.exponential(size=n)


def with_categories(n=500):
    """Numbers, a column of few categories and one of more than a block has threads."""
    x, signal, weight = data(n)
    x = x[:, :4]
    rng = np.random.default_rng(1)
    x[:, 1] = np.round(2 * x[:, 1])
    x[:, 2], x[:, 3] = rng.integers(0, 6, n), rng.integers(0, 500, n)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x, signal + np.sin(np.nan_to_num(x[:, 3])), weight


def trees_of_other_kinds():
    """The same for splits that numbers in bins do not have."""
    x, signal, weight = with_categories()
    labels = np.digitize(signal, [-0.7, 0.7])
    nominal = {"categorical_features": [2, 3], "random_state": 1}

    def categories_in_order(device):
        return DecisionTreeClassifier(
            splitter="hist", max_depth=3, max_bins=20, device=device, **nominal
        ).fit(x, labels, sample_weight=weight)

    def categories_in_all_ways(device):
        return DecisionTreeRegressor(
            splitter="hist",
            criterion="absolute_error",
            categorical_split="exhaustive",
            max_depth=3,
            categorical_features=[2],
            random_state=1,
            device=device,
        ).fit(x[:300, :3], signal[:300])

    def categories_by_chance(device):
        return ExtraTreesClassifier(2, max_depth=3, device=device, **nominal).fit(x, labels)

    def distances(device):
        return DecisionTreeRegressor(
            splitter="hist",
            criterion="absolute_error",
            categorical_split="one_vs_rest",
            max_depth=2,
            max_bins=9,
            device=device,
            **nominal,
        ).fit(x, np.stack([signal, np.round(signal)], axis=1), sample_weight=weight)

    def halves(device):
        model = DecisionTreeClassifier(
            splitter="midpoint",
            feature_probabilities=[1, 1, 1, 2],
            max_depth=4,
            device=device,
            random_state=1,
        )
        with mock.patch.object(tree_steps, "MAX_DRAWING", 2):  # a block draws for several nodes
            return model.fit(x, labels)

    return {
        "categories in order": categories_in_order,
        "categories in all ways": categories_in_all_ways,
        "categories by chance": categories_by_chance,
        "distances": distances,
        "halves": halves,
    }


class AllOf:
    """Several models that are compared as one."""

    def __init__(self, models):
        self.models = models

    def fingerprint(self):
        """Those of all, and what they say of their evaluation sets."""
        return str([(model.fingerprint(), model.evals_result_) for model in self.models])


def trainings():
    """{name: function of the device that returns a fitted model}."""
    x, signal, weight = data()
    labels = (signal > 0).astype(int)
    small = {"n_estimators": 3, "random_state": 1}
    few = {"n_estimators": 1, "random_state": 1}

    def depthwise(device):
        model = GPUBoostClassifier(
            max_depth=4,
            min_samples_leaf=20,
            colsample_bylevel=0.7,
            colsample_bynode=0.8,
            eval_metric=["logloss", "auc"],
            device=device,
            **small,
        )
        return model.fit(x, labels, sample_weight=weight, eval_set=(x[:1300], labels[:1300]))

    def leafwise(device):
        model = GPUBoostRegressor(
            grow_policy="leafwise",
            max_leaves=7,
            leaves_per_step=2,
            subsample=0.6,
            device=device,
            **small,
        )
        return model.fit(x, signal)

    def symmetric(device):
        options = {
            "grow_policy": "symmetric",
            "max_depth": 3,
            "colsample_bytree": 0.7,
            "min_samples_leaf": 3,
        }
        return GPUBoostClassifier(**options, device=device, **small).fit(
            x, np.digitize(signal, [-0.5, 0.5])
        )

    def leaves_of_several_values(device):
        return GPUBoostClassifier(
            max_depth=3, multi_strategy="vector_leaf", device=device, **small
        ).fit(x, np.digitize(signal, [-0.5, 0.5]), sample_weight=weight)

    def symmetric_without_missing_values(device):
        return GPUBoostRegressor(grow_policy="symmetric", max_depth=3, device=device, **small).fit(
            np.nan_to_num(x), signal
        )

    def stored_values(device):
        few = csr_array(np.where(np.abs(x[:900]) < 1.0, 0.0, x[:900]))
        model = GPUBoostRegressor(max_depth=3, min_samples_leaf=3, device=device, **small)
        return model.fit(few, signal[:900], sample_weight=weight[:900])

    def stored_values_symmetric(device):
        few = csr_array(np.where(np.abs(x[:900]) < 1.0, 0.0, x[:900]))
        options = {"grow_policy": "symmetric", "min_samples_leaf": 3, "max_depth": 3}
        return GPUBoostClassifier(**options, device=device, **small).fit(few, labels[:900])

    def monotone(device):
        options = {"max_depth": 4, "monotone_constraints": {0: 1, 5: -1}, "subsample": 0.8}
        return GPUBoostRegressor(**options, device=device, **small).fit(x, signal)

    def categories(device):
        """One split for each node, and one for each level; rows that are evaluated walk the trees."""
        coded = x[:, :6].copy()
        coded[:, 3], coded[:, 4] = np.round(x[:, 3]), np.round(20 * x[:, 4])
        options = {"categorical_features": [3, 4, 5], "min_samples_leaf": 3, "max_depth": 3}
        models = [
            GPUBoostRegressor(grow_policy=policy, device=device, **options, **small).fit(
                coded, signal, eval_set=(coded, signal)
            )
            for policy in ("depthwise", "symmetric")
        ]
        return AllOf(models)

    def rules_of_features(device):
        """A tree that begins with splits that are given, and levels that do."""
        rules = {
            "interaction_constraints": [[0, 5, 17], [1, 2, 5]],
            "feature_weights": {0: 5.0, 3: 0.0},
            "feature_penalties": {0: 9.0, 17: 3.0},
            "colsample_bytree": 0.8,
            "colsample_bynode": 0.7,
        }
        root, below = {"feature": 5, "threshold": 0}, {"feature": 1, "threshold": 0.5}
        forced = {"depthwise": root | {"left": below}, "symmetric": [root, below]}
        models = [
            GPUBoostRegressor(
                grow_policy=policy, forced_splits=splits, max_depth=3, device=device, **rules, **few
            ).fit(x[:700], signal[:700])
            for policy, splits in forced.items()
        ]
        return AllOf(models)

    def rows_by_gradients(device):
        models = [
            GPUBoostRegressor(
                sampling_method=method, subsample=0.4, max_depth=2, device=device, **few
            ).fit(x[:700], signal[:700])
            for method in ("goss", "mvs")
        ]
        return AllOf(models)

    def forest(device):
        options = {
            "n_estimators": 2,
            "max_depth": 4,
            "max_bins": 60,
            "max_features": 9,
            "random_state": 1,
        }
        model = RandomForestClassifier(criterion="entropy", device=device, **options)
        classes = np.digitize(signal[:700], [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0])
        return model.fit(x[:700], classes, sample_weight=weight[:700])

    def extra_trees(device):
        return ExtraTreesRegressor(2, max_depth=3, max_bins=60, device=device, random_state=1).fit(
            x[:600], signal[:600]
        )

    def large_nodes(device):
        """Blocks share the rows of most nodes, and take several features one after another.

        Many columns are constant, so that nodes try more features than they draw at first.
        """
        rows = x[:600].copy()
        rows[:, 6:16] = 1.0
        options = {"max_leaf_nodes": 6, "splitter": "hist", "max_bins": 60, "max_features": 5}
        model = DecisionTreeRegressor(device=device, random_state=1, **options)
        with (
            mock.patch.object(tree_steps, "TILE_ROWS", 128),
            mock.patch.object(tree_steps, "MAX_BLOCKS", 2),
        ):
            return model.fit(rows, signal[:600])

    return {
        "depthwise": depthwise,
        "leafwise": leafwise,
        "symmetric": symmetric,
        "symmetric, nothing missing": symmetric_without_missing_values,
        "stored values": stored_values,
        "stored values, symmetric": stored_values_symmetric,
        "monotone": monotone,
        "leaves of several values": leaves_of_several_values,
        "categories": categories,
        "rules of features": rules_of_features,
        "rows by gradients": rows_by_gradients,
        "forest": forest,
        "extra trees": extra_trees,
        "large nodes": large_nodes,
        **trees_of_other_kinds(),
    }


def runs(training, file):
    """Whether a training runs kernels of a file."""
    in_bins, others = (
        training in ("forest", "extra trees", "large nodes"),
        training in trees_of_other_kinds(),
    )
    if file == "common.cuh":
        return True
    if file == "sets.cu":
        return training == "categories"
    if file in ("sparse.cu", "histogram.cu"):
        stored = training.startswith("stored values")
        return stored if file == "sparse.cu" else not (stored or in_bins or others)
    if not file.startswith("cart"):
        return not (in_bins or others)
    return in_bins or others if file == "cart.cuh" else (in_bins if file == "cart.cu" else others)


#: Devices on which the trainings are run: a block has one tile to build or many, and shared memory
#: has room for histograms, or for the sums of all classes, or has not.
DEVICES = (
    {},
    {"n_multiprocessors": 1},
    {"n_multiprocessors": 1, "shared_bytes": 4 << 10, "shared_bytes_optin": 8 << 10},
)
