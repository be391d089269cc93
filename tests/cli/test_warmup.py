"""``gpuboost warmup`` compiles what users meet first."""

import json
import subprocess
import sys
from pathlib import Path

from gpuboost.cli import main
from gpuboost.warmup import STEPS

ROOT = Path(__file__).parents[2]
#: Prints how long kernels were compiled, instead of loaded, for a first fit of every family.
FIRST_FITS = """
import numpy as np
import gpuboost as gb
from gpuboost.progress import compilation
x = np.random.default_rng(0).normal(size=(200, 3))
y = np.digitize(x[:, 0], [-0.5, 0.5])
for family in (gb.GPUBoostRegressor, gb.GPUBoostClassifier, gb.DecisionTreeRegressor,
               gb.DecisionTreeClassifier, gb.RandomForestRegressor, gb.RandomForestClassifier,
               gb.ExtraTreesRegressor, gb.ExtraTreesClassifier, gb.AdaBoostRegressor,
               gb.AdaBoostClassifier):
    number = {} if "Tree" in family.__name__ and "Extra" not in family.__name__ else {"n_estimators": 2}
    for target in (y > 0, y) if "Classifier" in family.__name__ else (y,):
        before = compilation.seconds
        model = family(**number).fit(x, target)
        model.predict(x), model.predict(x[:1])
        if compilation.seconds > before:
            print(family.__name__, compilation.seconds - before)
"""


def test_what_was_compiled_is_there_for_the_next_process(capsys):
    assert main(["warmup", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["seconds"]) == set(STEPS)
    done = subprocess.run(
        [sys.executable, "-c", FIRST_FITS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
