"""Comparisons with other libraries, as a wheel ships them; in a checkout `gpuboost/benchmarks` shows the way here."""
