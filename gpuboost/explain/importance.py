"""Importances of features.

What each measure estimates, and when it misleads, is in docs/importances.md.

Measures that look at out-of-bag rows take the forest and the data it was trained on. They count
every row once, whatever its sample weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from gpuboost.backend import get_backend, on_host
from gpuboost.data.categorical import categorical_columns
from gpuboost.data.columns import columns_of, take_rows, without_column
from gpuboost.data.sparse import dense_matrix
from gpuboost.explain.out_of_bag import (
    Bagged,
    improvements_by_tree,
    permuted_by_tree,
    projected_increase,
    steps_by_tree,
)
from gpuboost.model.ensemble import ensemble_of
from gpuboost.optional import load


@dataclass(frozen=True)
class Importance:
    """One measure of all features.

    Attributes
    ----------
    method : str
        Name of the measure.
    names : list of str
        Names of the features.
    values : ndarray of shape (n_features,)
        The importances.
    errors : ndarray of shape (n_features,)
        Their standard errors; NaN where the measure has none.
    """

    method: str
    names: list[str]
    values: np.ndarray
    errors: np.ndarray


# --- from the training data


def mdi(model: Any, normalize: bool = True) -> Importance:
    """Mean decrease of impurity: what the splits on a feature gained when the trees were grown.

    Parameters
    ----------
    model : estimator
        Any fitted estimator of the library.
    normalize : bool, default=True
        Whether to give shares. Else the decrease itself is given: the sum over a feature's splits
        of the decrease of impurity times the node's share of the weight. Of several trees it is
        the mean, by their weights if they have any. Boosting: the sum of the gains, which has the
        loss's unit.

    Returns
    -------
    Importance
        Shares that add up to 1. Boosting: of the total gain. Classical trees: the mean over trees
        of the shares in each, by the trees' weights if they have any.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gpuboost import GPUBoostClassifier, importance
    >>> model = GPUBoostClassifier(n_estimators=10).fit(*load_iris(return_X_y=True))
    >>> int(importance.mdi(model).values.argmax())
    2
    """
    ensemble = ensemble_of(model)
    values = ensemble.importance_shares() if normalize else ensemble.decreases()
    return _result("mdi", model, values)


# --- from new data


def mda(
    model: Any, X: Any, y: Any, scoring: Any = None, n_repeats: int = 5, random_state: Any = 0
) -> Importance:
    """Mean decrease of accuracy: how much worse the score gets when a column is permuted.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    X : array-like of shape (n_samples, n_features)
        Rows that the model was not trained on.
    y : array-like of shape (n_samples,)
        Their targets.
    scoring : str, callable or None, default=None
        Score as scikit-learn names it; None: the model's own.
    n_repeats : int, default=5
        Permutations of each column.
    random_state : int, RandomState or None, default=0
        Seed of the permutations.

    Returns
    -------
    Importance
        Decreases of the score; standard errors over the permutations.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gpuboost import GPUBoostClassifier, importance
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GPUBoostClassifier(n_estimators=10).fit(X[::2], y[::2])
    >>> bool(importance.mda(model, X[1::2], y[1::2]).values[2] > 0.1)
    True
    """
    from sklearn.inspection import permutation_importance

    result = permutation_importance(
        model, X, y, scoring=scoring, n_repeats=n_repeats, random_state=random_state
    )
    return _result("mda", model, result.importances_mean, _error_of_mean(result.importances))


def drop_column(model: Any, X: Any, y: Any, cv: Any = 5, random_state: Any = 0) -> Importance:
    """How much predictive power is lost when the model is trained again without a column.

    It is found by cross-validation. Predictiveness V is R squared for numbers and accuracy for
    classes, measured on rows left out of training; the importance is V(all columns) - V(all but
    one), as in Williamson, Gilbert, Carone and Simon (2021). It takes (n_features + 1) * cv fits.

    Parameters
    ----------
    model : estimator
        An estimator, fitted or not; it is cloned.
    X : array-like of shape (n_samples, n_features)
        All rows.
    y : array-like of shape (n_samples,)
        Their targets.
    cv : int or splitter, default=5
        Folds; an integer means that many shuffled ones, stratified for classes.
    random_state : int, RandomState or None, default=0
        Seed of the shuffling.

    Returns
    -------
    Importance
        Differences of V, with standard errors from the influence of each row. They are too small
        for a column without any importance, for which the influence is 0 in the limit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gpuboost import GPUBoostRegressor, importance
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GPUBoostRegressor(n_estimators=30, max_depth=2)
    >>> importance.drop_column(model, X[:, [0, 2, 8]], y, cv=3).values.shape
    (3,)
    """
    # not with the library: importing it takes long
    from sklearn.model_selection import KFold, StratifiedKFold, check_cv

    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y must be a vector for drop_column; got shape {y.shape}")
    classification = is_classifier(model)
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        cv = (StratifiedKFold if classification else KFold)(
            int(cv), shuffle=True, random_state=random_state
        )
    folds = list(check_cv(cv, y, classifier=classification).split(X, y))
    columns = columns_of(X)
    n_features = np.shape(X)[1] if columns is None else len(columns)
    names = None if columns is None or columns.names is None else list(map(str, columns.names))
    values, influences = np.zeros((len(folds), n_features)), [[] for _ in range(n_features)]  # type: ignore[var-annotated]
    for k, (train, test) in enumerate(folds):
        full = _power(clone(model), X, y, train, test, classification)
        for j in range(n_features):
            reduced = _power(
                _without(model, names, n_features, j),
                without_column(X, j),
                y,
                train,
                test,
                classification,
            )
            values[k, j] = full[0] - reduced[0]
            influences[j].append(full[1] - reduced[1])
    variance = [np.mean([fold.var() for fold in of_feature]) for of_feature in influences]
    return _result(
        "drop_column",
        model,
        values.mean(axis=0),
        np.sqrt(np.array(variance) / sum(len(test) for _, test in folds)),
        names,
    )


def _power(
    model: Any, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray, classification: bool
) -> tuple[float, np.ndarray]:
    """Predictiveness on the test rows, and what each of them adds to it (up to a constant)."""
    prediction = model.fit(take_rows(X, train), y[train]).predict(take_rows(X, test))
    if classification:
        hit = (prediction == y[test]).astype(np.float64)
        return float(hit.mean()), hit
    squares, spread = (y[test] - prediction) ** 2, (y[test] - y[test].mean()) ** 2
    variance = float(spread.mean()) or 1.0
    return 1.0 - float(squares.mean()) / variance, float(
        squares.mean()
    ) * spread / variance**2 - squares / variance


def _without(model: Any, names: Sequence[str] | None, n_features: int, j: int) -> Any:
    """A clone that knows the columns of categories where they are after a column is gone."""
    model = clone(model)
    chosen = getattr(model, "categorical_features", None)
    if chosen is not None and not isinstance(chosen, str):
        named = categorical_columns(None, n_features, names, chosen)
        model.set_params(categorical_features=[f - (f > j) for f in named if f != j] or None)
    return model


# --- from out-of-bag rows


def mda_oob(model: Any, X: Any, y: Any, random_state: Any = 0) -> Importance:
    """How much worse each tree gets on its out-of-bag rows when a column is permuted among them.

    The measure is that of Breiman (2001).

    Parameters
    ----------
    model : forest
        A fitted forest with bootstrap samples.
    X : array-like of shape (n_samples, n_features)
        The rows it was trained on.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Their targets.
    random_state : int or None, default=0
        Seed of the permutations.

    Returns
    -------
    Importance
        Mean over the trees of the increase of the error rate, or of the mean squared error;
        standard errors over the trees.
    """
    rng = np.random.default_rng(random_state)
    return _mean_over_trees("mda_oob", model, X, y, partial(permuted_by_tree, rng=rng))


def mdi_oob(model: Any, X: Any, y: Any) -> Importance:
    """Decrease of impurity as out-of-bag rows see it (Li, Wang, Basu, Kumbier and Yu 2019).

    A split on feature k moves the prediction of a row from the node's mean to that of the child it
    goes to. Let f(x) be the sum of these steps over the splits on k that x passes in a tree, with
    means over the rows in the bag. The mean of f(x) * y over the rows in the bag is the decrease of
    impurity due to k. MDI-oob is the mean of f(x) * y over the tree's out-of-bag rows, which the
    splits were not chosen on. Classes are targets of 0 and 1, one for each class, which makes it
    the decrease of Gini impurity. y is taken as its distance from the tree's mean: that changes
    nothing in the bag, and takes noise away out of it.

    Parameters
    ----------
    model : forest
        A fitted forest with bootstrap samples.
    X : array-like of shape (n_samples, n_features)
        The rows it was trained on.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Their targets.

    Returns
    -------
    Importance
        Mean over the trees, in units of variance or of Gini impurity; about 0, and maybe below, for
        noise.
    """
    return _mean_over_trees("mdi_oob", model, X, y, steps_by_tree)


def ufi(model: Any, X: Any, y: Any) -> Importance:
    """Unbiased split improvement (Zhou and Hooker 2021).

    The impurity of a node is half the mean squared difference between the targets of a row in the
    bag and an out-of-bag row of the node. For classes that is the chance that the two differ; Gini
    impurity takes both rows from the bag. A feature's importance is the sum over its splits of the
    node's impurity less that of its children, each times its share of the rows in the bag. Splits
    with a child that no out-of-bag row reaches are left out.

    Parameters
    ----------
    model : forest
        A fitted forest with bootstrap samples.
    X : array-like of shape (n_samples, n_features)
        The rows it was trained on.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Their targets.

    Returns
    -------
    Importance
        Mean over the trees, in units of variance or of Gini impurity; about 0, and maybe below, for
        noise.
    """
    return _mean_over_trees("ufi", model, X, y, improvements_by_tree)


def sobol_mda(model: Any, X: Any, y: Any) -> Importance:
    """Share of the variance that is no longer explained when the trees ignore a feature.

    The measure is that of Benard, Da Veiga and Scornet (2022).

    At a split on the feature a row follows both children. Rows that reach the same leaves are a
    cell of the projected tree, which predicts the mean of its rows in the bag; an out-of-bag row
    that shares its cell with none of them is predicted from the last level at which it did. The
    importance is the increase of the out-of-bag mean squared error of the forest, divided by the
    variance of y. It estimates the total Sobol index: what is lost when a forest is trained without
    the feature, without training one.

    Parameters
    ----------
    model : forest
        A fitted forest with bootstrap samples.
    X : array-like of shape (n_samples, n_features)
        The rows it was trained on.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Their targets.

    Returns
    -------
    Importance
        Shares of the variance; for classes, of the sum of the variances of their indicators.
        Standard errors over the rows.
    """
    bagged = _bagged("sobol_mda", model, X, y)
    with get_backend(model.device, model.n_jobs) as backend:
        increase = projected_increase(bagged, backend)
    variance = bagged.y.var(axis=0).sum() or 1.0
    return _result(
        "sobol_mda", model, increase.mean(axis=1) / variance, _error_of_mean(increase) / variance
    )


def _bagged(method: str, model: Any, X: Any, y: Any) -> Bagged:
    """Check that a model is a forest with out-of-bag rows, and these may be its training data."""
    if not hasattr(model, "bag_counts"):
        raise TypeError(
            f"{method} needs a random forest with bootstrap samples; got {type(model).__name__}"
        )
    ensemble = ensemble_of(model)
    if ensemble.features.has_made_columns:
        raise ValueError(
            f"{method} asks for one column at a time, and with date_features trees see several of "
            "one: use mda or drop_column"
        )
    rows = dense_matrix(on_host(model.check_rows(X)))
    x, y = np.ascontiguousarray(rows, np.float64), np.asarray(on_host(y))
    n_rows = len(model.bag_counts(0))
    for name, data in (("X", x), ("y", y)):
        if len(data) != n_rows:
            raise ValueError(
                f"{name} must be the training data of the forest, which has {n_rows} rows; got "
                f"{len(data)}"
            )
    if not any((model.bag_counts(t) == 0).any() for t in range(len(ensemble.trees))):
        raise ValueError(
            f"{method} needs out-of-bag rows, but every tree has all rows in its bag; fit the "
            "forest with bootstrap=True"
        )
    y = y.reshape(n_rows, -1)
    if ensemble.classes is None:
        return Bagged(ensemble, x, y.astype(np.float64), model.bag_counts)
    for o, classes in enumerate(ensemble.classes):
        unknown = ~np.isin(y[:, o], classes)
        if unknown.any():
            raise ValueError(
                "y has a class that the training data of the forest does not have: "
                f"{y[unknown, o][0]!r}"
            )
    indicators = [y[:, [o]] == classes for o, classes in enumerate(ensemble.classes)]
    return Bagged(ensemble, x, np.hstack(indicators).astype(np.float64), model.bag_counts)


def _mean_over_trees(
    name: str, model: Any, X: Any, y: Any, by_tree: Callable[..., Iterator[np.ndarray]]
) -> Importance:
    """Importances that a function gives for each tree of a forest."""
    bagged = _bagged(name, model, X, y)
    with get_backend(model.device, model.n_jobs) as backend:
        values = np.stack(list(by_tree(bagged, backend=backend)), axis=1)
    return _result(name, model, values.mean(axis=1), _error_of_mean(values))


def _error_of_mean(samples: np.ndarray) -> np.ndarray:
    """Standard error of the mean over the last axis; NaN for a single sample."""
    n = samples.shape[-1]
    return (
        samples.std(axis=-1, ddof=1) / np.sqrt(n) if n > 1 else np.full(samples.shape[:-1], np.nan)
    )


def _result(
    method: str,
    model: Any,
    values: np.ndarray,
    errors: np.ndarray | None = None,
    names: list[str] | None = None,
) -> Importance:
    if not names:
        numbered = [f"x{f}" for f in range(len(values))]
        names = list(map(str, getattr(model, "feature_names_in_", numbered)))
    errors = np.full(len(values), np.nan) if errors is None else errors
    return Importance(method, names, values, errors)


# --- side by side

METHODS: dict[str, Callable[..., Importance]] = {
    "mdi": lambda model, X, y: mdi(model),
    "mda": mda,
    "mda_oob": mda_oob,
    "mdi_oob": mdi_oob,
    "ufi": ufi,
    "sobol_mda": sobol_mda,
    "drop_column": drop_column,
}


@dataclass(frozen=True)
class Table:
    """Several measures of the same features.

    Attributes
    ----------
    methods : list of str
        Names of the measures.
    names : list of str
        Names of the features.
    values, errors : ndarray of shape (n_methods, n_features)
        Importances and their standard errors, NaN where there are none.
    """

    methods: list[str]
    names: list[str]
    values: np.ndarray
    errors: np.ndarray

    @classmethod
    def of(cls, measures: Sequence[Importance]) -> Table:
        """Put measures of the same features side by side."""
        return cls(
            [one.method for one in measures],
            measures[0].names,
            np.stack([one.values for one in measures]),
            np.stack([one.errors for one in measures]),
        )

    def to_frame(self) -> Any:
        """The importances as a pandas DataFrame.

        Returns
        -------
        DataFrame
            One row for each feature, one column for each method.
        """
        return load("pandas", "to_frame").DataFrame(
            self.values.T, index=self.names, columns=self.methods
        )


def table(model: Any, X: Any, y: Any, methods: Sequence[str] = ("mdi", "mda")) -> Table:
    """Several measures of one model.

    Parameters
    ----------
    model : estimator
        A fitted estimator; a forest for the out-of-bag measures.
    X : array-like of shape (n_samples, n_features)
        Rows: of the training data for the out-of-bag measures, new ones for "mda".
    y : array-like of shape (n_samples,)
        Their targets.
    methods : sequence of str, default=("mdi", "mda")
        Any of "mdi", "mda", "mda_oob", "mdi_oob", "ufi", "sobol_mda", "drop_column".

    Returns
    -------
    Table
        The importances.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gpuboost import AdaBoostClassifier, importance
    >>> X, y = load_iris(return_X_y=True)
    >>> importance.table(AdaBoostClassifier(n_estimators=5).fit(X, y), X, y).values.shape
    (2, 4)
    """
    methods = [methods] if isinstance(methods, str) else list(methods)
    unknown = [name for name in methods if name not in METHODS]
    if unknown or not methods:
        raise ValueError(
            f"methods must be some of {', '.join(map(repr, METHODS))}; got "
            f"{unknown[0] if unknown else methods!r}"
        )
    return Table.of([METHODS[name](model, X, y) for name in methods])


#: Colours that people with any kind of colour vision tell apart (Okabe and Ito 2008).
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
#: Longest feature name that is drawn in full.
MAX_NAME = 32


def plot(table: Table, max_features: int = 30) -> Any:
    """Draw measures side by side, one panel each, features in the order of the first one.

    Parameters
    ----------
    table : Table
        What ``table`` returned.
    max_features : int, default=30
        Features to draw: the highest ones by the first measure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; bars are importances, whiskers two standard errors.
    """
    order = np.argsort(-table.values[0], kind="stable")[:max_features]
    names = [_shorten(table.names[f]) for f in order]
    n_methods, n = len(table.methods), len(order)
    width = 0.075 * max(map(len, names)) + 0.3 + 2.2 * n_methods
    figure = load("matplotlib.figure", "importance.plot").Figure(
        figsize=(width, 0.8 + 0.24 * n), layout="constrained"
    )
    panels = figure.subplots(1, n_methods, sharey=True, squeeze=False)[0]
    for k, (panel, method) in enumerate(zip(panels, table.methods, strict=True)):
        errors = 2.0 * table.errors[k, order]
        panel.barh(
            np.arange(n), table.values[k, order],
            xerr=np.nan_to_num(errors) if np.isfinite(errors).any() else None,
            color=COLOURS[k % len(COLOURS)], height=0.7,
            error_kw={"elinewidth": 1.0, "ecolor": "#333333"},
        )  # fmt: skip
        panel.axvline(0.0, color="#333333", linewidth=0.8)
        panel.set_title(method, fontsize=10)
        panel.locator_params(axis="x", nbins=3)
        panel.tick_params(labelsize=8)
        panel.grid(axis="x", linewidth=0.4, alpha=0.5)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(np.arange(n), names)
    panels[0].set_ylim(n - 0.4, -0.6)
    return figure


def _shorten(name: str) -> str:
    half = MAX_NAME // 2 - 1
    return name if len(name) <= MAX_NAME else f"{name[:half]}…{name[-half:]}"
