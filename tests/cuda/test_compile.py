"""Every kernel compiles for every supported architecture, without spills, and uses what the committed table says.

``PYTHONPATH=. python tests/cuda/test_compile.py`` writes the table anew.
"""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import compiling

from gpuboost.kernels.cuda import _compile

TABLE = Path(__file__).parent / "compile_table.json"
#: Threads and dynamic shared memory of kernels, for their occupancy.
GROUP_BYTES = 16 * 256 * 4
LAUNCH = {"build_histograms": ("HISTOGRAM_THREADS", 2 * GROUP_BYTES), "scan_pairs": ("SCAN_THREADS", 0)}


def threads_of(kernel, source):
    """Threads from the kernel's launch bounds."""
    bounds = source.split(f") {kernel}(")[0].rsplit("__launch_bounds__(", 1)[-1].split(",")[0]
    constants = {**_compile.THREADS, "N_CODES": 256, "LANES": 128}
    return constants.get(bounds, 256)


def measure(version, file, architecture):
    """{kernel: registers, spills, shared bytes, occupancy and its limit}."""
    source = _compile.source(file, 16, False)
    _, log = compiling.compile_cubin(version, source, architecture, _compile.OPTIONS)
    out = {}
    for kernel, (registers, spilled, shared) in compiling.usage(log).items():
        dynamic = LAUNCH.get(kernel, (None, 0))[1]
        percent, limit = compiling.occupancy(architecture, threads_of(kernel, source), registers, shared + dynamic)
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


@pytest.mark.parametrize("file", _compile.FILES)
@pytest.mark.parametrize(("version", "architecture"), CASES)
def test_compiles_without_spills_as_the_table_says(version, architecture, file):
    measured = measure(version, file, architecture)
    assert measured and all(kernel["spilled"] == 0 for kernel in measured.values()), measured
    table = json.loads(TABLE.read_text())
    assert measured == table[version][f"sm_{architecture}"][file]


@pytest.mark.parametrize("architecture", [80, 90])
def test_the_histogram_kernel_fills_half_a_multiprocessor(architecture):
    table = json.loads(TABLE.read_text())
    assert table["cu12"][f"sm_{architecture}"]["histogram"]["build_histograms"]["occupancy"] >= 50


if __name__ == "__main__":
    table = {}
    for version, architecture in CASES:
        own = table.setdefault(version, {}).setdefault(f"sm_{architecture}", {})
        for file in _compile.FILES:
            own[file] = measure(version, file, architecture)
    TABLE.write_text(json.dumps(table, indent=1) + "\n")
