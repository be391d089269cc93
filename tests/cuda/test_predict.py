"""Predictions on the device."""

import numpy as np
import pytest
import workload

from gpuboost import GPUBoostClassifier

pytestmark = pytest.mark.usefixtures("emulated")


def test_predictions_on_the_device_are_those_of_the_cpu():
    x, signal, _ = workload.data(n=9000)
    for y in (signal > 0, np.digitize(signal, [-1, 0, 1])):
        model = GPUBoostClassifier(n_estimators=4, max_depth=4).fit(x, y)
        expected = model.predict_proba(x)
        model.device = "cuda"
        np.testing.assert_array_equal(model.predict_proba(x), expected)
