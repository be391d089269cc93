"""What the forests share: bags, warm starts, out-of-bag estimates, predictions."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import asdict
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from gpuboost.backend import Backend, get_backend
from gpuboost.config import RANGES
from gpuboost.data.coding import CodedMatrix, code_matrix
from gpuboost.estimators.base import TrainedInRounds, TreesOfClasses
from gpuboost.estimators.classical import BaseClassical, Training, check_counts, check_middles
from gpuboost.estimators.tree import TREES
from gpuboost.model.ensemble import ensemble_of
from gpuboost.model.file import need
from gpuboost.model.leaf_targets import LeafTargets
from gpuboost.model.stored import SOMETIMES
from gpuboost.model.tree import Tree
from gpuboost.progress import Progress
from gpuboost.training.bagging import Bags, TreeWeights, check_max_samples, out_of_bag
from gpuboost.training.trees import (
    CLASS_CRITERIA,
    VALUE_CRITERIA,
    GrowingTree,
    TreeGrower,
    TreeParams,
    check_choice,
)

DEFAULT = TreeParams("gini")
N_ESTIMATORS = 100
VOTING = ("soft", "hard")
SPLITTERS = ("hist", "exact", "midpoint")
CLASS_WEIGHTS = ("balanced", "balanced_subsample")

#: Parameters of every tree that forests pass on.
TREE_NAMES = (
    "criterion", "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf",
    "max_features", "max_leaf_nodes", "min_impurity_decrease", "categorical_split", "max_bins",
)  # fmt: skip


class BaseForest(TrainedInRounds, BaseClassical):
    """What all forests share."""

    #: Whether each feature gets one cut by chance; else all of its cuts are tried.
    _cuts_by_chance: ClassVar[bool]
    _default_max_features: ClassVar[str | float]
    _criteria: ClassVar[dict[str, int]]
    _oob_name: ClassVar[str]
    oob_score_: Annotated[float, SOMETIMES]  # with oob_score
    _bags: Bags | None  # None: fitted without bags
    _fitted_origin: dict[str, Any]  # what a warm start compares

    def __sklearn_tags__(self) -> Any:
        """Several outputs are fine."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    # --- fit

    def _check_params(self) -> TreeParams:
        """Parameters of the trees.

        Raises if any parameter of the forest is wrong, before any work is done.
        """
        check_choice("criterion", self.criterion, self._criteria)
        check_choice("splitter", self.splitter, SPLITTERS)
        by_chance = self._cuts_by_chance and self.splitter != "midpoint"
        params = TreeParams(
            splitter="random" if by_chance else self.splitter,
            **{name: getattr(self, name) for name in TREE_NAMES},
        )
        self._check_bins()
        self._check_max_features()
        for name in ("n_estimators", "verbose"):
            RANGES[name].check(name, getattr(self, name))
        for name in ("bootstrap", "warm_start"):
            _check_flag(name, getattr(self, name))
        check_max_samples(self.max_samples, self.bootstrap)
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
        self._check_device(params)
        return params

    def _check_max_features(self) -> None:
        """Raise if features are to be drawn, and the splitter draws one without looking."""
        value, default = self.max_features, self._default_max_features
        is_default = isinstance(value, type(default)) and value == default
        if self.splitter == "midpoint" and value is not None and not is_default:
            raise ValueError(
                f"max_features must be {default!r}, its default, or None with "
                f"splitter='midpoint', which draws one feature; got {value!r}"
            )

    def _fit_forest(self, x: Any, y: Any, sample_weight: Any, classification: bool) -> None:
        params = self._check_params()
        trees = self._trees_to_keep()
        with self._unchanged_on_error():
            data = self._prepare(x, y, sample_weight, classification)
            check_middles(data, params)
            self._check_targets(data)
            with self._training_backend() as backend:
                coded = code_matrix(
                    data.x,
                    data.weight,
                    data.categories.mask(data.x.shape[1]),
                    params.max_bins if self.splitter == "hist" else None,
                    backend.host,
                )
                origin = self._origin(
                    data,
                    coded,
                    params,
                    self._fitted_seed if trees and not self._seed_is_fixed else self._seed(),
                )
                if trees:
                    self._check_origin(origin)
                self._fitted_origin = origin
                self._bags = (
                    Bags.of(data.weight, self.max_samples, self._fitted_seed)
                    if self.bootstrap
                    else None
                )
                per_bag = getattr(self, "class_weight", None) == "balanced_subsample"
                weights = TreeWeights(data.weight, self._bags, data.y if per_bag else None)
                trees = trees + self._grow(
                    len(trees), TreeGrower(coded, data.targets, params, backend), weights
                )
                self._set_trained(data, trees, vote=self._hard)
                self._set_out_of_bag(data, backend.host)
                self._keep_for_later(data, weights, backend.host)

    def _trees_to_keep(self) -> list[Tree]:
        """Trees that a warm start adds to."""
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return []
        trees = ensemble_of(self).trees
        if self.n_estimators < len(trees):
            raise ValueError(
                f"n_estimators must be at least {len(trees)} with warm_start=True, as so many "
                f"trees are fitted; got {self.n_estimators}"
            )
        if self.n_estimators == len(trees):
            warnings.warn(
                f"warm_start=True and n_estimators={len(trees)}: all trees are fitted already, "
                "none is added",
                stacklevel=4,
            )
        return trees

    @property
    def _seed_is_fixed(self) -> bool:
        """Whether ``random_state`` gives the same seed whenever it is asked."""
        return self.random_state is None or not hasattr(self.random_state, "randint")

    def _origin(
        self, data: Training, coded: CodedMatrix, params: TreeParams, seed: int
    ) -> dict[str, Any]:
        """Everything that the trees follow from, by the names that users know."""
        categories = [(f, values.tolist()) for f, values in data.categories.values.items()]
        classes = None if data.classes is None else [own.tolist() for own in data.classes]
        return asdict(params) | {
            "splitter": self.splitter,
            "bootstrap": bool(self.bootstrap),
            "max_samples": self.max_samples,
            "class_weight": getattr(self, "class_weight", None),
            "random_state": seed,
            "X": _digest(
                coded.codes,
                coded.n_codes,
                coded.lower,
                coded.upper,
                coded.nominal,
                repr(categories),
            ),
            "y": _digest(data.y, repr(classes)),
            "sample_weight": _digest(data.weight),
        }

    def _check_origin(self, origin: dict[str, Any]) -> None:
        """Trees are added only if they belong to the fitted ones.

        The forest is then the one that a single fit gives.
        """
        defaults = type(self)().get_params(deep=False)
        for name, value in origin.items():
            # a parameter that is younger than the model's file had its default
            before = self._fitted_origin.get(name, defaults.get(name))
            if value != before:
                data = name in ("X", "y", "sample_weight")
                shown = "" if data else f": {before!r}, now {value!r}"
                raise ValueError(
                    f"warm_start=True adds trees to the fitted ones, but {name} is not what "
                    f"they were fitted with{shown}; "
                    "set warm_start=False to start anew"
                )

    def _check_targets(self, data: Training) -> None:
        """What a criterion asks of the targets."""

    def _grow(self, first: int, grower: TreeGrower, weights: TreeWeights) -> list[Tree]:
        """Trees from number ``first`` on; what a tree is made from depends on its number alone."""
        backend, seed, n = grower.backend.host, self._fitted_seed, int(self.n_estimators)

        def tree(i: int) -> GrowingTree:
            number = first + i
            return GrowingTree(
                weights.of_tree(number, backend), backend.mix_key(seed, TREES, number)
            )

        with Progress(n - first, "training", "trees", int(self.verbose)) as progress:
            return grower.grow_all(n - first, tree, progress.advance)

    def _set_out_of_bag(self, data: Training, backend: Backend) -> None:
        for name in ("oob_score_", self._oob_name):
            self.__dict__.pop(name, None)
        if not self.oob_score:
            return
        assert self._bags is not None
        trees = ensemble_of(self).trees
        means = out_of_bag(data.x, ensemble_of(self), self._bags, backend)
        known = ~np.isnan(means[:, 0])
        if not known.all():
            warnings.warn(
                f"{int((~known).sum())} of {len(known)} training rows are in the bags of all "
                f"{len(trees)} trees and have no out-of-bag "
                "prediction (NaN): raise n_estimators or lower max_samples",
                stacklevel=4,
            )
        setattr(self, self._oob_name, self._oob_values(means))
        judged = known & (data.weight > 0)
        y, prediction = (
            self._truth(data)[judged],
            self._from_means(np.ascontiguousarray(means[judged])),
        )
        metric = self.oob_score if callable(self.oob_score) else self._oob_metric
        self.oob_score_ = float(metric(y, prediction)) if len(y) else float("nan")

    def _keep_for_later(self, data: Training, weights: TreeWeights, backend: Backend) -> None:
        """What predictions need besides the trees."""

    def _check_fitted(self) -> None:
        super()._check_fitted()
        bags, seed = self._bags, self._fitted_origin.get("random_state")
        need(
            type(seed) is int and 0 <= seed < 2**32 and (bags is None or bags.seed == seed),
            f"the seed of the trees is {str(seed)[:50]}, which cannot be",
        )
        means = getattr(self, self._oob_name, None)
        need((means is None) != hasattr(self, "oob_score_"), f"{self._oob_name} has no score")
        if means is not None:
            shape = self._oob_values(np.zeros((1, ensemble_of(self).n_channels))).shape[1:]
            wanted = (bags.n_rows if bags else 0, *shape)
            need(
                means.dtype == np.float64 and means.shape == wanted,
                f"{self._oob_name} has the shape {means.shape} and the dtype {means.dtype}, not "
                f"{wanted} and float64",
            )

    @property
    def _fitted_seed(self) -> int:
        """The seed that the trees were grown with."""
        seed: int = self._fitted_origin["random_state"]
        return seed

    @property
    def _hard(self) -> bool:
        """Whether trees vote for a class instead of adding their shares."""
        return False

    def bag_counts(self, i: int) -> np.ndarray:
        """How often each training row was drawn for tree i, (n_training_rows,)."""
        n_trees = len(ensemble_of(self).trees)
        if self._bags is None:
            raise ValueError(
                "there are no bags: this forest was fitted with bootstrap=False, every tree "
                "got every row"
            )
        if not 0 <= i < n_trees:
            raise ValueError(f"there is no tree {i!r}: the forest has trees 0 to {n_trees - 1}")
        with get_backend("cpu", 1) as backend:
            return self._bags.counts(i, backend)

    # --- predictions

    def predict(self, X: Any) -> np.ndarray:
        """Predict targets: the mean of the trees' predictions.

        Or the class with the highest mean share (or most votes).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.
        """
        predictions: np.ndarray = self._from_means(self._raw(X))
        return predictions

    def apply(self, X: Any) -> np.ndarray:
        """Find the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_estimators)
            Numbers of leaves; the nodes of each tree are numbered from 0 on.
        """
        return self._leaves(self.check_rows(X))

    def decision_path(self, X: Any) -> tuple[Any, np.ndarray]:
        """Find the nodes that each row passes through, from the roots to the leaves.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where a row passes through a node; the trees' nodes stand one after another.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            The columns from ``n_nodes_ptr[i]`` to ``n_nodes_ptr[i + 1]`` are the nodes of tree i.
        """
        return self._paths(self.check_rows(X)), ensemble_of(self).walk_arrays[0]

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importance of each feature, adding up to 1.

        The mean over the trees of its part of the decrease of impurity.
        """
        return ensemble_of(self).importance_shares()


class BaseForestClassifier(TreesOfClasses, BaseForest):
    """What forests of classification trees share."""

    _criteria = CLASS_CRITERIA
    oob_decision_function_: Annotated[np.ndarray, SOMETIMES]  # with oob_score
    _oob_name = "oob_decision_function_"
    _combines = ("mean", False, True), ("mean", True, True)
    _default_max_features = "sqrt"

    def __init__(
        self,
        n_estimators: int = N_ESTIMATORS,
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
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: Any = False,
        voting: str = "soft",
        class_weight: Any = None,
        categorical_features: Any = None,
        categorical_split: str = DEFAULT.categorical_split,
        max_bins: int = DEFAULT.max_bins,
        warm_start: bool = False,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.voting = voting
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.categorical_split = categorical_split
        self.max_bins = max_bins
        self.warm_start = warm_start
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        """Several labels for a row are several outputs."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _check_params(self) -> TreeParams:
        check_choice("voting", self.voting, VOTING)
        if isinstance(self.class_weight, str):
            check_choice("class_weight", self.class_weight, CLASS_WEIGHTS)
        return super()._check_params()

    @property
    def _hard(self) -> bool:
        return bool(self.voting == "hard")

    def _from_means(self, means: np.ndarray) -> np.ndarray:
        return self._labels(means)

    def _truth(self, data: Training) -> np.ndarray:
        """Classes of the training rows."""
        assert data.classes is not None
        y = np.stack(
            [own[codes] for own, codes in zip(data.classes, data.y.T, strict=True)], axis=1
        )
        return y[:, 0] if data.one_column else y

    def _oob_values(self, means: np.ndarray) -> np.ndarray:
        """Shares (n_rows, n_classes) or (n_rows, most classes, n_outputs).

        Classes that an output does not have get 0.
        """
        shares = self._by_output(means)
        if self.n_outputs_ == 1:
            only: np.ndarray = shares
            return only
        out = np.zeros((len(means), max(part.shape[1] for part in shares), len(shares)))
        for o, part in enumerate(shares):
            out[:, : part.shape[1], o] = part
        return out

    @staticmethod
    def _oob_metric(y: np.ndarray, prediction: np.ndarray) -> float:
        """Accuracy: the part of rows with all outputs right."""
        right = y == prediction
        return float((right if right.ndim == 1 else right.all(axis=1)).mean())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; NaN means missing. Columns named by ``categorical_features`` may hold anything
            that can be sorted.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a row of weight 0 is as if it were not there.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit_forest(X, y, sample_weight, classification=True)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of one for each output
            Mean over the trees of the shares of the classes in the row's leaves; with hard voting
            the trees' votes. In the order of ``classes_``.
        """
        return self._by_output(self._raw(X))

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of one for each output
            Logarithms of what ``predict_proba`` gives; -inf for 0.
        """
        with np.errstate(divide="ignore"):
            return self._by_output(np.log(self._raw(X)))


class BaseForestRegressor(RegressorMixin, BaseForest):
    """What forests of regression trees share."""

    _criteria = VALUE_CRITERIA
    oob_prediction_: Annotated[np.ndarray, SOMETIMES]  # with oob_score
    _leaf_targets: LeafTargets | None = None  # with keep_targets
    _oob_name = "oob_prediction_"
    _combines = (("mean", False, False),)
    _default_max_features = 1.0

    def __init__(
        self,
        n_estimators: int = N_ESTIMATORS,
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
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: Any = False,
        keep_targets: bool = False,
        categorical_features: Any = None,
        categorical_split: str = DEFAULT.categorical_split,
        max_bins: int = DEFAULT.max_bins,
        warm_start: bool = False,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.keep_targets = keep_targets
        self.categorical_features = categorical_features
        self.categorical_split = categorical_split
        self.max_bins = max_bins
        self.warm_start = warm_start
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_params(self) -> TreeParams:
        _check_flag("keep_targets", self.keep_targets)
        return super()._check_params()

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if self._leaf_targets is not None:
            self._leaf_targets.check(ensemble_of(self))

    def _check_targets(self, data: Training) -> None:
        if self.criterion == "poisson":
            check_counts(data)

    def _keep_for_later(self, data: Training, weights: TreeWeights, backend: Backend) -> None:
        self._leaf_targets = None
        if self.keep_targets:
            self._leaf_targets = LeafTargets.of(
                data.x,
                data.targets,
                ensemble_of(self),
                lambda i: weights.of_tree(i, backend),
                backend,
            )

    def _from_means(self, means: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(means[:, 0]) if self.n_outputs_ == 1 else means

    def _truth(self, data: Training) -> np.ndarray:
        """Targets of the training rows."""
        return data.y[:, 0] if data.one_column else data.y

    def _oob_values(self, means: np.ndarray) -> np.ndarray:
        return self._from_means(means)

    @staticmethod
    def _oob_metric(y: np.ndarray, prediction: np.ndarray) -> float:
        """R2, the mean over the outputs."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, prediction))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; NaN means missing. Columns named by ``categorical_features`` may hold anything
            that can be sorted.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a row of weight 0 is as if it were not there.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit_forest(X, y, sample_weight, classification=False)
        return self

    def predict_quantiles(self, X: Any, quantiles: Any) -> np.ndarray:
        """Predict quantiles of the target (a quantile regression forest).

        Each tree gives the training rows of its bag that share a leaf with the row their parts of
        the leaf's weight; the mean over the trees is a distribution of targets, whose quantiles are
        returned: always targets that were seen in training.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        quantiles : float or array-like of shape (n_quantiles,)
            Numbers between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, [n_outputs,] [n_quantiles])
            The least target that at least this part of the distribution does not exceed. No last
            axis if one number was given.
        """
        ensemble_of(self)
        if self._leaf_targets is None:
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
        leaves = self._leaves(x)
        with self._backend(len(x)) as backend:
            out = self._leaf_targets.quantiles(leaves, wanted, backend)
        out = out[:, 0] if self.n_outputs_ == 1 else out
        return out[..., 0] if np.ndim(quantiles) == 0 else out


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False; got {value!r}")


def _digest(*parts: np.ndarray | str) -> str:
    """A short name for some data: the same data, the same name."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).data)
    return digest.hexdigest()
