"""``gpuboost warmup``."""

from __future__ import annotations

import argparse
import time

from gpuboost.cli.common import JSON_OPTION, say, write_json
from gpuboost.progress import Progress, compilation
from gpuboost.warmup import STEPS

SUMMARY = "compile the CPU kernels now, so that the first training does not have to"
DESCRIPTION = """\
Compiles the CPU kernels and puts them into numba's cache: in an image that is built once and
started often, or before a demonstration. Takes about a minute the first time and a few seconds
after that.
"""
EPILOG = """\
examples:
  gpuboost warmup
  NUMBA_CACHE_DIR=/opt/cache gpuboost warmup    keep the compiled code in a folder of your choice
"""
OPTIONS = JSON_OPTION


def run(args: argparse.Namespace) -> int:
    """Compile everything."""
    seconds, compilation.told = {}, True
    with Progress(len(STEPS), "compiling", "kernel groups", compiles=True) as progress:
        for name, step in STEPS.items():
            start = time.perf_counter()
            step()
            seconds[name] = round(time.perf_counter() - start, 2)
            progress.advance(note=name)
    if args.json:
        write_json({"seconds": seconds})
    else:
        say(f"ready: {sum(seconds.values()):.1f} s")
    return 0
