"""The forms in which eval sets may be given."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import DataConversionWarning
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from gpuboost import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.estimators.eval_sets import eval_pairs

X, Y = load_breast_cancer(return_X_y=True)
FIRST, SECOND = (X[:100], Y[:100]), (X[100:200], Y[100:200])


def model(**options):
    return GPUBoostClassifier(n_estimators=3, **options)


@pytest.mark.parametrize(
    ("fit", "n_sets"),
    [
        ({"eval_set": FIRST}, 1),
        ({"eval_set": [FIRST]}, 1),
        ({"eval_set": [list(FIRST), SECOND]}, 2),
        ({"eval_set": (FIRST, SECOND)}, 2),
        ({"eval_set": (FIRST,)}, 1),
        ({"eval_set": (X[:3].tolist(), Y[:3].tolist())}, 1),
        ({"eval_set": []}, 0),
        ({"eval_set": ()}, 0),
        ({"eval_X": FIRST[0], "eval_y": FIRST[1]}, 1),
        ({"eval_X": X[:3].tolist(), "eval_y": Y[:3].tolist()}, 1),
        ({"eval_X": (FIRST[0], SECOND[0]), "eval_y": (FIRST[1], SECOND[1])}, 2),
    ],
)
def test_every_form_is_the_same(fit, n_sets):
    fitted = model().fit(X, Y, **fit)
    assert list(fitted.evals_result_) == [f"validation_{i}" for i in range(n_sets)]
    if n_sets and "eval_set" in fit and len(fit["eval_set"][0]) == 100:
        expected = model().fit(X, Y, eval_set=[FIRST, SECOND][:n_sets])
        assert fitted.evals_result_ == expected.evals_result_


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((X,), "eval_set must be a pair"),
        (("ab",), "eval_set must be a pair"),
        (([X, Y, Y],), "eval_set must be a pair"),
        (([FIRST, (X,)],), "eval_set must be a pair"),
        ((FIRST, X, Y), "give one of them"),
        ((None, X), "eval_y is missing"),
        ((None, None, Y), "eval_X is missing"),
        ((None, (X,), Y), "tuples of those of several; got tuple and ndarray"),
        ((None, (X, X), (Y,)), "got 2 and 1"),
    ],
)
def test_what_is_no_eval_set(arguments, words):
    with pytest.raises(ValueError, match=words):
        eval_pairs(*arguments)


def test_without_a_set_nothing_stops():
    with pytest.raises(ValueError, match="early_stopping_rounds=2 needs an eval_set"):
        model(early_stopping_rounds=2).fit(X, Y, eval_set=[])
    with pytest.raises(ValueError, match="without an eval_set"):
        model().fit(X, Y, eval_sample_weight=[Y])


def test_a_pipeline_transforms_eval_x():
    """With metadata routing the steps before the model see eval_X, too."""
    with config_context(enable_metadata_routing=True):
        last = model(early_stopping_rounds=3).set_fit_request(eval_X=True, eval_y=True)
        steps = [("scale", StandardScaler()), ("model", last)]
        piped = Pipeline(steps, transform_input=["eval_X"]).fit(
            X, Y, eval_X=FIRST[0], eval_y=FIRST[1]
        )
    scale = StandardScaler().fit(X)
    alone = model(early_stopping_rounds=3).fit(
        scale.transform(X), Y, eval_set=(scale.transform(FIRST[0]), FIRST[1])
    )
    assert piped["model"].evals_result_ == alone.evals_result_


@pytest.mark.parametrize("kind", [GPUBoostClassifier, GPUBoostRegressor])
def test_a_column_vector_is_raveled_with_a_warning(kind):
    fitted = kind(n_estimators=2).fit(X, Y, eval_set=FIRST)
    with pytest.warns(DataConversionWarning, match="y of eval_set\\[0\\] is a column vector"):
        column = kind(n_estimators=2).fit(X, Y, eval_set=(FIRST[0], FIRST[1][:, None]))
    assert column.evals_result_ == fitted.evals_result_
    with pytest.raises(ValueError, match="y of eval_set\\[0\\] must have one entry for each"):
        kind(n_estimators=2).fit(X, Y, eval_set=(FIRST[0], np.stack([FIRST[1]] * 2, axis=1)))


def test_sparse_y_is_refused():
    with pytest.raises(TypeError, match="y of eval_set\\[0\\] must be a dense array"):
        model().fit(X, Y, eval_set=(FIRST[0], csr_matrix(FIRST[1][:, None])))
