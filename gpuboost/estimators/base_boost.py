"""What boosting estimators share: parameters to config, training, fitted attributes."""

from __future__ import annotations

import numbers
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.base import is_classifier

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
    AUTO,
    DART,
    LOSS_PARAMETERS,
    RANGES,
    VECTOR_LEAF,
    BoostParams,
    check_choice,
    check_flag,
)
from gpuboost.data.checks import (
    check_class_labels,
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
from gpuboost.data.features import PRIOR, UNKNOWN, FeatureMap
from gpuboost.data.forced_splits import (
    check_forced_splits,
    check_paths,
    forced_table,
    number_features,
    read_forced_splits,
)
from gpuboost.data.summary import Summary
from gpuboost.data.target_statistics import ENCODINGS, PARTITION, TargetSums, target_columns
from gpuboost.dtypes import MAX_VALUE_BINS, SYMMETRIC
from gpuboost.estimators.base import BaseTrees, TrainedInRounds
from gpuboost.estimators.eval_sets import one_column
from gpuboost.estimators.fit_control import (
    OUT_OF_BAG,
    VALIDATION,
    FitControl,
    check_continued,
    check_eval_margins,
    check_eval_names,
    check_iteration_range,
    check_margin,
    read_init_model,
)
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
    boost,
    warn_of_light_rows,
)
from gpuboost.training.callbacks import Callback, check_callbacks
from gpuboost.training.checkpoint import Checkpoint, signature_of
from gpuboost.training.control import RoundControl, saved_rounds, schedule_of
from gpuboost.training.dart import grid_of
from gpuboost.training.evaluation import EvalSet, History, Results, Stopping, Watch
from gpuboost.training.magnitude import Magnitude, check_scores
from gpuboost.training.prune import check_pruning
from gpuboost.training.row_sampling import RowUnits
from gpuboost.training.start import Start, same_features
from gpuboost.training.validation import TrainingRows, hold_out, rounds_for_all


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
    _unknown = UNKNOWN

    #: Losses to choose from; the classifier's are for two classes.
    _objectives: ClassVar[tuple[str, ...]]
    #: Parameters of the estimator that are parameters of some losses; None: the loss's own value.
    _loss_parameters: ClassVar[tuple[str, ...]] = ()

    def _check_params(self) -> BoostParams:
        """Parameters as a checked config; raises before any work is done."""
        params = BoostParams(
            grow_policy=self._grow_policy(),
            sampling_method=self.sampling_method,
            multi_strategy=self.multi_strategy,
            stopping_metric=self.stopping_metric,
            stopping_set=self.stopping_set,
            validation_split=self.validation_split,
            refit=self.refit,
            prune=self.prune,
            boosting=self.boosting,
            normalize_type=self.normalize_type,
            **{name: getattr(self, name) for name in RANGES}
            | self._share_of_rows()
            | self._first_learning_rate(),
        )
        callbacks = check_callbacks(self.callbacks)
        if params.refit and any(isinstance(one, Checkpoint) for one in callbacks):
            raise ValueError(
                "callbacks must have no Checkpoint with refit=True, which trains two times"
            )
        check_flag("warm_start", self.warm_start)
        if self.warm_start and params.refit:
            raise ValueError("warm_start must be False with refit=True, which trains anew")
        self._check_out_of_bag(params)
        objective = self._named_objective()
        alpha = getattr(self, "alpha", None)
        if (
            alpha is not None
            and self.objective != "quantile"
            and "alpha" not in objective.parameters
        ):
            # no error: scikit-learn's checks of regressors set alpha wherever it is
            warnings.warn(
                f"alpha has no effect with objective={self.objective!r}; got alpha={alpha!r}",
                stacklevel=3,
            )
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
        if self.unknown_category == PRIOR and self.categorical_encoding == PARTITION:
            raise ValueError(
                "unknown_category='prior' is for columns with mean targets: categorical_encoding "
                "must be 'auto', 'target' or 'both'; got 'partition'"
            )
        return params

    def _grow_policy(self) -> Any:
        """``grow_policy``; forced splits are a tree unless symmetric trees are asked for."""
        by_default = isinstance(self.grow_policy, str) and self.grow_policy == AUTO
        return "depthwise" if by_default and self.forced_splits is not None else self.grow_policy

    def _share_of_rows(self) -> dict[str, Any]:
        """``subsample`` as a number, if it is none."""
        return {}

    def _first_learning_rate(self) -> dict[str, Any]:
        """``learning_rate`` as a number, if it is a schedule."""
        n_rounds = self.n_estimators if isinstance(self.n_estimators, numbers.Integral) else 0
        schedule = schedule_of(self.learning_rate, int(n_rounds))
        return {} if schedule is None else {"learning_rate": schedule(0)}

    def _check_out_of_bag(self, params: BoostParams) -> None:
        """Raise if rows out of the bag are asked for where there are none."""
        check_flag("oob_score", self.oob_score)
        if self.oob_score and params.boosting == DART:
            raise ValueError(
                "oob_score must be False with boosting='dart', which changes trees that are there; "
                f"got {self.oob_score!r}"
            )
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
                if params.validation_fraction is not None and params.validation_split == "random":
                    return None  # the groups are those that rows are held out by
                raise ValueError(
                    "groups are for drawing rows, and need a subsample below 1 or "
                    "validation_fraction with validation_split='random'; got "
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
                stacklevel=6,
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
            if name not in objective.own_parameters and name != "alpha":
                others = [o for o in self._objectives if name in OBJECTIVES[o].own_parameters]
                raise ValueError(
                    f"{name} must be None with objective={self.objective!r}, and may be given with "
                    f"{', '.join(map(repr, others))} only; got {value!r}"
                )
            LOSS_PARAMETERS[name].check(name, value)
        used = [name for name in given if name in objective.own_parameters]
        return objective.with_parameters(**{name: float(given[name]) for name in used})

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

    def _fit_and_refit(
        self,
        x: Any,
        features: FeatureMap,
        y: np.ndarray,
        weight: np.ndarray,
        evals: list[tuple[Any, np.ndarray, np.ndarray]],
        objective: Objective,
        classes: list[np.ndarray] | None,
        params: BoostParams,
        units: RowUnits | None,
        control: FitControl,
    ) -> tuple[Ensemble, History]:
        """Train, and with ``refit`` again on all rows, as long as was best for fewer."""
        given = x, features, y, weight, evals, objective, classes
        ensemble, history = self._fit_boosting(*given, params, row_units=units, control=control)
        if not params.refit or control.held_out is None:
            return ensemble, history
        n_rounds = rounds_for_all(history.best_round + 1, control.held_out)
        again = replace(
            params,
            n_estimators=n_rounds,
            early_stopping_rounds=None,
            min_delta=0.0,
            stopping_metric=None,
            stopping_set=None,
            validation_fraction=None,
            validation_split="random",
            refit=False,
        )
        control = FitControl(margin=control.margin, model=control.model)
        ensemble, _ = self._fit_boosting(*given, again, row_units=units, control=control)
        return ensemble, replace(history, best_round=n_rounds - 1)

    def _check_outputs(self, objective: Objective, y: np.ndarray) -> int:
        """How many outputs a tree may have; raises if the objective has several for one target."""
        if objective.n_scores is not None and y.ndim == 2:
            raise ValueError(
                f"y must have one column for objective={self.objective!r}, which predicts "
                f"{objective.n_scores} numbers for it; got {len(y)} columns"
            )
        return (1 if y.ndim == 1 else len(y)) * (objective.n_scores or 1)

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
        control: FitControl | None = None,
    ) -> tuple[Ensemble, History]:
        """Train; touches no attribute of the estimator.

        ``x`` holds numbers, in categorical columns of ``features`` those of the categories; the map
        has no cuts yet. ``y`` holds codes of the classes, if there are any; of several outputs it
        has a row each. ``row_arrays`` has the further arrays of the objective for the training rows
        by name, ``eval_row_arrays`` those of each eval set. ``row_units`` says which rows are
        drawn together, ``control`` what else the user says about the course of training.
        """
        begun, control = time.monotonic(), FitControl() if control is None else control
        device = device_for(self.device, x)
        if control.held_out is not None:
            everything = TrainingRows(x, y, weight, row_arrays, row_units, control.margin)
            with get_backend(device, self.n_jobs) as backend:
                train, valid = (everything.take(rows, backend) for rows in control.held_out)
            x, y, weight, row_arrays, row_units, _ = train
            evals, eval_row_arrays = [(valid.x, valid.y, valid.weight)], [valid.row_arrays or {}]
            control = control.with_margins(train.margin, valid.margin)
        eval_names = control.eval_names or check_eval_names(None, len(evals))
        eval_arrays = [
            objective.stack_arrays(by_name, ey.shape[-1], f"the rows of eval_set[{i}]")
            for i, (by_name, (_, ey, _)) in enumerate(
                zip(eval_row_arrays or [{}] * len(evals), evals, strict=True)
            )
        ]
        for i, (ex, _, _) in enumerate(evals):
            device = device_for(device, ex, f"X of eval_set[{i}]")
        magnitude = Magnitude.of(y, weight, objective)
        objective = magnitude.objective(objective)
        check_pruning(params, objective)
        y, scaled_params = magnitude.divide(y, weight), magnitude.params(params)
        metrics = resolve_metrics(self.eval_metric, objective, classes, magnitude.exponent)
        curves = [OUT_OF_BAG, *eval_names] if self.oob_score else eval_names
        stopping = Stopping.of(params, curves, metrics)
        n_classes = 1 if classes is None else len(classes[0])
        rules = magnitude.rules(self._split_rules(features, n_classes, params))
        self._check_vector_leaves(rules, self._check_outputs(objective, y))
        with get_backend(device, self.n_jobs, cells=x.size) as backend:
            features, x = self._with_target_statistics(
                features, x, y, weight, n_classes, rules, backend
            )
            start = self._start(
                control, magnitude, features, objective, classes, y, weight, row_arrays, backend
            )
            if params.boosting == DART:
                start = start.on_grid(grid_of(objective, y, weight, len(start.base_score)))
            rules = features.rules_of_trees(rules)
            of_trees = features.of_trees.with_cuts(
                Summary.of(x, weight, y.T), params.max_bins, backend
            )
            rules = self._with_forced_splits(rules, features, of_trees, params)
            callbacks = check_callbacks(self.callbacks)
            start, signature = self._from_checkpoint(
                start, callbacks, scaled_params, features, x, y, weight, classes, row_arrays,
                row_units, evals, eval_arrays, [metric.name for metric in metrics],
                (objective.name, objective.values), rules, stopping, replace(control, model=None),
            )  # fmt: skip
            rules = start.rules(rules)
            binned = of_trees.matrix(x, backend, by_rows=True)

            def raw_scores(rows: Any, margin: np.ndarray | None) -> np.ndarray:
                divided = None if margin is None else np.ldexp(margin, -magnitude.exponent)
                return start.raw(rows, len(rows), divided, of_trees, objective, backend)

            sets = []
            for i, (name, (ex, ey, ew)) in enumerate(zip(eval_names, evals, strict=True)):
                ex = features.expand(ex, backend)
                margin = control.eval_margins[i] if control.eval_margins else None
                sets.append(
                    EvalSet.of(
                        name,
                        of_trees.matrix(ex, backend, by_rows=False),
                        magnitude.divide(ey, ew),
                        ew,
                        raw_scores(ex, margin),
                        eval_arrays[i],
                        backend,
                    )
                )
            booster = Booster(
                of_trees,
                binned,
                y,
                weight,
                start.base_score,
                objective,
                scaled_params,
                self._seed(),
                backend,
                row_arrays,
                rules,
                row_units,
                self.oob_score,
                raw_scores(x, control.margin),
                start.n_rounds,
                start.trees,
            )
            if booster.out_of_bag is not None:
                sets.insert(0, booster.out_of_bag)
            n_rounds = scaled_params.n_estimators
            with Progress(n_rounds, "training", "rounds", int(params.verbose)) as progress:

                def report(results: Results) -> None:
                    latest = (
                        f"{set_name}-{metric}: {scores[-1]:.6g}"
                        for set_name, of_set in results.items()
                        for metric, scores in of_set.items()
                    )
                    progress.advance(note="  ".join(latest))

                watch = Watch(
                    stopping,
                    sets,
                    metrics if sets else [],
                    report if params.verbose else None,
                    backend,
                    n_rounds,
                    start.n_rounds,
                )
                if start.n_rounds and params.verbose:
                    progress.advance(start.n_rounds)
                if start.results is not None:
                    watch.take_over(start.results)
                schedule = schedule_of(self.learning_rate, n_rounds)
                rounds = RoundControl(
                    params.learning_rate, schedule, params.max_time, callbacks, signature, begun
                )
                ensemble, history = boost(booster, watch, rounds, start)
        ensemble = magnitude.multiply(replace(ensemble, features=features.without_cuts()))
        check_scores(ensemble, params.learning_rate)
        warn_of_light_rows(ensemble, weight, params)
        return ensemble, history

    def _from_checkpoint(
        self, start: Start, callbacks: list[Callback], params: BoostParams, *data: Any
    ) -> tuple[Start, str]:
        """Where training goes on if a checkpoint has more rounds, and what tells its data."""
        if not any(isinstance(callback, Checkpoint) for callback in callbacks):
            return start, ""
        told = replace(params, n_estimators=1, max_time=None, verbose=0)
        own = self.learning_rate, self._seed(), self.oob_score, start.n_rounds, start.trees
        signature = signature_of(told, own, data)
        start = start.or_saved(saved_rounds(callbacks, signature))
        if start.n_rounds > params.n_estimators:
            raise ValueError(
                f"n_estimators={params.n_estimators} must be at least the {start.n_rounds} rounds "
                "of the checkpoint in callbacks"
            )
        return start, signature

    def _start(
        self,
        control: FitControl,
        magnitude: Magnitude,
        features: FeatureMap,
        objective: Objective,
        classes: list[np.ndarray] | None,
        y: np.ndarray,
        weight: np.ndarray,
        row_arrays: Mapping[str, Any] | None,
        backend: Backend,
    ) -> Start:
        """Where training begins; raises unless it can go on from the model that is given."""
        n_classes = 1 if classes is None else len(classes[0])
        if control.model is None:
            base_score = self._base_score(
                objective, magnitude, y, weight, n_classes, backend, row_arrays
            )
            return Start(base_score if control.margin is None else np.zeros_like(base_score))
        who = "the model that warm_start goes on from" if self.warm_start else "init_model"
        n_outputs = len(y) if y.ndim == 2 else objective.n_outputs(n_classes)
        n_values = n_outputs if self.multi_strategy == VECTOR_LEAF else 1
        check_continued(who, control.model, objective.link, classes, n_outputs, n_values)
        if not same_features(features, control.model.features):
            raise ValueError(
                f"{who} must have been trained on the same features: their number, kinds, "
                "categories and target statistics differ from those of X"
            )
        return Start.behind(control.model, magnitude.exponent, control.results)

    def _fit_control(
        self,
        params: BoostParams,
        y: np.ndarray,
        weight: np.ndarray,
        codes: np.ndarray | None,
        n_outputs: int,
        evals: Sequence[tuple[Any, Any, np.ndarray]],
        groups: Any,
        eval_names: Any,
        base_margin: Any,
        eval_base_margin: Any,
        init_model: Any,
    ) -> tuple[FitControl, BoostParams]:
        """The course of training, and parameters with the number of all rounds.

        ``codes`` are those of the classes that rows are held out by.
        """
        n_rows, held_out = y.shape[-1], None
        names = check_eval_names(eval_names, len(evals))
        if params.validation_fraction is not None:
            if evals:
                raise ValueError(
                    "validation_fraction and an eval_set exclude each other: rows are held out "
                    "only if no set is given to watch"
                )
            groups = None if groups is None else check_groups(groups, n_rows)
            held_out = hold_out(
                params.validation_fraction,
                params.validation_split,
                n_rows,
                self._seed(),
                weight,
                codes,
                groups if params.validation_split == "random" else None,
            )
            names = [VALIDATION]
        margin = check_margin("base_margin", base_margin, n_rows, n_outputs)
        eval_margins = check_eval_margins(
            eval_base_margin,
            margin is not None and held_out is None,
            [len(ew) if ew.size else len(ex) for ex, _, ew in evals],
            n_outputs,
        )
        control = FitControl(names, held_out, margin, eval_margins)
        if init_model is not None:
            if self.warm_start:
                raise ValueError(
                    "init_model must be None with warm_start=True, which goes on from the "
                    "estimator's own model"
                )
            model = read_init_model(init_model)
            params = replace(params, n_estimators=params.n_estimators + model.n_rounds)
            return replace(control, model=model), params
        if self.warm_start and hasattr(self, "ensemble_"):
            model = ensemble_of(self)
            if params.n_estimators < model.n_rounds:
                raise ValueError(
                    f"n_estimators={params.n_estimators} must be at least the {model.n_rounds} "
                    "rounds that are there, with warm_start=True"
                )
            return replace(control, model=model, results=self._curves_so_far(names)), params
        return control, params

    def _curves_so_far(self, names: list[str]) -> Results:
        """The curves that a warm start goes on with, which must be those of the same sets."""
        wanted = ([OUT_OF_BAG] if self.oob_score else []) + names
        if list(self.evals_result_) != wanted:
            raise ValueError(
                "warm_start=True goes on with the curves of evals_result_, of the eval sets "
                f"{list(self.evals_result_)}; this fit has {wanted}"
            )
        return self.evals_result_

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
        for metrics in self.evals_result_.values():
            for name, scores in metrics.items():
                need(scores, f"the metric {name[:50]!r} has no values")

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
            watched = self.oob_score or params.validation_fraction is not None
            if params.early_stopping_rounds is not None and not watched:
                raise ValueError(
                    f"early_stopping_rounds={params.early_stopping_rounds} needs an eval_set, "
                    "validation_fraction or oob_score=True"
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
            if is_classifier(self):
                check_class_labels(name, on_host(ey))
            ex = self._check_table(ex, features)
            ey = self._check_eval_y(name, one_column(name, on_host(ey)), len(ex), n_outputs)
            out.append((ex, ey, check_weight(on_host(ew), len(ex), f"eval_sample_weight[{i}]")))
        return out

    def _predict_rounds(
        self,
        x: Any,
        finish: Callable[[Backend, Any], Any],
        base_margin: Any,
        iteration_range: Any,
    ) -> Any:
        """``_predict`` by some of the rounds, and with margins added to the base scores."""
        if base_margin is None and iteration_range is None:
            return self._predict(x, finish)
        ensemble = ensemble_of(self)
        first, end = 0, None
        if iteration_range is not None:
            first, end = check_iteration_range(iteration_range, ensemble.n_rounds)
        x = self.check_rows(x)
        margin = check_margin("base_margin", base_margin, len(x), ensemble.n_channels)
        with self._backend(x) as backend:
            return finish(backend, ensemble.raw(x, backend, end, first, margin))

    def _from_raw(self, backend: Backend, raw: Any) -> Any:
        return backend.apply_link(raw, ensemble_of(self).link)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importance of each feature; the values sum to 1. See ``importance_type``."""
        return ensemble_of(self).importance_shares(self.importance_type)
