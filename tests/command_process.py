"""The command line in a process of its own, for tests that interrupt it or take its disk away."""

import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def start(*arguments, before=None, **options):
    """``gpuboost ...``; ``before`` is called in the new process."""

    def prepare():
        signal.signal(
            signal.SIGINT, signal.SIG_DFL
        )  # whoever started the tests may ignore it, and children inherit that
        if before is not None:
            before()

    command = [sys.executable, "-m", "gpuboost", *map(str, arguments)]
    return subprocess.Popen(
        command, stderr=subprocess.PIPE, cwd=ROOT, preexec_fn=prepare, **options
    )


def interrupt(process):
    """Press Ctrl-C; returns what the command said then."""
    process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    return said
