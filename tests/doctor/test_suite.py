"""The project's tests as a part of a full run."""

import time

from gpuboost.doctor import suite
from gpuboost.doctor.checks import FAILED, NOT_RUN

TESTS = """
import time, pytest
pytestmark = pytest.mark.gpu
def test_good(): pass
def test_bad(): assert 1 == 2
def test_skipped(): pytest.skip("no device")
"""


def run(tmp_path, text, seconds=60.0):
    folder = tmp_path / "tests" / "cuda"
    folder.mkdir(parents=True)
    (folder / "test_some.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = gpu: needs a device\n")
    return list(suite.run_tests(time.monotonic() + seconds, tmp_path))


def test_counts_and_each_failure(tmp_path):
    total, failure = run(tmp_path, TESTS + "def test_slow(): time.sleep(0.01)\n")
    assert (total.state, total.detail) == (FAILED, "2 passed, 1 failed, 1 skipped")
    assert failure.name.endswith("test_some::test_bad") and "assert 1 == 2" in failure.detail


def test_the_time_is_up(tmp_path):
    """What was known until then counts, but not the test that was running; the rest is missing."""
    text = "import time, pytest\npytestmark = pytest.mark.gpu\ndef test_good(): pass\n"
    *known, last = run(tmp_path, text + "def test_slow(): time.sleep(60)\n", seconds=3.0)
    assert (last.state, last.detail) == (NOT_RUN, "the time was up")
    # on a slow machine pytest has not even begun
    assert [c.detail for c in known] in ([], ["1 passed, 0 failed, 0 skipped"])


def test_no_tests_are_no_success():
    [check] = suite._results([], 1.0)
    assert (check.state, check.detail) == (FAILED, suite.NOTHING)


def test_a_report_is_wanted(tmp_path, monkeypatch):
    monkeypatch.setattr(suite, "TESTS", "--no-such-option")
    [check] = run(tmp_path, TESTS)
    assert check.state == FAILED and check.detail.startswith("pytest ended without a report")


def test_reasons_not_to(monkeypatch):
    assert "need a GPU" in suite.reason_not_to(emulated=True)
    assert suite.reason_not_to(emulated=False) is None
    monkeypatch.setattr(suite, "find_spec", lambda name: None)
    assert suite.reason_not_to(emulated=False) == "not installed: pytest, pandas"
    monkeypatch.setattr(suite, "CHECKOUT", False)
    assert "installed package" in suite.reason_not_to(emulated=False)
