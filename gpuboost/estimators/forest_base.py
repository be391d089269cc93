"""What the forests share: parameters, fitted attributes, predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from gpuboost.backend import Backend, device_of, host_backend, on_host
from gpuboost.config import check_choice, check_flag
from gpuboost.estimators.base import TrainedInRounds
from gpuboost.estimators.classical import (
    SeveralLabels,
    SeveralOutputs,
    Training,
    check_counts,
    check_middles,
)
from gpuboost.estimators.leaves import LeavesOfTrees, find_leaves
from gpuboost.estimators.members import SequenceOfTrees
from gpuboost.exchange import FeatureMatrix
from gpuboost.model.ensemble import ensemble_of
from gpuboost.model.file import need
from gpuboost.model.leaf_targets import LeafTargets
from gpuboost.model.stored import SOMETIMES
from gpuboost.model.tree import Tree
from gpuboost.training.bagging import (
    BaggingParams,
    Bags,
    TreeWeights,
    check_same_origin,
    grow_forest,
    origin_of_trees,
    out_of_bag,
    trees_to_keep,
)
from gpuboost.training.trees import (
    CLASS_CRITERIA,
    VALUE_CRITERIA,
    TreeGrower,
    TreeParams,
)

DEFAULT = TreeParams("gini")
VOTING = ("soft", "hard")
SPLITTERS = ("hist", "exact", "best", "midpoint")
CLASS_WEIGHTS = ("balanced", "balanced_subsample")

#: Parameters of every tree that forests pass on.
TREE_NAMES = (
    "criterion", "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf",
    "max_features", "max_leaf_nodes", "min_impurity_decrease", "categorical_split",
    "min_data_per_category", "cat_smooth", "max_cat_threshold", "max_bins",
)  # fmt: skip


#: Most numbers of trees at which a forest's out-of-bag score is computed.
CURVE_POINTS = 20


class BaseForest(SequenceOfTrees, LeavesOfTrees, TrainedInRounds, SeveralOutputs):
    """What all forests share."""

    #: Whether each feature gets one cut by chance; else all of its cuts are tried.
    _cuts_by_chance: ClassVar[bool]
    _default_max_features: ClassVar[str | float]
    _criteria: ClassVar[dict[str, int]]
    _oob_name: ClassVar[str]
    oob_score_: Annotated[float, SOMETIMES]  # with oob_score
    oob_curve_: Annotated[np.ndarray, SOMETIMES]  # with oob_score
    bags_: Bags | None  # None: fitted without bags
    origin_: dict[str, Any]  # what a warm start compares

    # --- fit

    def _check_params(self) -> tuple[BaggingParams, TreeParams]:
        """Parameters of the loop and of the trees; raises before any work is done."""
        check_choice("criterion", self.criterion, self._criteria)
        check_choice("splitter", self.splitter, SPLITTERS)
        tree_params = TreeParams(
            splitter=self._splitter_of_trees(),
            **{name: getattr(self, name) for name in TREE_NAMES},
        )
        self._check_bins()
        self._check_max_features()
        params = BaggingParams(
            self.n_estimators,
            self.bootstrap,
            self.max_samples,
            getattr(self, "class_weight", None),
            self.verbose,
            self.ccp_alpha,
        )
        check_flag("warm_start", self.warm_start)
        if not callable(self.oob_score) and not isinstance(self.oob_score, (bool, np.bool_)):
            raise ValueError(
                "oob_score must be True, False or a function metric(y_true, y_pred); got "
                f"{self.oob_score!r}"
            )
        if self.oob_score and not self.bootstrap:
            raise ValueError(
                f"oob_score={self.oob_score!r} needs bootstrap=True: without bags no row is "
                "outside of one"
            )
        self._check_device()
        self._check_input_parameters()
        return params, tree_params

    def _splitter_of_trees(self) -> str:
        by_chance = self._cuts_by_chance and self._splitter != "midpoint"
        return "random" if by_chance else self._splitter

    def _check_max_features(self) -> None:
        """Raise if features are to be drawn, and the splitter draws one without looking."""
        value, default = self.max_features, self._default_max_features
        is_default = isinstance(value, type(default)) and value == default
        if self._splitter == "midpoint" and value is not None and not is_default:
            raise ValueError(
                f"max_features must be {default!r}, its default, or None with "
                f"splitter='midpoint', which draws one feature; got {value!r}"
            )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; NaN means missing. Columns named by ``categorical_features`` may hold anything
            that can be sorted. An array on a CUDA device, or a cuDF frame: it stays there with
            ``device="cuda"``, ``splitter="hist"`` and no nominal features, else it is copied to the
            host once.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes, or for a regressor numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. Rows with weight 0 are ignored.

        Returns
        -------
        self
            The fitted estimator.
        """
        params, tree_params = self._check_params()
        kept: list[Tree] = []
        if self.warm_start and self.__sklearn_is_fitted__():
            kept = trees_to_keep(ensemble_of(self).trees, params.n_estimators)
        with self._unchanged_on_error():
            data = self._prepare(X, y, sample_weight)
            check_middles(data, tree_params)
            self._check_targets(data)
            with self._training_backend(data.x) as backend:
                coded = self._coded(data, backend)
                origin = self._origin(data, coded, params, tree_params, warm=bool(kept))
                if kept:
                    check_same_origin(type(self)().get_params(deep=False) | self.origin_, origin)
                self.origin_, seed = origin, origin["random_state"]
                weights = TreeWeights.of(data.weight, data.y, params, seed)
                self.bags_ = weights.bags
                grower = TreeGrower(coded, data.targets, tree_params, backend)
                trees = grow_forest(kept, grower, weights, params, seed)
                self._set_trained(data, trees, vote=getattr(self, "voting", None) == "hard")
                self._set_out_of_bag(data, backend)
                self._keep_for_later(data, weights, backend)
        return self

    def _origin(
        self,
        data: Training,
        coded: FeatureMatrix,
        params: BaggingParams,
        tree_params: TreeParams,
        warm: bool,
    ) -> dict[str, Any]:
        """What the trees follow from; a ``RandomState`` is asked once for all of them."""
        keeps_seed = warm and hasattr(self.random_state, "randint")
        seed = self.origin_["random_state"] if keeps_seed else self._seed()
        categories = [(f, values.tolist()) for f, values in data.table.categories.items()]
        classes = None if data.classes is None else [values.tolist() for values in data.classes]
        arrays = (
            on_host(coded.columns),
            coded.n_codes,
            coded.lower,
            coded.upper,
            coded.is_categorical,
        )
        return origin_of_trees(
            replace(tree_params, splitter=self._splitter),
            params,
            seed,
            X=(*arrays, repr(categories)),
            y=(data.y, repr(classes)),
            sample_weight=(data.weight,),
        )

    def _check_targets(self, data: Training) -> None:
        """What a criterion asks of the targets."""

    def _set_out_of_bag(self, data: Training, backend: Backend) -> None:
        for name in ("oob_score_", "oob_curve_", self._oob_name):
            self.__dict__.pop(name, None)
        if not self.oob_score:
            return
        assert self.bags_ is not None
        metric, curve = self.oob_score if callable(self.oob_score) else self._oob_metric, []
        for n_trees, means in out_of_bag(
            data.x, ensemble_of(self), self.bags_, backend, CURVE_POINTS
        ):
            judged = ~np.isnan(means[:, 0]) & (data.weight > 0)
            y, prediction = data.labels[judged], self._predictions(backend.host, means[judged].T)
            curve.append((n_trees, float(metric(y, prediction)) if len(y) else float("nan")))
        setattr(self, self._oob_name, self._oob_values(means))
        self.oob_curve_, self.oob_score_ = np.array(curve, np.float64), curve[-1][1]

    def _keep_for_later(self, data: Training, weights: TreeWeights, backend: Backend) -> None:
        """What predictions need besides the trees."""

    def _check_fitted(self) -> None:
        super()._check_fitted()
        bags, seed = self.bags_, self.origin_.get("random_state")
        need(
            type(seed) is int and 0 <= seed < 2**32 and (bags is None or bags.seed == seed),
            f"the seed of the trees is {str(seed)[:50]}, which cannot be",
        )
        means = getattr(self, self._oob_name, None)
        need((means is None) != hasattr(self, "oob_score_"), f"{self._oob_name} has no score")
        self._check_curve()
        if means is not None:
            shape = self._oob_values(np.zeros((1, ensemble_of(self).n_channels))).shape[1:]
            wanted = (bags.n_rows if bags else 0, *shape)
            need(
                means.dtype == np.float64 and means.shape == wanted,
                f"{self._oob_name} has the shape {means.shape} and the dtype {means.dtype}, not "
                f"{wanted} and float64",
            )

    def _check_curve(self) -> None:
        """Raise ModelFormatError unless the out-of-bag curve is one of this forest."""
        curve = getattr(self, "oob_curve_", None)
        need((curve is None) != hasattr(self, "oob_score_"), "oob_curve_ has no score")
        if curve is None:
            return
        need(
            curve.dtype == np.float64 and curve.ndim == 2 and curve.shape[1] == 2 and len(curve),
            f"oob_curve_ has the shape {curve.shape} and the dtype {curve.dtype}",
        )
        n_trees = curve[:, 0]
        need(
            n_trees[-1] == len(ensemble_of(self).trees) and (np.diff(n_trees) > 0).all(),
            "the numbers of trees in oob_curve_ are not ascending to that of the forest",
        )

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The training rows that were drawn for each tree, each as often as it was drawn.

        Only with ``bootstrap``.
        """
        if self.bags_ is None:
            raise AttributeError("estimators_samples_ is there with bootstrap=True only")
        with host_backend(1) as backend:
            rows = np.arange(self.bags_.n_rows, dtype=np.int32)
            counts = (self.bags_.counts(i, backend) for i in range(len(self)))
            return [np.repeat(rows, drawn) for drawn in counts]

    def bag_counts(self, i: int) -> np.ndarray:
        """How often each training row was drawn for tree i, (n_training_rows,)."""
        n_trees = len(ensemble_of(self).trees)
        if self.bags_ is None:
            raise ValueError(
                "there are no bags: this forest was fitted with bootstrap=False, every tree "
                "got every row"
            )
        if not 0 <= i < n_trees:
            raise ValueError(f"there is no tree {i!r}: the forest has trees 0 to {n_trees - 1}")
        with host_backend(1) as backend:
            return self.bags_.counts(i, backend)


class BaseForestClassifier(SeveralLabels, BaseForest):
    """What forests of classification trees share."""

    _criteria = CLASS_CRITERIA
    oob_decision_function_: Annotated[np.ndarray, SOMETIMES]  # with oob_score
    _oob_name = "oob_decision_function_"
    _combines = ("mean", False, True), ("mean", True, True)
    _default_max_features = "sqrt"

    def __init__(
        self,
        n_estimators: int = BaggingParams.n_estimators,
        *,
        criterion: str = "gini",
        splitter: str = "hist",
        max_depth: int | None = DEFAULT.max_depth,
        min_samples_split: int | float = DEFAULT.min_samples_split,
        min_samples_leaf: int | float = DEFAULT.min_samples_leaf,
        min_weight_fraction_leaf: float = DEFAULT.min_weight_fraction_leaf,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = DEFAULT.max_leaf_nodes,
        min_impurity_decrease: float = DEFAULT.min_impurity_decrease,
        ccp_alpha: float = BaggingParams.ccp_alpha,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: Any = False,
        voting: str = "soft",
        class_weight: Any = None,
        categorical_features: Any = "auto",
        unknown_category: str = "missing",
        categorical_split: str = DEFAULT.categorical_split,
        min_data_per_category: int = DEFAULT.min_data_per_category,
        cat_smooth: float = DEFAULT.cat_smooth,
        max_cat_threshold: int | None = DEFAULT.max_cat_threshold,
        max_bins: int = DEFAULT.max_bins,
        warm_start: bool = False,
        date_features: Any = None,
        sparse_missing: bool = False,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())

    def _check_params(self) -> tuple[BaggingParams, TreeParams]:
        check_choice("voting", self.voting, VOTING)
        if isinstance(self.class_weight, str):
            check_choice("class_weight", self.class_weight, CLASS_WEIGHTS)
        return super()._check_params()

    def _oob_values(self, means: np.ndarray) -> np.ndarray:
        """Shares (n_rows, n_classes) or (n_rows, most classes, n_outputs).

        Classes that an output does not have get 0.
        """
        if self.n_outputs_ == 1:
            return means
        shares = self._by_output(means)
        out = np.zeros((len(means), max(part.shape[1] for part in shares), len(shares)))
        for o, part in enumerate(shares):
            out[:, : part.shape[1], o] = part
        return out

    @staticmethod
    def _oob_metric(y: np.ndarray, prediction: np.ndarray) -> float:
        """Accuracy: the part of rows with all outputs right."""
        right = y == prediction
        return float((right if right.ndim == 1 else right.all(axis=1)).mean())


class BaseForestRegressor(RegressorMixin, BaseForest):
    """What forests of regression trees share."""

    _criteria = VALUE_CRITERIA
    oob_prediction_: Annotated[np.ndarray, SOMETIMES]  # with oob_score
    leaf_targets_: LeafTargets | None = None  # with keep_targets
    _oob_name = "oob_prediction_"
    _combines = (("mean", False, False),)
    _default_max_features = 1.0

    def __init__(
        self,
        n_estimators: int = BaggingParams.n_estimators,
        *,
        criterion: str = "squared_error",
        splitter: str = "hist",
        max_depth: int | None = DEFAULT.max_depth,
        min_samples_split: int | float = DEFAULT.min_samples_split,
        min_samples_leaf: int | float = DEFAULT.min_samples_leaf,
        min_weight_fraction_leaf: float = DEFAULT.min_weight_fraction_leaf,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = DEFAULT.max_leaf_nodes,
        min_impurity_decrease: float = DEFAULT.min_impurity_decrease,
        ccp_alpha: float = BaggingParams.ccp_alpha,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: Any = False,
        keep_targets: bool = False,
        categorical_features: Any = "auto",
        unknown_category: str = "missing",
        categorical_split: str = DEFAULT.categorical_split,
        min_data_per_category: int = DEFAULT.min_data_per_category,
        cat_smooth: float = DEFAULT.cat_smooth,
        max_cat_threshold: int | None = DEFAULT.max_cat_threshold,
        max_bins: int = DEFAULT.max_bins,
        warm_start: bool = False,
        date_features: Any = None,
        sparse_missing: bool = False,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())

    def _check_params(self) -> tuple[BaggingParams, TreeParams]:
        check_flag("keep_targets", self.keep_targets)
        return super()._check_params()

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if self.leaf_targets_ is not None:
            self.leaf_targets_.check(ensemble_of(self))

    def _check_targets(self, data: Training) -> None:
        if self.criterion == "poisson":
            check_counts(data)

    def _keep_for_later(self, data: Training, weights: TreeWeights, backend: Backend) -> None:
        self.leaf_targets_ = None
        if self.keep_targets:
            self.leaf_targets_ = LeafTargets.of(
                data.x,
                data.targets,
                replace(ensemble_of(self), features=data.features),
                lambda i: weights.of_tree(i, backend.host),
                backend,
            )

    def _oob_values(self, means: np.ndarray) -> np.ndarray:
        return means[:, 0] if self.n_outputs_ == 1 else means

    @staticmethod
    def _oob_metric(y: np.ndarray, prediction: np.ndarray) -> float:
        """R2, the mean over the outputs."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, prediction))

    def predict_quantiles(self, X: Any, quantiles: Any) -> Any:
        """Predict quantiles of the target (a quantile regression forest).

        Each tree gives the training rows of its bag that share a leaf with the row their parts of
        the leaf's weight; the mean over the trees is a distribution of targets, whose quantiles are
        returned: always targets that were seen in training.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict; the result is where they are, though the quantiles of the leaves are
            found on the host.
        quantiles : float or array-like of shape (n_quantiles,)
            Numbers between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, [n_outputs,] [n_quantiles])
            The least target that at least this part of the distribution does not exceed. No last
            axis if one number was given.
        """
        ensemble_of(self)
        if self.leaf_targets_ is None:
            raise ValueError(
                "predict_quantiles needs the training targets of the leaves: fit with "
                "keep_targets=True"
            )
        wanted = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if wanted.ndim != 1 or not len(wanted) or not ((wanted >= 0) & (wanted <= 1)).all():
            raise ValueError(
                "quantiles must be a number, or a list of numbers, between 0 and 1; got "
                f"{quantiles!r}"
            )
        x = self.check_rows(X)
        leaves = on_host(find_leaves(self, x))
        with self._backend(x) as backend:
            out = self.leaf_targets_.quantiles(leaves, wanted, backend.host)
            out = out[:, 0] if self.n_outputs_ == 1 else out
            out = out[..., 0] if np.ndim(quantiles) == 0 else out
            return out if device_of(x) is None else backend.put(out)
