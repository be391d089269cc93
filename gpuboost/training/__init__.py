"""The loops: boosting, bagging, AdaBoost."""
