"""What boosting estimators share."""

from sklearn.datasets import load_diabetes

from gpuboost import GPUBoostRegressor


def test_early_stopping_in_a_forgotten_state():
    """Refitting without early stopping forgets the best round of before."""
    x, y = load_diabetes(return_X_y=True)
    model = GPUBoostRegressor(n_estimators=100, early_stopping_rounds=3).fit(
        x[:300], y[:300], eval_set=(x[300:], y[300:])
    )
    assert model.best_iteration_ < 99
    model.set_params(early_stopping_rounds=None, n_estimators=5).fit(x, y)
    assert not hasattr(model, "best_iteration_") and model.n_estimators_ == 5
