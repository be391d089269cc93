"""Save a model, load it elsewhere, and know that it is the same.

A damaged file is refused with a reason.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

import gpuboost as gb

X, y = load_wine(return_X_y=True, as_frame=True)
model = gb.GPUBoostClassifier(n_estimators=50, max_depth=3).fit(X, y)

path = Path("wine.gb")
model.save_model(path)
loaded = gb.load_model(path)
assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
print(
    f"{path}: {path.stat().st_size:,} bytes, fingerprint {loaded.fingerprint()[:16]}..., "
    "predictions equal to the last bit"
)

content = bytearray(path.read_bytes())
content[len(content) // 2] ^= 1  # one bit, as a bad disk might turn it
path.write_bytes(content)
try:
    gb.load_model(path)
except gb.ModelFormatError as error:
    print("one bit changed:", error)
