"""``gpuboost warmup`` compiles what users meet first."""

import json
import subprocess
import sys
from pathlib import Path

from gpuboost.cli import main
from gpuboost.warmup import STEPS

ROOT = Path(__file__).parents[2]
#: Prints how many kernels had to be compiled, instead of loaded, for a training.
COUNT = """
import gpuboost as gb
from gpuboost.kernels.cpu import binning, growth, predict
x, y = [[0.0], [1.0]] * 9, [0, 1] * 9
gb.GPUBoostClassifier(n_estimators=1).fit(x, y).predict_proba(x)
gb.RandomForestClassifier(n_estimators=1).fit(x, y).predict(x)
from gpuboost.kernels.cpu.cart import grow
print(sum(sum(k.stats.cache_misses.values()) for k in (binning.bin_matrix, growth.grow, grow.grow_tree)))
"""


def test_what_was_compiled_is_there_for_the_next_process(capsys):
    assert main(["warmup", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["seconds"]) == set(STEPS)
    done = subprocess.run(
        [sys.executable, "-c", COUNT], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "0\n"
