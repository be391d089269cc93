"""Compiled kernels on the CPU: their PTX, translated to C++ and run by a machine of fibers.

See ../README.md.
"""
