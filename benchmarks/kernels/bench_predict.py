"""Prediction: nanoseconds per node visited (rows x trees x depth), one thread.

    python -m gpuboost.benchmarks.kernels.bench_predict --rows 100000 --trees 100 --depth 6

Cases: single rows and a handful (walking the trees), and many rows (coded in blocks)."""

from __future__ import annotations

import numpy as np

from gpuboost.backend import Backend, get_backend
from gpuboost.benchmarks.stages import report_costs, stage_args
from gpuboost.benchmarks.timing import best_of
from gpuboost.data.features import FeatureMap
from gpuboost.model.ensemble import Ensemble
from gpuboost.model.tree import Tree

N_FEATURES = 28
#: Distinct thresholds of a feature.
N_CUTS = 200
FEW = 16


def random_tree(rng: np.random.Generator, cuts: np.ndarray, depth: int) -> Tree:
    """A complete tree with random splits at the given cuts (n_features, N_CUTS)."""
    n_inner, n_nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    inner = np.arange(n_nodes) < n_inner
    feature = np.where(inner, rng.integers(0, len(cuts), n_nodes), -1).astype(np.int32)
    cut = rng.integers(0, N_CUTS, n_nodes)
    return Tree(
        feature=feature,
        threshold=np.where(inner, cuts[feature, cut], 0.0),
        missing_left=(rng.integers(0, 2, n_nodes) * inner).astype(np.uint8),
        left=np.where(inner, 2 * np.arange(n_nodes) + 1, -1).astype(np.int32),
        value=rng.normal(size=(n_nodes, 1)),
        gain=np.zeros(n_nodes),
        cover=np.zeros(n_nodes),
        count=np.zeros(n_nodes, np.int64),
        first_word=np.full(n_nodes, -1, np.int32),
    )


def reference(tree: Tree, x: np.ndarray, depth: int) -> np.ndarray:
    """Values of the leaves that rows fall into, by walking down one level at a time."""
    node = np.zeros(len(x), np.int64)
    for _ in range(depth):
        v = x[np.arange(len(x)), tree.feature[node]].astype(np.float64)
        goes_left = np.where(np.isnan(v), tree.missing_left[node] == 1, v <= tree.threshold[node])
        node = np.where(goes_left, tree.left[node], tree.right[node])
    return tree.value[node, 0]


def predict(forest: Ensemble, x: np.ndarray, backend: Backend) -> np.ndarray:
    """Sum of all trees for rows given as values."""
    out = np.zeros((1, len(x)))
    backend.add_trees(x, forest, 0, len(forest.trees), out)
    return out[0]


def main() -> None:
    args = stage_args(__doc__.splitlines()[0], rows=100_000, trees=100, depth=6)
    rng = np.random.default_rng(0)
    cuts = np.sort(rng.normal(size=(N_FEATURES, N_CUTS)), axis=1)
    x = rng.standard_normal((args.rows, N_FEATURES), dtype=np.float32)
    x[rng.random(x.shape) < 0.05] = np.nan
    trees = [random_tree(rng, cuts, args.depth) for _ in range(args.trees)]
    forest = Ensemble.boosted(trees, np.zeros(1), FeatureMap.of_numbers(N_FEATURES))
    expected = np.sum([reference(tree, x, args.depth) for tree in forest.trees], axis=0)
    visits = args.trees * args.depth
    costs = {}
    with get_backend("cpu", 1) as backend:
        for case, n_rows, run in (
            ("1 row", 1, lambda: predict(forest, x[:1], backend)),
            (f"{FEW} rows", FEW, lambda: predict(forest, x[:FEW], backend)),
            (f"{args.rows:,} rows", args.rows, lambda: predict(forest, x, backend)),
        ):
            np.testing.assert_allclose(run(), expected[:n_rows], rtol=1e-12, atol=1e-12)
            calls = args.repeats if n_rows > FEW else 100 * args.repeats
            costs[case] = best_of(run, calls) / (n_rows * visits) * 1e9
    report_costs("predict", "node", costs, args)


if __name__ == "__main__":
    main()
