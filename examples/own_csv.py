"""From a CSV file to predictions by the command line, as a script would call it.

Train, inspect, predict.
"""

import json
import subprocess
import sys
from pathlib import Path

from sklearn.datasets import load_wine

data = load_wine(as_frame=True).frame
data["target"] = data["target"].map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
data.iloc[::2].to_csv("wine.csv", index=False)
data.iloc[1::2].drop(columns="target").to_csv("new.csv", index=False)


def gpuboost(*arguments: str) -> str:
    """What ``gpuboost ...`` writes to standard output."""
    done = subprocess.run(
        [sys.executable, "-m", "gpuboost", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


gpuboost(
    "train",
    "wine.csv",
    "--target",
    "target",
    "n_estimators=50",
    "max_depth=3",
    "--out",
    "wine.gb",
    "--quiet",
)
model = json.loads(gpuboost("inspect", "wine.gb", "--json"))
print("inspect says:", ", ".join(model))
print("fingerprint:", model["fingerprint"])

gpuboost("predict", "wine.gb", "new.csv", "--proba", "--out", "predictions.csv", "--quiet")
print(*Path("predictions.csv").read_text().splitlines()[:4], sep="\n")
