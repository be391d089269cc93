"""Every kernel compiles for every supported architecture, without spills.

And uses what the committed table says.

``PYTHONPATH=. python tests/cuda/test_compiler.py`` writes the table anew.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import compiling
import ptx_cases

from gpuboost.dtypes import GROWTH, NODE, SAMPLE, SET_NODE, WALK_NODE
from gpuboost.kernels.cuda import (
    binning,
    compiler,
    gradients,
    leaf_quantiles,
    predict,
    rowwise,
    sampling,
)
from gpuboost.kernels.cuda.records import STATE
from gpuboost.kernels.emulation.ptx import compilers
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.objectives.metrics import ROW_METRICS
from gpuboost.scalar import rows
from gpuboost.scalar.sampling import weight_left_out

TABLE = Path(__file__).parent / "compile_table.json"
#: Dynamic shared memory of kernels.
GROUP_BYTES = 16 * 256 * 4
CELL_BYTES = 256 * (4 + 2 * 8)  # a count and two sums for each code: two classes, or one output
SCORE_BYTES = 256 * (4 * 2 + 2) * 8  # two numbers for each of four sides, two scores
# of a search of any kind, for 256 codes and two sums: prefix sums, halves and a key of each, six
# lists; the scores of 256 cuts
SEARCH_BYTES = 256 * (2 * 16 + 8 + 6 * 4) + 2 * 8 + (2 * 256 + 1) * 8 + 4 * 8
DYNAMIC = {
    ("histogram", "build_histograms"): 2 * GROUP_BYTES,
    ("cart", "sum_tiles"): CELL_BYTES,
    ("cart", "score_cuts"): SCORE_BYTES + CELL_BYTES,
    ("cart_search", "search_features"): SEARCH_BYTES,
}


def threads_of(kernel, source):
    """Threads from the kernel's launch bounds."""
    bounds = source.split(f") {kernel}(")[0].rsplit("__launch_bounds__(", 1)[-1].split(",")[0]
    constants = {**compiler.THREADS, "N_CODES": 256, "LANES": 128, "WARP": 32}
    return constants.get(bounds, 256)


def measure(version, file, architecture):
    """{kernel: registers, spills, shared bytes, occupancy and its limit}."""
    source = compiler.source(file, 16, False)
    _, log = compilers.compile_cubin(version, source, architecture, compiler.OPTIONS)
    out = {}
    for kernel, (registers, spilled, shared) in compiling.usage(log).items():
        dynamic = DYNAMIC.get((file, kernel), 0)
        percent, limit = compiling.occupancy(
            architecture, threads_of(kernel, source), registers, shared + dynamic
        )
        out[kernel] = {
            "registers": registers,
            "spilled": spilled,
            "shared": shared,
            "dynamic": dynamic,
            "occupancy": percent,
            "limit": limit,
        }
    return out


CASES = [(version, arch) for version, archs in compiling.ARCHITECTURES.items() for arch in archs]


@pytest.mark.parametrize("file", compiler.FILES)
@pytest.mark.parametrize(("version", "architecture"), CASES)
def test_compiles_without_spills_as_the_table_says(version, architecture, file):
    measured = measure(version, file, architecture)
    assert measured and all(kernel["spilled"] == 0 for kernel in measured.values()), measured
    table = json.loads(TABLE.read_text())
    assert measured == table[version][f"sm_{architecture}"][file]


#: What some fits compile in besides, and the files that it changes; rows are counted in all.
BESIDES = {
    "monotone features": ({"rules": ("constrained",)}, ("split", "partition", "growth", "leaves")),
    "a sparse matrix": ({"sparse": True}, ("sparse", "split", "partition", "growth")),
    "sets of categories": (
        {"rules": ("constrained", "penalized", "categorical")},
        ("sets", "split", "partition", "growth", "leaves"),
    ),
    "all rules": ({"rules": compiler.RULES, "sparse": True}, ("split", "partition", "growth")),
}


@pytest.mark.parametrize(
    ("what", "file"), [(what, file) for what, (_, files) in BESIDES.items() for file in files]
)
@pytest.mark.parametrize(("version", "architecture"), [("cu12", 75), ("cu12", 90), ("cu13", 120)])
def test_what_some_fits_need_costs_no_spills(version, architecture, what, file):
    source = compiler.source(file, 16, True, **BESIDES[what][0])
    _, log = compilers.compile_cubin(version, source, architecture, compiler.OPTIONS)
    assert all(spilled == 0 for _, spilled, _ in compiling.usage(log).values())
    assert "fma." not in compilers.compile_ptx(version, source, architecture, compiler.OPTIONS)


@pytest.mark.parametrize("architecture", [80, 90])
def test_the_histogram_kernel_fills_half_a_multiprocessor(architecture):
    table = json.loads(TABLE.read_text())
    assert table["cu12"][f"sm_{architecture}"]["histogram"]["build_histograms"]["occupancy"] >= 50


@pytest.mark.parametrize("group_features", [16, 32])
def test_the_page_says_what_groups_of_features_take(group_features):
    """docs/cuda.md: groups of 32 would need an opt-in to more shared memory, and lose threads."""
    lines = (Path(__file__).parents[2] / "docs" / "cuda.md").read_text().splitlines()
    (head,) = (line for line in lines if "percent | sm_75 |" in line)
    (row,) = (line for line in lines if f"| {group_features} features, " in line)
    table = json.loads(TABLE.read_text())["cu12"]
    for name, said in zip(head.split("|")[2:-1], row.split("|")[2:-1], strict=True):
        kernel = table[name.strip()]["histogram"]["build_histograms"]
        architecture, shared_bytes = int(name.strip()[3:]), group_features * 256 * 2 * 4
        assert f"{shared_bytes // 1024} KiB" in row
        percent, _ = compiling.occupancy(architecture, 512, kernel["registers"], shared_bytes)
        assert percent == int(said)


@pytest.mark.parametrize("file", compiler.FILES)
def test_no_multiplication_is_fused_with_an_addition(file):
    assert "fma." not in compilers.compile_ptx(
        "cu12", compiler.source(file, 16, True), 80, compiler.OPTIONS
    )


@pytest.mark.parametrize("architecture", [75, 80, 86, 90, 120])
@pytest.mark.parametrize("group_features", [4, 8, 16])
def test_machine_code_of_the_histogram_loop(architecture, group_features):
    cubin, _ = compilers.compile_cubin(
        "cu12", compiler.source("histogram", group_features, False), architecture, compiler.OPTIONS
    )
    code = compiling.sass(cubin)["build_histograms"]
    assert "ATOMS.CAST" not in code and "ATOMS.CAS" not in code  # no compare-and-swap loop
    assert "LDL" not in code and "STL" not in code  # no local memory
    n_atomics = code.count("ATOMS.ADD") + code.count("ATOMS.POPC.INC")
    assert n_atomics == 2 * group_features, n_atomics
    assert {4: "LDG.E", 8: "LDG.E.64", 16: "LDG.E.128"}[
        group_features
    ] in code  # a row's bins in one load


def between_bounds(y, raw, low, high, slope):
    """A loss with two further arrays and a parameter."""
    outside = raw - low if raw < low else raw - high if raw > high else 0.0
    return slope * outside, slope


def centred_in_group(y, raw, rows, g, h, factor, slope):
    """A loss of groups with a further array and a parameter."""
    mean = 0.0
    for i in range(rows.shape[0]):
        mean += raw[0, rows[i]] - y[rows[i]]
    mean /= rows.shape[0]
    for i in range(rows.shape[0]):
        row = rows[i]
        g[0, row] = slope * factor[row] * (raw[0, row] - y[row] - mean)
        h[0, row] = slope * factor[row]


def row_kernels():
    """{name: (kernel, arguments)} of all kernels that numba compiles."""
    f8, f4, i4, i8, u1 = (
        np.empty(1, t) for t in (np.float64, np.float32, np.int32, np.int64, np.uint8)
    )
    matrix, growth, nodes = np.empty((1, 1)), np.empty(1, GROWTH), np.empty(1, NODE)
    bytes_ = np.empty((1, 1), np.uint8)
    one = np.int64(1)
    out = {
        "begin_tree": (
            gradients.BEGIN_TREE,
            (matrix, matrix, *[np.float64(1)] * 2, *[np.uint32(1)] * 2, growth, matrix),
        ),
        "project": (gradients.PROJECT, (*[matrix] * 3, np.uint32(1), matrix, matrix)),
        "add_binned_tree": (predict.ADD_BINNED_TREE, (u1, nodes, matrix, one, one, matrix)),
        "add_tree_with_sets": (
            predict.ADD_TREE_WITH_SETS,
            (u1, np.empty(1, SET_NODE), matrix, one, one, matrix),
        ),
        "add_sparse_tree": (
            predict.ADD_SPARSE_TREE,
            (i8, np.empty(1, np.uint32), u1, nodes, matrix, matrix),
        ),
    }
    sums = np.empty((1, 1), np.int64)
    out |= {
        "area-rows": (
            gradients.SORT_ROWS,
            (i8, f8, matrix, f8, np.bool_(True), matrix, np.float64(1), f8, sums),
        ),
        "area-places": (gradients.AREAS_OF_PLACES, (f8, sums, f8)),
        "area-pairs": (gradients.COUNT_PAIRS, (sums, matrix)),
    }
    sample, buckets, root = np.empty(1, SAMPLE), np.empty(1, np.int16), np.float64(1)
    yes = np.bool_(True)
    out |= {
        "sample-begin": (sampling.BEGIN_SAMPLE, (matrix, root, root, sample)),
        "sample-sizes": (
            sampling.MEASURE_ROWS,
            (matrix, matrix, root, f8, yes, sample, buckets),
        ),
        "sample-counts": (sampling.ADD_SIZES, (sums,)),
        "sample-limit": (sampling.FIND_LIMIT, (sums, root, root, yes, sample)),
        "sample-rows": (
            sampling.KEEP_ROWS,
            (np.uint32(1), buckets, matrix, matrix, matrix, f8),
        ),
        "sample-plan": (sampling.FILL_PLAN, (yes, sample, matrix)),
        "sample-units": (sampling.KEEP_UNITS, (np.uint32(1), i4, f8, f8)),
        "sample-left-out": (predict.kernel_of(weight_left_out), (f8, f8, f8)),
    }
    for nearest, kernel in gradients.QUANTIZE.items():
        out[f"quantize-{nearest}"] = kernel, (f8, f8, f8, np.bool_(True), growth, i8)
    for loss in OBJECTIVES.values():
        out[f"loss-{loss.name}"] = (
            gradients.gradients(loss.grad_hess, loss.joint, 0),
            (f8, matrix, matrix, matrix, matrix, *map(np.float64, loss.values)),
        )
    one_parameter = (np.float64(1),)
    out["loss with further arrays"] = (
        gradients.gradients(between_bounds, False, 2),
        (f8, matrix, matrix, matrix, matrix, *one_parameter),
    )
    out["loss of groups"] = (
        gradients.group_gradients(centred_in_group, 1),
        (f8, matrix, i4, i8, matrix, matrix, matrix, *one_parameter),
    )
    state = np.empty(1, STATE)
    out["order_leaves"] = leaf_quantiles.ORDER_LEAVES, (nodes, state, i4, i4, matrix, matrix)
    for metric in ROW_METRICS:
        name = f"metric-{metric.name}"
        out[f"{name}-{metric.reads}" if name in out else name] = (
            gradients.metric_values(metric.row_value, metric.per_row, 0),
            (f8, matrix, np.float64(1), matrix, f8),
        )
    for x, cuts in ((f4, np.float32), (f8, np.float64), (i8, np.float64)):
        values, table = np.empty((1, 1), x.dtype), np.empty((1, 256), cuts)
        out[f"bins-{x.dtype}"] = binning.bin_values(cuts), (values, table, i4, one, one, one, u1)
        trees = (i8, np.empty(1, WALK_NODE), matrix, i8, np.empty(1, np.uint64), f8, one, one)
        out[f"trees-{x.dtype}"] = predict.ADD_TREES, (values, *trees, matrix)
        columns = np.empty((1, 1), cuts)
        gathered = (i8, i8, np.bool_(True), f8, np.bool_(True), columns)
        for layout, given in (("", values), (", strided", np.empty((4, 4), x.dtype)[::2, ::2])):
            out[f"columns-{x.dtype}{layout}"] = binning.gather_columns(cuts), (given, *gathered)
        out[f"order-{x.dtype}"] = (
            binning.IN_ORDER,
            (columns, f8, np.empty((1, 1), np.int64), columns, matrix),
        )
        out[f"cuts-{x.dtype}"] = (
            binning.CUTS_OF_COLUMNS,
            (columns, matrix, np.bool_(True), one, matrix, matrix, matrix, i4),
        )
    # one dtype of X is enough for the others: they read it as the kernels above do
    order = np.empty((1, 1), np.int32)
    places = np.empty((1, 1), np.int64)
    single = np.empty((1, 1), np.float32)
    out |= {
        "unseen trees": (predict.ADD_UNSEEN_TREES, (single, *trees, bytes_, matrix)),
        "medians": (predict.MEDIANS, (single, *trees, one, matrix, order, matrix)),
        "leaves": (predict.FIND_LEAVES, (single, *trees[:2], *trees[3:5], order)),
        "taken rows": (predict.TAKE_ROWS, (single, i8, single)),
        "borders": (
            binning.BORDERS_OF_CODE,
            (single, places, bytes_, one, i4, matrix, matrix),
        ),
    }
    by_columns = np.empty((4, 4)).T[:2]  # scores of several channels, of which rows are asked for
    for function, arguments in (
        (rows.mean_of_trees, (by_columns, np.float64(1), matrix)),
        (rows.sum_of_scores, (by_columns, by_columns, matrix)),
        (rows.log_of_shares, (matrix, matrix)),
        (rows.samme_decision, (by_columns, np.float64(1), matrix)),
        (rows.samme_probabilities, (matrix, matrix)),
    ):
        out[function.__name__] = predict.kernel_of(function), arguments
    out["logistic"] = predict.LOGISTIC, (matrix, np.float64(1), matrix)
    out["logistic of each"] = predict.LOGISTIC_OF_EACH, (matrix, np.float64(1), matrix)
    out["softmax"] = predict.SOFTMAX, (matrix, matrix)
    for classes in (i8, f4, np.empty(1, np.bool_)):
        out[f"labels-{classes.dtype}"] = predict.LABELS, (matrix, classes, classes)
    return out


def test_all_row_kernels_are_compiled():
    named = {kernel.name for kernel, _ in row_kernels().values()}
    assert ptx_cases.row_kernels() <= named


ROW_ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)


@pytest.mark.parametrize("name", row_kernels())
def test_row_kernels_assemble_without_spills_and_fused_additions(name):
    kernel, arguments = row_kernels()[name]
    for architecture in ROW_ARCHITECTURES:
        ptx = compiling.row_kernel_ptx(kernel, arguments, architecture)
        assert "fma." not in ptx
        _, spilled, _ = compiling.assemble(ptx, architecture)
        assert spilled == 0
        assert not compiling.may_be_fused(ptx) or compiling.n_fused(ptx, architecture) == 0


@pytest.mark.parametrize(("name", "least"), [("metric-logloss", 3), ("softmax", 4)])
def test_what_is_left_without_rounding_is_fused(monkeypatch, name, least):
    """numba writes products and sums without ``.rn``: to replace its fused ones is not enough."""
    kernel, arguments = row_kernels()[name]
    monkeypatch.setattr(rowwise, "without_fma", lambda ptx: ptx)
    ptx = compiling.row_kernel_ptx(kernel, arguments, 80)
    split = re.sub(
        r"fma\.rn\.f64\s+([^,]+), ([^,]+), ([^,]+), ([^;]+);",
        r"{ .reg .f64 %p; mul.rn.f64 %p, \2, \3; add.rn.f64 \1, %p, \4; }",
        ptx,
    )
    assert compiling.n_fused(ptx, 80) > compiling.n_fused(split, 80) >= least
    for architecture in ROW_ARCHITECTURES:
        text = split.replace(".target sm_80", f".target sm_{architecture}")
        assert compiling.n_fused(text, architecture) >= least, architecture
        monkeypatch.undo()
        assert compiling.n_fused(rowwise.without_fma(text), architecture) == 0


if __name__ == "__main__":
    table = {}
    for version, architecture in CASES:
        own = table.setdefault(version, {}).setdefault(f"sm_{architecture}", {})
        for file in compiler.FILES:
            own[file] = measure(version, file, architecture)
    TABLE.write_text(json.dumps(table, indent=1) + "\n")
