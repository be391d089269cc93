"""``python -m gpuboost``: the command line."""

import sys

from gpuboost.cli import main

if __name__ == "__main__":
    sys.exit(main())
