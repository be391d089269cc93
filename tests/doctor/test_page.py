"""The page of a full run."""

from dataclasses import asdict

import pytest
from report_pages import Page

from gpuboost.benchmarks.timing import machine_record
from gpuboost.doctor import page
from gpuboost.doctor.checks import FAILED, NOT_RUN, PASSED, Check, left_out

DEVICE = {
    "name": "A GPU <b>", "compute_capability": "90", "memory_gib": 80.0, "n_multiprocessors": 132,
    "driver_cuda": "12.8", "runtime_cuda": "12.9", "cupy": "14.2.0", "clock_ghz": 1.8,
    "bandwidth": 3350.0, "copy_bandwidth": 2900.0,
}  # fmt: skip
TIMES = Check("rates", "kernels of a tree", PASSED, "3 ms", 1.0, {
    "rows": 1000, "features": 28, "tree": "depth 6", "device": DEVICE,
    "microseconds": {"scan": 50.0, "build": 200.0, "other": 2.0},
})  # fmt: skip
ALLOWED = Check("rates", "what the hardware would allow", PASSED, "1 ms", 1.0, {
    "of": "this device", "bound": {
        "scan": {"microseconds": 10.0, "by": "memory"},
        "build": {"microseconds": 150.0, "by": "shared atomics"},
    },
})  # fmt: skip
CHECKS = [
    Check("installation", "python", PASSED, "3.12"),
    Check("operations", "metric rmse (identity)", PASSED, "1 values", 0.5),
    Check("trainings", "boosting", FAILED, 'tree 0 differs <&"'),
    Check("trainings", "forest", PASSED, "the same"),
    left_out("comparison", "higgs-depth", "XGBoost: it is not installed"),
    left_out("tests", "pytest -m gpu", "the time was up"),
]


def record(*checks, **changes):
    return {
        "command": "gpuboost doctor --full", "machine": machine_record(), "emulated": False,
        "budget": 600.0, "seconds": 90.0, "complete": True,
        "checks": [asdict(check) for check in checks], "comparison": None,
    } | changes  # fmt: skip


def shown(*checks, **changes):
    return Page(page.render(record(*checks, **changes)))


def test_a_page_says_what_failed_and_what_was_not_run():
    result = shown(*CHECKS, TIMES, ALLOWED)
    text = "".join(result.text)
    assert "gpuboost on A GPU <b>: what was checked" in text
    assert "1 failed" in text and 'tree 0 differs <&"' in text
    assert "XGBoost: it is not installed" in text and "the time was up" in text
    assert result.value("trainings") == "1" and result.value("trainings", 2) == "1"
    assert result.value("build", 3) == "75 %" and result.value("build", 4) == "shared atomics"
    assert result.value("other", 2) == "–"
    assert "of the 3,350 GB/s" in text


def test_a_page_loads_nothing():
    result = shown(*CHECKS, TIMES, ALLOWED)
    assert all(reference.startswith("#") for reference in result.references)
    assert "script" not in result.tags and "img" not in result.tags and "link" not in result.tags
    assert "default-src 'none'" in result.html
    anchors = {reference[1:] for reference in result.references if len(reference) > 1}
    assert anchors <= set(result.ids)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"emulated": True}, "all times are meaningless"),
        ({"complete": False}, "The run was interrupted"),
        ({}, "No training on the device has passed"),
    ],
)
def test_what_a_reader_must_know_comes_first(changes, words):
    assert words in "".join(shown(CHECKS[0], **changes).text)


def test_nothing_is_known():
    text = "".join(shown().text)
    assert "0 passed" in text and "Everything was run" in text


def test_times_without_an_estimate():
    measured = page.rates([asdict(TIMES)])
    assert [line["name"] for line in measured["lines"]] == ["build", "scan", "other"]
    assert all(line["bound"] is None for line in measured["lines"])
    assert page.rates([asdict(check) for check in CHECKS]) is None


def test_a_comparison_is_drawn(tmp_path):
    rows = [
        {
            "workload": "higgs-depth", "title": "500,000 x 28", "metric": "log loss",
            "n_test": 100, "threads": 2, "peer": peer, "growth": "depth-wise", "settings": {},
            "best": {"fit": fit, "predict": 0.1, "loss": 0.5}, "runs": [{}],
        }
        for peer, fit in (("gpuboost", 1.0), ("xgboost", 2.5))
    ]  # fmt: skip
    path = tmp_path / "page.html"
    page.write_page(record(*CHECKS, comparison={"results": rows}), path)
    result = Page(path.read_text())
    assert any("gpuboost 1.00 s" in title and "xgboost 2.50 s" in title for title in result.figures)


def test_every_state_has_a_mark():
    assert set(page.MARKS) == {PASSED, FAILED, NOT_RUN}
