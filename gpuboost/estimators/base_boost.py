"""What boosting estimators share: parameters to config, training, fitted attributes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from gpuboost.backend import (
    Backend,
    check_device,
    device_for,
    device_holds_numbers,
    device_of,
    get_backend,
    n_threads,
    on_host,
)
from gpuboost.config import (
    LOSS_PARAMETERS,
    RANGES,
    VECTOR_LEAF,
    BoostParams,
    check_choice,
    check_flag,
)
from gpuboost.data.checks import (
    check_groups,
    check_weight,
    refuse_mask,
    refuse_sparse,
)
from gpuboost.data.feature_options import (
    check_interactions,
    check_monotone,
    check_numbers_of_features,
    feature_costs,
    feature_weights,
    groups_as_bits,
    interaction_groups,
    monotone_directions,
)
from gpuboost.data.features import FeatureMap
from gpuboost.data.forced_splits import (
    check_forced_splits,
    check_paths,
    forced_table,
    number_features,
    read_forced_splits,
)
from gpuboost.data.summary import Summary
from gpuboost.data.target_statistics import ENCODINGS, TargetSums, target_columns
from gpuboost.dtypes import MAX_VALUE_BINS, SYMMETRIC
from gpuboost.estimators.base import BaseTrees, TrainedInRounds
from gpuboost.estimators.eval_sets import one_column
from gpuboost.estimators.leaves import LeavesOfTrees
from gpuboost.exchange import SplitRules
from gpuboost.model.ensemble import IMPORTANCE_TYPES, Ensemble, ensemble_of
from gpuboost.model.file import need
from gpuboost.model.stored import SOMETIMES
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.objectives.metrics import resolve_metrics
from gpuboost.objectives.objective import Objective
from gpuboost.objectives.regression import quantiles_objective
from gpuboost.progress import Progress
from gpuboost.training.boosting import (
    TARGET_ORDER,
    Booster,
    EvalSet,
    History,
    boost,
    warn_of_light_rows,
)
from gpuboost.training.magnitude import Magnitude, check_scores
from gpuboost.training.row_sampling import RowUnits


def check_levels(name: str, values: Any) -> list[float]:
    """Levels of several quantiles: numbers between 0 and 1 in ascending order."""
    levels = list(values)
    for k, value in enumerate(levels):
        LOSS_PARAMETERS["alpha"].check(f"{name}[{k}]", value)
    levels = [float(value) for value in levels]
    if not levels or sorted(set(levels)) != levels:
        raise ValueError(f"{name} must be a number, or a list of them that ascend; got {values!r}")
    return levels


class BaseBoost(LeavesOfTrees, TrainedInRounds, BaseTrees):
    """What boosting estimators share."""

    def __sklearn_tags__(self) -> Any:
        """Several outputs are fine, and several labels of classifiers."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = True
        return tags

    evals_result_: dict[str, dict[str, list[float]]]
    best_score_: Annotated[float | None, SOMETIMES]  # with early stopping
    _combines = (("sum", False, False),)

    #: Losses to choose from; the classifier's are for two classes.
    _objectives: ClassVar[tuple[str, ...]]
    #: Parameters of the estimator that are parameters of some losses; None: the loss's own value.
    _loss_parameters: ClassVar[tuple[str, ...]] = ()

    def _check_params(self) -> BoostParams:
        """Parameters as a checked config; raises before any work is done."""
        params = BoostParams(
            grow_policy=self.grow_policy,
            sampling_method=self.sampling_method,
            multi_strategy=self.multi_strategy,
            **{name: getattr(self, name) for name in RANGES} | self._share_of_rows(),
        )
        self._check_out_of_bag(params)
        self._named_objective()
        check_device(self.device)
        n_threads(self.n_jobs)
        self._given_base_score()
        check_choice("importance_type", self.importance_type, IMPORTANCE_TYPES)
        check_choice("categorical_encoding", self.categorical_encoding, ENCODINGS)
        check_monotone(self.monotone_constraints)
        check_interactions(self.interaction_constraints)
        check_numbers_of_features("feature_weights", self.feature_weights, "weight", "weights")
        penalties = self.feature_penalties
        check_numbers_of_features("feature_penalties", penalties, "penalty", "penalties")
        symmetric = params.order == SYMMETRIC
        check_forced_splits(self.forced_splits, symmetric, params.depth_limit, params.leaf_limit)
        self._check_input_parameters()
        return params

    def _share_of_rows(self) -> dict[str, Any]:
        """``subsample`` as a number, if it is none."""
        return {}

    def _check_out_of_bag(self, params: BoostParams) -> None:
        """Raise if rows out of the bag are asked for where there are none."""
        check_flag("oob_score", self.oob_score)
        if self.oob_score and params.subsample >= 1 and not isinstance(self.subsample, Mapping):
            raise ValueError(
                "oob_score=True needs rows that are not drawn: a subsample below 1; got "
                f"subsample={self.subsample!r}"
            )

    def _row_units(
        self, groups: Any, n_rows: int, params: BoostParams, by_class: np.ndarray | None = None
    ) -> RowUnits | None:
        """Rows that are drawn together, or with probabilities of their classes; None: neither."""
        if groups is None and by_class is None:
            return None
        if groups is not None:
            groups = check_groups(groups, n_rows)
            if params.sampling_method != "uniform":
                raise ValueError(
                    f"groups must be None with sampling_method={params.sampling_method!r}, which "
                    "draws single rows by their gradients"
                )
            if params.subsample >= 1 and by_class is None:
                raise ValueError(
                    "groups are for drawing rows, and need a subsample below 1; got "
                    f"subsample={self.subsample!r}"
                )
        return RowUnits.of(n_rows, params.subsample, groups, by_class)

    def _read_training(
        self, x: Any, y: Any, weight_of: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[Any, np.ndarray, np.ndarray, FeatureMap]:
        """``_read_xy``, with weights, and codes of one byte for the categories.

        ``weight_of`` tells the weights from the checked targets. Categories of a table on a device
        are read on the host.
        """
        chosen, where = self.categorical_features, device_of(x)
        if issparse(x) and chosen is not None and not isinstance(chosen, str):
            raise TypeError(
                "categorical_features must be None or 'auto' for a sparse X, such as this "
                f"{type(x).__name__}: use X.toarray(), or leave it out"
            )
        stays = (
            where is None or chosen is None or (isinstance(chosen, str) and device_holds_numbers(x))
        )
        if not stays:
            device_for(self.device, x)
            x = on_host(x)
        x, y, features = self._read_xy(x, y, chosen, multi_output=True)
        y = one_column("y", y)
        weight = weight_of(y)
        if features.categories:
            features = features.with_encoding(self.categorical_encoding)
            features, x = features.with_few_numbers(x, weight)
        if where is not None and not stays:
            x = self._put(where, x)
        return x, y, weight, features

    def _split_rules(self, features: FeatureMap, n_classes: int, params: BoostParams) -> SplitRules:
        """What splits have to keep to."""
        names, n_features = getattr(self, "feature_names_in_", None), len(features)
        directions = monotone_directions(self.monotone_constraints, names, n_features)
        weights = feature_weights(self.feature_weights, names, n_features)
        groups = None
        if self.interaction_constraints is not None:
            groups = interaction_groups(self.interaction_constraints, names, n_features)
        costs = feature_costs(self.feature_penalties, names, n_features)
        unordered = [f for f in np.flatnonzero(directions).tolist() if f in features.categories]
        if unordered:
            f = unordered[0]
            raise ValueError(
                "monotone_constraints must be 0 for categorical features, which have no order; "
                f"got {directions[f]} for feature {f if names is None else str(names[f])!r}"
            )
        with_parts = [one.column for one in features.date_parts if directions[one.column]]
        if with_parts:
            f = with_parts[0]
            raise ValueError(
                "monotone_constraints must be 0 for dates with date_features, whose parts come "
                f"again; got {directions[f]} for feature {f if names is None else str(names[f])!r}"
            )
        if n_classes > 2 and directions.any():
            raise ValueError(
                "monotone_constraints are for regression and for two classes: y has "
                f"{n_classes} classes, and the score of one class alone orders no probability"
            )
        if len(np.unique(weights[weights > 0])) > 1 and not params.samples_columns:
            warnings.warn(
                "feature_weights are for features that are drawn: above 0 they change nothing "
                "unless colsample_bytree, colsample_bylevel or colsample_bynode is below 1",
                stacklevel=5,
            )
        # what changes nothing is not there, and costs nothing
        free = groups is None or any(len(group) == n_features for group in groups)
        return SplitRules(
            directions=directions if directions.any() else None,
            feature_weights=weights if len(np.unique(weights)) > 1 else None,
            groups=None if free else groups_as_bits(groups or [], n_features),
            costs=costs if costs.any() else None,
        )

    def _check_vector_leaves(self, rules: SplitRules | None, n_outputs: int) -> None:
        """Raise if leaves of several values would have to keep to what is said of one value."""
        if self.multi_strategy != VECTOR_LEAF:
            return
        if rules is not None and rules.directions is not None and n_outputs > 1:
            raise ValueError(
                "monotone_constraints are for trees of one output: use "
                f"multi_strategy='one_tree_per_output' for y with {n_outputs} columns; got "
                f"multi_strategy={self.multi_strategy!r}"
            )

    def _with_forced_splits(
        self, rules: SplitRules, features: FeatureMap, of_trees: FeatureMap, params: BoostParams
    ) -> SplitRules:
        """The rules with the splits at the top of every tree, at cuts of what trees see."""
        splits = read_forced_splits(self.forced_splits, params.order == SYMMETRIC)
        if not splits:
            return rules
        names, n_features = getattr(self, "feature_names_in_", None), len(features)
        splits = number_features(splits, names, n_features)
        if self.interaction_constraints is not None:
            check_paths(splits, interaction_groups(self.interaction_constraints, names, n_features))
        for split in splits:
            if split.feature in features.categories:
                raise ValueError(
                    f"forced_splits must be on features of numbers; feature {split.feature} is "
                    "categorical"
                )
            if rules.feature_weights is not None and rules.feature_weights[split.feature] == 0:
                raise ValueError(
                    f"forced_splits splits feature {split.feature}, whose weight in "
                    "feature_weights is 0"
                )
        return replace(
            rules, forced=forced_table(splits, [feature.cuts for feature in of_trees.features])
        )

    def _named_objective(self) -> Objective:
        check_choice("objective", self.objective, self._objectives)
        objective = OBJECTIVES[self.objective]
        given = {name: getattr(self, name) for name in self._loss_parameters}
        given = {name: value for name, value in given.items() if value is not None}
        for name, value in given.items():
            if self.objective == "quantile" and isinstance(value, (list, tuple, np.ndarray)):
                return quantiles_objective(check_levels(name, value))
            if name not in objective.own_parameters:
                others = [o for o in self._objectives if name in OBJECTIVES[o].own_parameters]
                raise ValueError(
                    f"{name} must be None with objective={self.objective!r}, and may be given with "
                    f"{', '.join(map(repr, others))} only; got {value!r}"
                )
            LOSS_PARAMETERS[name].check(name, value)
        return objective.with_parameters(**{name: float(given[name]) for name in given})

    def _given_base_score(self) -> np.ndarray | None:
        """Raw scores before the first tree, if they are given."""
        if self.base_score is None:
            return None
        score = self.base_score
        values = np.asarray(score) if not isinstance(score, (bool, str, bytes, dict, set)) else None
        if values is None or values.dtype.kind not in "iuf" or values.ndim > 1 or not values.size:
            raise TypeError(
                "base_score must be None, a finite number or a list with one for each raw score; "
                f"got {score!r:.200} of type {type(score).__name__}"
            )
        values = np.atleast_1d(values).astype(np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"base_score must be finite; got {score!r:.200}")
        return values

    def _base_score(
        self,
        objective: Objective,
        magnitude: Magnitude,
        y: np.ndarray,
        weight: np.ndarray,
        n_classes: int,
        backend: Backend,
        row_arrays: Mapping[str, Any] | None,
    ) -> np.ndarray:
        """Raw scores before the first tree: those given, or the constants that are best."""
        given = self._given_base_score()
        if given is None:
            return objective.base_score(y, weight, n_classes, backend.host, row_arrays)
        n_scores = objective.n_outputs(n_classes) * (len(y) if y.ndim == 2 else 1)
        if len(given) not in (1, n_scores):
            raise ValueError(
                f"base_score must be a number, or have one for each of the {n_scores} raw scores; "
                f"got {len(given)} numbers"
            )
        return magnitude.divide(np.repeat(given, n_scores // len(given)), np.empty(0))

    def _fit_boosting(
        self,
        x: Any,
        features: FeatureMap,
        y: np.ndarray,
        weight: np.ndarray,
        evals: list[tuple[Any, np.ndarray, np.ndarray]],
        objective: Objective,
        classes: list[np.ndarray] | None,
        params: BoostParams,
        row_arrays: Mapping[str, Any] | None = None,
        eval_row_arrays: Sequence[Mapping[str, Any]] | None = None,
        row_units: RowUnits | None = None,
    ) -> tuple[Ensemble, History]:
        """Train; touches no attribute of the estimator.

        ``x`` holds numbers, in categorical columns of ``features`` those of the categories; the map
        has no cuts yet. ``y`` holds codes of the classes, if there are any; of several outputs it
        has a row each. ``row_arrays`` has the further arrays of the objective for the training rows
        by name, ``eval_row_arrays`` those of each eval set. ``row_units`` says which rows are
        drawn together.
        """
        eval_arrays = [
            objective.stack_arrays(by_name, ey.shape[-1], f"the rows of eval_set[{i}]")
            for i, (by_name, (_, ey, _)) in enumerate(
                zip(eval_row_arrays or [{}] * len(evals), evals, strict=True)
            )
        ]
        device = device_for(self.device, x)
        for i, (ex, _, _) in enumerate(evals):
            device = device_for(device, ex, f"X of eval_set[{i}]")
        magnitude = Magnitude.of(y, weight, objective)
        objective = magnitude.objective(objective)
        y, scaled_params = magnitude.divide(y, weight), magnitude.params(params)
        metrics = resolve_metrics(self.eval_metric, objective, classes, magnitude.exponent)
        n_classes = 1 if classes is None else len(classes[0])
        rules = magnitude.rules(self._split_rules(features, n_classes, params))
        if objective.n_scores is not None and y.ndim == 2:
            raise ValueError(
                f"y must have one column for objective={self.objective!r}, which predicts "
                f"{objective.n_scores} numbers for it; got {len(y)} columns"
            )
        n_outputs = (1 if y.ndim == 1 else len(y)) * (objective.n_scores or 1)
        self._check_vector_leaves(rules, n_outputs)
        with get_backend(device, self.n_jobs, cells=x.size) as backend:
            features, x = self._with_target_statistics(
                features, x, y, weight, n_classes, rules, backend
            )
            rules = features.rules_of_trees(rules)
            of_trees = features.of_trees.with_cuts(
                Summary.of(x, weight, y.T), params.max_bins, backend
            )
            rules = self._with_forced_splits(rules, features, of_trees, params)
            binned = of_trees.matrix(x, backend, by_rows=True)
            base_score = self._base_score(
                objective, magnitude, y, weight, n_classes, backend, row_arrays
            )
            sets = [
                EvalSet.of(
                    f"validation_{i}",
                    of_trees.matrix(features.expand(ex, backend), backend, by_rows=False),
                    magnitude.divide(ey, ew),
                    ew,
                    base_score,
                    arrays,
                    backend,
                )
                for i, ((ex, ey, ew), arrays) in enumerate(zip(evals, eval_arrays, strict=True))
            ]
            booster = Booster(
                of_trees,
                binned,
                y,
                weight,
                base_score,
                objective,
                scaled_params,
                self._seed(),
                backend,
                row_arrays,
                rules,
                row_units,
                self.oob_score,
            )
            if booster.out_of_bag is not None:
                sets.insert(0, booster.out_of_bag)
            with Progress(
                params.n_estimators, "training", "rounds", int(params.verbose)
            ) as progress:

                def report(results: dict[str, dict[str, list[float]]]) -> None:
                    latest = (
                        f"{set_name}-{metric}: {scores[-1]:.6g}"
                        for set_name, of_set in results.items()
                        for metric, scores in of_set.items()
                    )
                    progress.advance(note="  ".join(latest))

                ensemble, history = boost(
                    booster,
                    base_score,
                    sets,
                    metrics if sets else [],
                    report if params.verbose else None,
                )
        ensemble = magnitude.multiply(replace(ensemble, features=features.without_cuts()))
        check_scores(ensemble, params.learning_rate)
        warn_of_light_rows(ensemble, weight, params)
        return ensemble, history

    def _with_target_statistics(
        self,
        features: FeatureMap,
        x: Any,
        y: np.ndarray,
        weight: np.ndarray,
        n_classes: int,
        rules: SplitRules,
        backend: Backend,
    ) -> tuple[FeatureMap, Any]:
        """The map and the training rows as trees see them; statistics are made on the host."""
        if not features.wants_statistics:
            return features, features.expand(x, backend)
        key = backend.mix_key(self._seed(), TARGET_ORDER)
        sums = TargetSums.of(target_columns(y, n_classes), weight, key)
        host = on_host(x)
        pairs = rules.groups is None  # a path with a pair would need a group with both columns
        features, host = features.with_target_statistics(host, sums, pairs, backend.host)
        return features, host if device_of(x) is None else backend.put(host)

    def _set_fitted(self, ensemble: Ensemble, history: History, params: BoostParams) -> None:
        """All fitted attributes at once, after everything that can fail."""
        self.evals_result_ = history.results
        early = params.early_stopping_rounds is not None
        used = (history.best_round + 1) * ensemble.trees_per_round if early else -1
        self._set_ensemble(replace(ensemble, n_used=used))
        self.__dict__.pop("best_score_", None)
        if early:
            self.best_score_ = history.best_score

    def _check_fitted(self) -> None:
        super()._check_fitted()
        ensemble = ensemble_of(self)
        for f in np.flatnonzero(ensemble.features.is_categorical).tolist():
            n = ensemble.features.features[f].n_numbers
            need(n <= MAX_VALUE_BINS, f"feature {f} has {n} categories, {MAX_VALUE_BINS} at most")
        need(
            hasattr(self, "best_score_") == hasattr(self, "best_iteration_"),
            "there is a best score without a best round, or the other way round",
        )
        # two metrics of one name share a list
        for metrics in self.evals_result_.values():
            for name, scores in metrics.items():
                need(
                    scores and len(scores) % ensemble.n_rounds == 0,
                    f"the metric {name[:50]!r} has {len(scores)} values for "
                    f"{ensemble.n_rounds} rounds",
                )

    @property
    def best_iteration_(self) -> int:
        """Best iteration, counted from 0; only with early stopping."""
        ensemble = ensemble_of(self)
        if ensemble.n_used < 0:
            raise AttributeError("best_iteration_ is there after early stopping only")
        return ensemble.used_rounds - 1

    def _check_evals(
        self,
        pairs: list[tuple[Any, Any]],
        eval_sample_weight: Any,
        features: FeatureMap,
        params: BoostParams,
        n_outputs: int = 1,
    ) -> list[tuple[Any, Any, np.ndarray]]:
        """(X, y, weight) of each eval set.

        X by the map of the training data, y as the estimator's ``_check_eval_y`` leaves it.
        """
        if not pairs:
            if params.early_stopping_rounds is not None and not self.oob_score:
                raise ValueError(
                    f"early_stopping_rounds={params.early_stopping_rounds} needs an eval_set, or "
                    "oob_score=True"
                )
            if eval_sample_weight is not None and len(eval_sample_weight):
                raise ValueError("eval_sample_weight was given without an eval_set")
            return []
        weights = (
            list(eval_sample_weight) if eval_sample_weight is not None else [None] * len(pairs)
        )
        if len(weights) != len(pairs):
            raise ValueError(
                f"eval_sample_weight must have one entry for each of the {len(pairs)} eval "
                f"sets; got {len(weights)}"
            )
        out = []
        for i, ((ex, ey), ew) in enumerate(zip(pairs, weights, strict=True)):
            name = f"y of eval_set[{i}]"
            refuse_mask(name, ey)
            refuse_sparse(name, ey)
            ex = self._check_table(ex, features)
            ey = self._check_eval_y(name, one_column(name, on_host(ey)), len(ex), n_outputs)
            out.append((ex, ey, check_weight(on_host(ew), len(ex), f"eval_sample_weight[{i}]")))
        return out

    def _from_raw(self, backend: Backend, raw: Any) -> Any:
        return backend.apply_link(raw, ensemble_of(self).link)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importance of each feature; the values sum to 1. See ``importance_type``."""
        return ensemble_of(self).importance_shares(self.importance_type)
