"""A classifier with early stopping, judged on rows it has never seen, and a page about it.

Report.html.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.metrics import classification_report
from sklearn.model_selection import train_test_split

import gpuboost as gb

data = load_breast_cancer(as_frame=True)
X, X_test, y, y_test = train_test_split(
    data.data, data.target_names[data.target], test_size=0.2, random_state=0, stratify=data.target
)
X_train, X_valid, y_train, y_valid = train_test_split(
    X, y, test_size=0.25, random_state=0, stratify=y
)

model = gb.GPUBoostClassifier(
    n_estimators=500,
    learning_rate=0.1,
    max_depth=4,
    early_stopping_rounds=20,
    eval_metric=["auc", "logloss"],
)
model.fit(X_train, y_train, eval_set=[(X_train, y_train), (X_valid, y_valid)])

print(
    f"stopped after {model.n_estimators_} rounds; round {model.best_iteration_} is the best, "
    f"with log loss {model.best_score_:.4f}"
)
print(classification_report(y_test, model.predict(X_test), digits=3))

model.report("report.html", X_test, y_test, title="Breast cancer", train=(X_train, y_train))
print("written: report.html")
