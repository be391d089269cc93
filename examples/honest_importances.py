"""A random forest, and importances that are not fooled by noise with many values."""

import numpy as np
from sklearn.datasets import load_breast_cancer

import gpuboost as gb

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[["worst perimeter", "worst concave points", "mean texture", "mean symmetry"]].copy()
rng = np.random.default_rng(0)
X["noise, 2 values"] = rng.integers(0, 2, len(X))
X["noise, all different"] = rng.normal(size=len(X))

forest = gb.RandomForestClassifier(n_estimators=200, max_features=2, oob_score=True).fit(X, y)
print(f"out-of-bag accuracy {forest.oob_score_:.3f}\n")

table = gb.importance.table(forest, X, y, methods=["mdi", "mdi_oob", "mda_oob"])
print(f"{'':22}" + "".join(f"{method:>10}" for method in table.methods))
for name, values in zip(table.names, table.values.T, strict=True):
    print(f"{name:22}" + "".join(f"{value:10.4f}" for value in values))
print("\nmdi gives the noise with many values a share; out of bag it has about none")
