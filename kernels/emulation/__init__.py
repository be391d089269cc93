"""An emulated CUDA device: the same ``.cu`` text, compiled by g++ and run on the CPU.

See README.md.
"""
