"""Train on data that scikit-learn ships.

A classifier with early stopping, and the same model again with another number of threads.
"""

import time

from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split

import gpuboost as gb

print("compiling the kernels (the first run takes some seconds, later ones do not) ...", flush=True)
start = time.perf_counter()
gb.GPUBoostClassifier(n_estimators=1).fit([[0.0], [1.0]] * 10, [0, 1] * 10)
print(f"ready after {time.perf_counter() - start:.1f} s")

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
start = time.perf_counter()
model = gb.GPUBoostClassifier(n_estimators=500, early_stopping_rounds=20, n_jobs=1)
model.fit(X_train, y_train, eval_set=(X_test, y_test))
print(
    f"breast cancer: {model.best_iteration_ + 1} rounds in {time.perf_counter() - start:.2f} s,",
    end=" ",
)
print(f"held-out log loss {model.best_score_:.4f}, accuracy {model.score(X_test, y_test):.3f}")

again = gb.GPUBoostClassifier(n_estimators=500, early_stopping_rounds=20, n_jobs=2)
again.fit(X_train, y_train, eval_set=(X_test, y_test))
print(f"fingerprint with 1 thread:  {model.fingerprint()[:16]}...")
print(f"fingerprint with 2 threads: {again.fingerprint()[:16]}...")
assert model.fingerprint() == again.fingerprint()

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
regressor = gb.GPUBoostRegressor(n_estimators=100, max_depth=3, learning_rate=0.05).fit(
    X_train, y_train
)
print(f"diabetes: held-out R2 {regressor.score(X_test, y_test):.3f}")
