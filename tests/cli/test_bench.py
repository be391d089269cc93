"""``gpuboost bench``: a small run for real, what a record says, the page.

And what happens when things go wrong.
"""

import doctest
import json
import re
from html.parser import HTMLParser

import pytest

from gpuboost.benchmarks import driver, figures, findings, page, peers, sweeps
from gpuboost.benchmarks.findings import AHEAD, BEHIND, EVEN, LOSS, MEASURES
from gpuboost.benchmarks.worker import Where
from gpuboost.benchmarks.workloads import WORKLOADS
from gpuboost.cli import build_parser, main
from gpuboost.cli.bench import _command, _seconds_of

FIT, PREDICT, LATENCY, MEMORY, _ = MEASURES
RUN = {"fit": 1.0, "binning": 0.25, "training": 0.75, "cores_used": 1.0, "cores_taken": 0.0}
RUN |= {"rss_growth": 50_000_000, "predict": 0.01, "loss": 0.5, "latency": 2e-5}


def row(peer, workload="small-1k", threads=1, gap=None, runs=None, **changes):
    runs = [RUN | changes] if runs is None else runs
    settings = {"trees": 50, "order": "leafwise", "depth": None, "leaves": 31, "bins": 256}
    about = {
        "workload": workload,
        "title": "1,000 x 10",
        "metric": "log loss",
        "n_test": 1000,
        "threads": threads,
        "growth": "leaf-wise",
    }
    return about | {
        "peer": peer,
        "settings": settings,
        "best": driver.summarise(runs),
        "loss_gap": gap,
        "runs": runs,
    }


def record(*rows, **changes):
    versions = {"gpuboost": "0.1.0", "xgboost": "3.2.0", "catboost": None}
    machine = {
        "date": "2026-01-02 03:04 UTC",
        "commit": "0123456789abcdef",
        "cpu": "A CPU <b>",
        "cores": 2,
        "memory_gib": 8.0,
    }
    machine |= {"system": "Linux", "python": "3.12.0", "versions": versions}
    return {
        "machine": machine,
        "repeat": 2,
        "scale": 1.0,
        "emulated": False,
        "results": list(rows),
    } | changes


def swept_record():
    """Ours and XGBoost over rows and depths, the second of which takes too long at last."""
    jobs, points = sweeps.plan(["rows", "depth"], ["gpuboost", "xgboost"], [2])
    rows = []
    for job in jobs:
        slow = 3.0 if job.peer == "xgboost" else 1.0
        fit = slow * job.workload.n_train * 1e-5 * job.workload.settings.depth
        too_long = job.peer == "xgboost" and job.workload.settings.depth == 10
        runs = (
            [{"error": "no result after 9 s", "timeout": True}]
            if too_long
            else [RUN | {"fit": fit, "latency": None}] * 2
        )
        rows.append(row(job.peer, job.workload.name, 2, runs=runs))
    return record(
        *rows,
        sweeps=points,
        commands=["gpuboost bench --sweeps rows,depth"],
        timeout=9.0,
        seconds=90.0,
        complete=True,
    )


class Page(HTMLParser):
    """Checks that elements are closed in order, and keeps text.

    Ids and whatever refers to something.
    """

    VOID = {"meta", "br", "hr", "img", "link", "input"}

    def __init__(self, html):
        super().__init__()
        self.open, self.text, self.ids, self.links = [], "", [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "srcset", "action"):
                self.links.append(value)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def no_workers(monkeypatch):
    """Measurements that cost nothing: a list of the orders that were given.

    An entry of ``answers`` is returned or raised instead.
    """
    orders, answers = [], {}

    def run_process(module, order, folder, timeout):
        orders.append(order)
        answer = answers.get(len(orders), dict(RUN))
        if isinstance(answer, BaseException):
            raise answer
        return answer

    monkeypatch.setattr(driver, "run_process", run_process)
    return orders, answers


# --- for real


def test_a_small_run(tmp_path, capsys, monkeypatch):
    """Real workers of two libraries: a workload and a point of a sweep.

    JSON, tables and page agree.
    """
    monkeypatch.chdir(tmp_path)
    options = (
        "--workloads small-1k --sweeps threads --peers sklearn --threads 1 --scale 0.005 "
        "--out results/small --report"
    )
    assert main(["bench", *options.split(), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    written = json.loads((tmp_path / "results" / "small.json").read_text())
    assert printed == written and written["complete"]
    assert [(r["peer"], r["threads"], len(r["runs"])) for r in written["results"]] == [
        ("gpuboost", 1, 1),
        ("sklearn", 1, 1),
    ] * 2
    for r in written["results"]:
        assert r["best"]["fit"] > 0 and r["best"]["predict"] > 0 and 0.4 < r["best"]["loss"] < 0.8
        assert (r["loss_gap"] is None) == (r["peer"] == "gpuboost")
    gap, ours, theirs = (
        written["results"][1]["loss_gap"],
        *(r["best"]["loss"] for r in written["results"][:2]),
    )
    assert gap["mean"] == pytest.approx(theirs - ours) and gap["error"] > 0
    assert "small-1k, 1 thread" in (tmp_path / "results" / "small.md").read_text()
    text = Page((tmp_path / "results" / "small.html").read_text()).text
    assert findings.amount(written["results"][0]["best"]["fit"], FIT) in text
    assert written["commands"] == [f"gpuboost bench {options}"]


def test_forests_and_trees(tmp_path, monkeypatch):
    """The same commands measure them, with every library that grows them."""
    monkeypatch.chdir(tmp_path)
    options = "--workloads forest-depth-12,forest-unlimited,tree-exact --threads 1 --scale 0.0025"
    assert main(["bench", *options.split(), "--report"]) == 0
    written = json.loads((tmp_path / "gpuboost-bench.json").read_text())
    assert [r["peer"] for r in written["results"]] == [
        *("gpuboost", "xgboost", "lightgbm", "sklearn"),
        *("gpuboost", "xgboost", "sklearn"),
        *("gpuboost", "sklearn"),
    ]
    for r in written["results"]:
        assert r["best"]["accuracy"] > 0.5, r
    assert "held-out accuracy" in (tmp_path / "gpuboost-bench.md").read_text()
    text = Page((tmp_path / "gpuboost-bench.html").read_text()).text
    assert "forest-unlimited, 1 thread" in text and "exact, bags with replacement" in text


def test_a_worker_that_fails_says_why(tmp_path):
    order = {"threads": 1, "result": ""}
    assert (
        "KeyError" in driver.run_process("gpuboost.benchmarks.worker", order, tmp_path, 60)["error"]
    )


XGBOOST_SAID = """\
Traceback (most recent call last):
  File "worker.py", line 1, in <module>
xgboost.core.XGBoostError: [02:00:00] src/gbm.cc:12: Check failed: no CUDA
Stack trace:
  [bt] (0) libxgboost.so(+0x123)
/usr/lib/threading.py:1: ResourceWarning: unclosed file
"""


@pytest.mark.parametrize(
    ("code", "stderr", "why"),
    [
        (
            1,
            XGBOOST_SAID,
            "xgboost.core.XGBoostError: [02:00:00] src/gbm.cc:12: Check failed: no CUDA "
            "(exit code 1)",
        ),
        (1, "no such library\n\n", "no such library (exit code 1)"),
        (3, "", "it said nothing (exit code 3)"),
        (0, "KeyError\n", "KeyError (exit code 0)"),
        (-9, "x", "its process was ended by SIGKILL, which the system sends when memory is short"),
        (-11, "", "its process was ended by SIGSEGV"),
    ],
)
def test_what_a_worker_died_of(code, stderr, why):
    assert driver.why_it_failed(code, stderr) == why


def test_progress_says_why_a_library_failed():
    assert _seconds_of({"error": "its process was ended by SIGSEGV"}) == (
        ": failed: its process was ended by SIGSEGV"
    )


# --- what a record says


def test_where_we_lose():
    """Faster by 10 %, leaner by 10 MB, a loss 1 % lower and sure of it.

    Not within noise, and not where we are better.
    """
    found = findings.where_we_lose(
        record(
            row("gpuboost"),
            row("xgboost", fit=0.9, predict=0.02, gap={"mean": 0.0, "error": 0.001}),
            row(
                "lightgbm",
                fit=0.98,
                rss_growth=40_000_000,
                loss=0.495,
                gap={"mean": -0.005, "error": 0.001},
            ),
            row(
                "catboost", rss_growth=47_500_000, loss=0.495, gap={"mean": -0.005, "error": 0.004}
            ),
            row("sklearn", latency=1e-5, loss=0.4999, gap={"mean": -0.0001, "error": 0.00001}),
        )
    )
    assert [(d.measure, d.peer) for d in found] == [
        (FIT, "xgboost"),
        (LATENCY, "sklearn"),
        (MEMORY, "lightgbm"),
        (LOSS, "lightgbm"),
    ]
    assert found[0].point == "small-1k, 1 thread" and found[0].ratio == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("measure", "theirs", "gap", "expected"),
    [
        (FIT, 0.96, None, BEHIND),
        (FIT, 0.98, None, EVEN),
        (FIT, 1.04, None, AHEAD),
        (MEMORY, 0.5, None, EVEN),  # half of very little
        (LOSS, 0.99, None, BEHIND),  # nothing known about the error
        (LOSS, 0.99, {"mean": -0.01, "error": 0.006}, EVEN),
        (LOSS, 1.01, {"mean": 0.01, "error": 0.001}, AHEAD),
    ],
)
def test_verdicts(measure, theirs, gap, expected):
    assert findings.verdict(measure, theirs, 1.0, gap) == expected


def test_the_closest_library_is_one_that_is_ahead_if_any_is():
    rows = [row("gpuboost"), row("xgboost", fit=2.0, loss=0.49, gap={"mean": -0.01, "error": 0.02})]
    rows.append(row("lightgbm", fit=1.5, loss=0.495, gap={"mean": -0.005, "error": 0.001}))
    best = findings.closest(record(*rows))["small-1k, 1 thread"]
    assert best["fit"].peer == "lightgbm" and best["loss"].peer == "lightgbm"
    assert {c["measure"]: c[BEHIND] for c in findings.counts(record(*rows))}[LOSS] == 1
    assert "1.50× lightgbm" in findings.text_table(record(*rows))


def test_points_have_names():
    names = set(findings.point_names(swept_record()).values())
    assert {"base point", "rows = 10,000", "rows = 1,000,000", "depth = 2"} <= names
    assert findings.failures(swept_record()) == [("depth = 10", "xgboost", "no result after 9 s")]


# --- sweeps


def test_sweeps_vary_one_factor_and_measure_the_base_once():
    jobs, points = sweeps.plan(sweeps.FACTORS, list(peers.PEERS), [1, 2])
    assert len({job.key for job in jobs}) == len(jobs)
    assert {len(p) for factor, p in points.items() if factor != "columns"} == {5, 2} and len(
        points["columns"]
    ) == 4
    base = {(p["workload"], p["threads"]) for p in points["rows"]} & {
        (p["workload"], p["threads"]) for p in points["depth"]
    }
    assert len(base) == 1 and all(
        base <= {(p["workload"], p["threads"]) for p in factor} for factor in points.values()
    )
    assert "chimeraboost" not in {job.peer for job in jobs}  # it grows symmetric trees only
    assert "chimeraboost" in {
        job.peer for job in sweeps.plan(["rows"], list(peers.PEERS), [2], order="symmetric")[0]
    }
    assert {
        p["value"] for p in sweeps.plan(["rows"], ["gpuboost"], [2], scale=0.001)[1]["rows"]
    } == {500, 1000}


def test_what_took_too_long_is_not_tried_with_more(no_workers):
    jobs, _ = sweeps.plan(["rows"], ["gpuboost", "xgboost"], [2])
    runs = {job.key: [] for job in jobs}
    measured = []

    def measure(job):
        measured.append(job)
        return (
            {"error": "no result after 9 s", "timeout": True}
            if job.peer == "xgboost" and job.workload.n_train >= 100_000
            else RUN
        )

    assert len(list(driver.measure_all(jobs, runs, 1, measure))) == len(jobs) == 10
    assert [job.workload.n_train for job in measured if job.peer == "xgboost"] == [
        10_000,
        30_000,
        100_000,
    ]
    assert runs[jobs[-1].key][0]["error"] == "not tried: less work took too long already"


def test_libraries_far_behind_are_not_repeated():
    jobs = driver.jobs_of([WORKLOADS["small-1k"]], [1], ["gpuboost", "xgboost", "sklearn"])
    runs = {job.key: [] for job in jobs}
    fits = {"gpuboost": 1.0, "xgboost": 3.9, "sklearn": 4.1}
    list(driver.measure_all(jobs, runs, 2, lambda job: RUN | {"fit": fits[job.peer]}))
    assert [len(runs[job.key]) for job in jobs] == [2, 2, 1]


# --- the page


def test_page():
    """It is one file with all numbers, names no other place, and marks what a reader must know."""
    html = page.render(swept_record())
    parsed = Page(html)
    assert (
        "http:" not in html
        and "https:" not in html
        and set(re.findall(r"url\(([^)]*)\)", html)) <= {f"#{name}" for name in parsed.ids}
    )
    assert all(link.startswith("#") for link in parsed.links) and {
        link[1:] for link in parsed.links
    } <= set(parsed.ids)
    assert len(set(parsed.ids)) == len(parsed.ids)
    for text in (
        "A CPU <b>",
        "gpuboost bench --sweeps rows,depth",
        "0123456789ab",
        "xgboost at depth = 10: no result after 9 s",
        "300k",
    ):
        assert text in parsed.text, text
    assert (
        "Speed-up" not in parsed.text
        and "From 10,000 to 1,000,000 rows (100×) the time to fit grows: gpuboost 100×"
        in parsed.text
    )
    assert "Nowhere in what was measured here." in parsed.text


def test_page_lists_where_we_lose():
    text = Page(page.render(record(row("gpuboost"), row("xgboost", fit=0.5)))).text
    assert "Faster to fit (1)" in text and "0.50×" in text and "Nowhere" not in text


@pytest.mark.parametrize(
    ("changes", "rows", "warning"),
    [
        ({"scale": 0.1}, [], "Rows were scaled by 0.1"),
        ({"complete": False}, [], "interrupted"),
        ({"repeat": 1}, [], "measured once"),
        ({"emulated": True, "device": "cuda"}, [], "The times mean nothing"),
        (
            {},
            [row("xgboost", threads=2, cores_taken=1.5)],
            "other work took cores from the best fit of xgboost (1.5 cores)",
        ),
    ],
)
def test_page_warns(changes, rows, warning):
    assert warning in Page(page.render(record(row("gpuboost"), *rows, **changes))).text


def test_page_of_ours_alone_says_that_there_is_nothing_to_compare():
    assert "There is nothing to compare" in page.render(record(row("gpuboost")))
    assert "gpuboost itself was not measured" in page.render(record(row("xgboost")))


def test_libraries_look_different_without_colours():
    assert set(figures.LOOKS) == set(peers.PEERS)
    for i in range(3):  # colours, markers, dashes
        assert len({str(look[i]) for look in figures.LOOKS.values()}) == len(peers.PEERS)


def test_page_again_from_results(tmp_path, capsys):
    results = tmp_path / "old.json"
    results.write_text(json.dumps(swept_record()))
    assert main(["bench", "--report-from", str(results)]) == 0
    first = (tmp_path / "old.html").read_text()
    assert (
        main(["bench", "--report-from", str(results), "--report", str(tmp_path / "new.html")]) == 0
    )
    assert first == (tmp_path / "new.html").read_text()
    assert "base point" in capsys.readouterr().out


@pytest.mark.parametrize("module", [figures, findings, sweeps])
def test_examples(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


# --- when things go wrong


def test_interrupted_and_resumed(tmp_path, capsys, no_workers):
    """Ctrl-C keeps what was measured; --resume measures the rest only."""
    orders, answers = no_workers
    out = str(tmp_path / "part")
    command = [
        "bench",
        "--workloads",
        "small-1k",
        "--peers",
        "xgboost,sklearn",
        "--threads",
        "1",
        "--repeat",
        "2",
        "--out",
        out,
        "--report",
    ]
    answers[3] = KeyboardInterrupt()
    assert main(command) == 130
    assert "interrupted; what was measured until then is written" in capsys.readouterr().err
    part = json.loads((tmp_path / "part.json").read_text())
    assert not part["complete"] and [r["peer"] for r in part["results"]] == ["gpuboost", "xgboost"]
    assert "The run was interrupted" in (tmp_path / "part.html").read_text()
    assert main([*command, "--resume"]) == 0
    whole = json.loads((tmp_path / "part.json").read_text())
    assert (
        whole["complete"]
        and len(whole["commands"]) == 2
        and [len(r["runs"]) for r in whole["results"]] == [2, 2, 2]
    )
    assert [order["peer"] for order in orders[3:]] == ["sklearn", "gpuboost", "xgboost", "sklearn"]


def test_interrupted_at_once(tmp_path, capsys, no_workers):
    no_workers[1][1] = KeyboardInterrupt()
    assert (
        main(
            ["bench", "--workloads", "small-1k", "--threads", "1", "--out", str(tmp_path / "none")]
        )
        == 130
    )
    assert "nothing was written" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_resume_only_what_is_the_same(tmp_path, capsys, no_workers):
    command = [
        "bench",
        "--workloads",
        "small-1k",
        "--peers",
        "sklearn",
        "--threads",
        "1",
        "--out",
        str(tmp_path / "a"),
        "--resume",
    ]
    assert main(command) == 2
    assert "no " in capsys.readouterr().err
    assert main(command[:-1]) == 0
    assert main([*command, "--scale", "0.5"]) == 2
    assert "its scale was 0.1, now it is 0.5" in capsys.readouterr().err
    measured = json.loads((tmp_path / "a.json").read_text())
    measured["machine"]["cpu"] = "another"
    (tmp_path / "a.json").write_text(json.dumps(measured))
    assert main(command) == 2
    assert "cpu changed since it was measured" in capsys.readouterr().err


def test_libraries_that_are_missing(tmp_path, capsys, monkeypatch, no_workers):
    monkeypatch.setattr(peers, "available", lambda name: name in ("gpuboost", "sklearn"))
    assert (
        main(
            [
                "bench",
                "--workloads",
                "small-1k",
                "--threads",
                "1",
                "--out",
                str(tmp_path / "few"),
                "--report",
            ]
        )
        == 0
    )
    error = capsys.readouterr().err
    assert (
        "not installed, so left out: xgboost, lightgbm, lightgbm-quantised, catboost, chimeraboost"
        in error
    )
    assert 'pip install ".[bench]"' in error
    assert {order["peer"] for order in no_workers[0]} == {"gpuboost", "sklearn"}
    assert (
        "catboost was left out: it is not installed."
        in Page((tmp_path / "few.html").read_text()).text
    )


def test_a_library_that_fails_is_told_and_the_others_are_measured(tmp_path, capsys, no_workers):
    no_workers[1][2] = {"error": "ValueError: no"}
    assert (
        main(
            [
                "bench",
                "--workloads",
                "small-1k",
                "--peers",
                "sklearn",
                "--threads",
                "1",
                "--out",
                str(tmp_path / "x"),
            ]
        )
        == 0
    )
    assert "sklearn gave no result at small-1k, 1 thread: ValueError: no" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--workloads", "higs"], "unknown: higs; there are higgs-leaves, higgs-depth"),
        (
            ["--sweeps", "rows,trees"],
            "unknown: trees; there are rows, columns, bins, depth, classes, threads",
        ),
        (["--peers", "xgb"], "unknown: xgb; there are gpuboost, xgboost"),
        (["--peers", ","], "no name is given; there are gpuboost"),
        (["--threads", "0"], "must be whole numbers, at least 1, with commas; got '0'"),
        (["--repeat", "two"], "must be a whole number, at least 1; got 'two'"),
        (["--scale", "2"], "must be above 0 and at most 1; got '2'"),
        (["--timeout", "nan"], "must be seconds, above 0; got 'nan'"),
        (["--quick", "--full"], "not allowed with argument"),
        (["--device", "tpu"], "cuda"),
    ],
)
def test_wrong_options(options, says, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["bench", *options])
    assert stopped.value.code == 2 and says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--input", "device"], "--input device needs --device cuda"),
        (["--growth", "symmetric"], "name them with --sweeps"),
        (["--report-from", "x.json", "--repeat", "2"], "does not go with --repeat"),
        (["--device", "cuda"], "--device cuda cannot be measured here: no GPU is here"),
    ],
)
def test_options_that_do_not_go_together(options, says, capsys, monkeypatch):
    monkeypatch.setattr(peers.GPUBoost, "cuda_problem", classmethod(lambda cls: "no GPU is here"))
    assert main(["bench", *options]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "is no result of a comparison"),
        ('{"machine": {}, "repeat": 1, "scale": 1}', "an object with 'machine' and 'results'"),
        ('{"machine": {}, "repeat": 1, "scale": 1, "results": []}', "nothing was measured"),
        (
            '{"machine": {}, "repeat": 1, "scale": 1, "results": [{"peer": "other"}]}',
            "results of other, which this version does not know",
        ),
        ('{"machine": {}, "repeat": 1, "results": [{"peer": "xgboost"}]}', "it has no 'scale'"),
        (
            '{"machine": {}, "repeat": 1, "scale": 1, "results": [{"peer": "xgboost"}]}',
            "its machine has no 'date', 'commit'",
        ),
        (
            json.dumps(record({"peer": "xgboost", "threads": 1})),
            "result 0 has no 'workload', 'title'",
        ),
    ],
)
def test_files_that_are_no_results(content, says, tmp_path, capsys):
    (tmp_path / "bad.json").write_text(content)
    assert main(["bench", "--report-from", str(tmp_path / "bad.json")]) == 2
    assert says in capsys.readouterr().err
    assert main(["bench", "--report-from", str(tmp_path / "none.json")]) == 2


def test_the_command_in_the_record_asks_for_the_same():
    words = [
        "bench",
        "--full",
        "--peers",
        "xgboost,sklearn",
        "--threads",
        "1,2",
        "--scale",
        "0.5",
        "--out",
        "a folder/x",
        "--report",
    ]
    args = build_parser().parse_args(words)
    assert (
        _command(args) == "gpuboost bench --full --peers xgboost,sklearn --threads 1,2 --scale 0.5 "
        "--out 'a folder/x' --report"
    )


def test_arrays_on_a_gpu_leave_out_who_cannot_take_them(monkeypatch):
    monkeypatch.setattr(driver, "emulated", lambda: False)
    assert (
        driver.problem_of("lightgbm", Where("cuda", "device"))
        == "it takes no arrays that are on a GPU"
    )
    monkeypatch.setattr(driver, "emulated", lambda: True)
    assert "emulated" in driver.problem_of("xgboost", Where("cuda", "host"))


def test_forests_are_compared_on_the_cpu_only(capsys, monkeypatch):
    monkeypatch.setattr(peers.GPUBoost, "cuda_problem", classmethod(lambda cls: None))
    assert main(["bench", "--device", "cuda", "--workloads", "small-1k,tree-exact"]) == 2
    assert "tree-exact: forests and trees are compared on the CPU only" in capsys.readouterr().err
