"""A full run: its order, its time, its two files, and what is left when it is interrupted."""

import json
import time
from pathlib import Path

import pytest
from report_pages import Page

from gpuboost.benchmarks.driver import Step
from gpuboost.doctor import full, suite
from gpuboost.doctor.checks import FAILED, NOT_RUN, PASSED, Check, Sizes
from gpuboost.doctor.full import FullRun, Order
from gpuboost.doctor.worker import Item

SIZES = Sizes(small=300, large=400, rates=300)
FEW = [
    Item("operations", "metric rmse (identity)"),
    Item("trainings", "boosting, weights"),
    Item("trainings", "no such"),
    Item("comparison", "higgs-depth"),
    Item("tests", "pytest -m gpu"),
]


@pytest.fixture(autouse=True)
def emulated(monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")


def states(run):
    return {(c["part"], c["name"]): c["state"] for c in run.record["checks"]}


def test_a_run_on_the_emulated_device(tmp_path):
    """In real processes; one of the checks cannot be run, and one part has no time for it."""
    run = FullRun(Order(tmp_path / "deep" / "run", sizes=SIZES, items=FEW))
    seen = list(run.run())
    run.finish()
    assert states(run) == {
        ("operations", "metric rmse (identity)"): PASSED,
        ("trainings", "boosting, weights"): PASSED,
        ("trainings", "no such"): FAILED,
        ("comparison", "higgs-depth"): NOT_RUN,
        ("tests", "pytest -m gpu"): NOT_RUN,
    }
    assert len(seen) == 5 and not run.good and run.record["complete"]
    assert json.loads(run.results.read_text()) == run.record
    page = Page(run.page.read_text())
    text = "".join(page.text)
    assert "KeyError: 'no such'" in text and "The CUDA device was emulated" in text
    assert "which only gpuboost knows" in text and "they need a GPU" in text


def test_everything_has_its_place_and_all_parts_are_planned():
    parts = [item.part for item in full.everything()]
    assert list(dict.fromkeys(parts)) == [
        "installation", "operations", "trainings", "rates", "comparison", "tests",
    ]  # fmt: skip
    assert len(set(full.everything())) == len(parts)


def test_many_results_of_one_item_count_once(tmp_path, monkeypatch):
    checks = [
        ("installation", "python"),
        ("installation", "cpu"),
        ("operations", "metric rmse (identity)"),
    ]
    monkeypatch.setattr(
        full.worker, "run_items", lambda *_, **__: (Check(*c, PASSED, "") for c in checks)
    )
    items = [full.INSTALLATION, Item("operations", "metric rmse (identity)")]
    run = FullRun(Order(tmp_path / "run", sizes=SIZES, items=items))
    assert [run.n_done for _ in run.run()] == [1, 1, 2]


def test_no_time_at_all(tmp_path):
    run = FullRun(Order(tmp_path / "run", budget=0.0, sizes=SIZES))
    run.finish() if not list(run.run()) else run.finish()
    assert set(states(run).values()) == {NOT_RUN} and run.good
    assert len(states(run)) == len(full.everything())


def test_an_interruption_leaves_what_is_known(tmp_path, monkeypatch):
    def one_and_ctrl_c(*_, **__):
        yield Check("operations", "metric rmse (identity)", PASSED, f"{Path.home()}/somewhere")
        raise KeyboardInterrupt

    monkeypatch.setattr(full.worker, "run_items", one_and_ctrl_c)
    run = FullRun(Order(tmp_path / "run", sizes=SIZES, items=FEW))
    with pytest.raises(KeyboardInterrupt):
        list(run.run())
    run.finish()
    record = json.loads(run.results.read_text())
    assert [c["state"] for c in record["checks"]] == [PASSED] + [NOT_RUN] * 4
    assert record["checks"][0]["detail"] == "~/somewhere" and not record["complete"]
    assert "The run was interrupted" in run.page.read_text()


# --- the estimate and XGBoost


def test_the_estimate_needs_times_and_a_compiler(tmp_path, monkeypatch):
    run = FullRun(Order(tmp_path / "run", sizes=SIZES, items=[Item("rates", full.ESTIMATE)]))
    [check] = list(run.run())
    assert (check.state, check.detail) == (NOT_RUN, "the kernels were not timed")
    device = {"name": "A GPU"}
    run.record["checks"] = [{"part": "rates", "name": "x", "figures": {"device": device}}]
    monkeypatch.setattr(full.shutil, "which", lambda name: None)
    [check] = list(run._estimate())
    assert "needs g++" in check.detail
    asked = []

    def noted(items, sizes, deadline, **options):
        asked.append((items, options["more"], options["environment"]["GPUBOOST_EMULATE_CUDA"]))
        return iter([])

    monkeypatch.setattr(full.shutil, "which", lambda name: "/usr/bin/g++")
    monkeypatch.setattr(full.worker, "run_items", noted)
    assert list(run._estimate()) == []
    assert asked == [([Item("rates", full.ESTIMATE)], {"device": device}, "1")]


class Measured:
    """A comparison whose runs are known beforehand."""

    def __init__(self, plan, path):
        self.plan, self.record = plan, {"results": []}

    def run(self):
        for job in self.plan.jobs:
            fit = {"gpuboost": 2.0, "xgboost": 3.0}[job.peer]
            self.record["results"].append(
                {
                    "workload": job.workload.name, "title": "rows", "peer": job.peer,
                    "best": {"fit": fit}, "runs": [{"fit": fit}],
                }
            )  # fmt: skip
            yield Step(job, {"fit": fit})


@pytest.mark.parametrize("left", [60.0, 0.0])
def test_the_comparison(tmp_path, monkeypatch, left):
    monkeypatch.setattr(full, "problem_of", lambda peer, where: None)
    monkeypatch.setattr(full, "Comparison", Measured)
    items = [Item("comparison", name) for name in full.COMPARED]
    run = FullRun(Order(tmp_path / "run", sizes=SIZES, items=items))
    run.deadline = time.monotonic() + left
    checks = list(run.run())
    if left:
        assert [c.detail for c in checks] == [
            "rows: gpuboost 2.00 s, XGBoost 3.00 s (1.50 times as long)"
        ] * 2
        assert len(run.record["comparison"]["results"]) == 4
    else:
        assert [c.detail for c in checks] == ["the time was up"] * 2


@pytest.mark.parametrize(("peer", "state"), [("gpuboost", FAILED), ("xgboost", NOT_RUN)])
def test_a_comparison_in_which_one_fails(peer, state):
    rows = [
        {
            "workload": "w", "title": "rows", "peer": name,
            "best": {} if name == peer else {"fit": 1.0},
            "runs": [{"error": "out of memory"} if name == peer else {"fit": 1.0}],
        }
        for name in ("gpuboost", "xgboost")
    ]  # fmt: skip
    check = full.compared({"results": rows}, "w")
    assert check.state == state and check.detail.endswith(": out of memory")


def test_the_tests_run_where_they_can(tmp_path, monkeypatch):
    passed = Check(suite.PART, suite.NAME, PASSED, "3 passed")
    monkeypatch.setattr(suite, "reason_not_to", lambda emulated: None)
    monkeypatch.setattr(suite, "run_tests", lambda deadline: iter([passed]))
    run = FullRun(Order(tmp_path / "run", sizes=SIZES, items=[Item(suite.PART, suite.NAME)]))
    assert list(run.run()) == [passed]
    run.deadline = 0.0
    assert [c.detail for c in run._test()] == ["the time was up"]
