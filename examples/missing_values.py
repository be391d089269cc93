"""Regression with missing values: no imputation, and what the holes cost."""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score

import gpuboost as gb

X, y = load_diabetes(return_X_y=True, as_frame=True)
rng = np.random.default_rng(0)
model = gb.GPUBoostRegressor(n_estimators=100, learning_rate=0.05, max_depth=3)

print("share missing   R2, five-fold")
for share in (0.0, 0.1, 0.3, 0.6):
    holes = X.mask(rng.random(X.shape) < share)
    scores = cross_val_score(model, holes, y, cv=5)
    print(f"{share:13.0%}   {scores.mean():.3f} +- {scores.std() / np.sqrt(5):.3f}")

# Values that are missing for a reason carry a signal: here those of the patients that do badly.
telling = X.copy()
telling.loc[y > np.quantile(y, 0.8), "bmi"] = np.nan
model.fit(telling, y)
print("\nthe first splits, where bmi is missing for a reason:")
print(gb.export_text(model, max_depth=2), end="")
