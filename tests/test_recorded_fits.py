"""The same bits as recorded: a change that was not meant to change a model leaves them alone.

One that was meant to is recorded: ``python tests/recorded_fits.py tests/recorded_fits.json``.
"""

import json
from pathlib import Path

import pytest
import recorded_fits

RECORDED = json.loads((Path(__file__).parent / "recorded_fits.json").read_text())
CASES = recorded_fits.cases()


def test_all_cases_are_recorded():
    assert set(RECORDED) == set(CASES) and len(CASES) >= 80


@pytest.mark.parametrize("name", CASES)
def test_the_bits_are_those_that_were_recorded(name):
    assert recorded_fits.digest(recorded_fits.predictions(CASES[name])) == RECORDED[name]
