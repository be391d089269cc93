"""Comparisons with other libraries, as a wheel ships them.

In a checkout `gpuboost/benchmarks` shows the way here.
"""
