"""The script that runs scikit-learn's tests on the estimators of this library."""

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("sklearn_suite.py")


def test_a_part_of_the_tests():
    done = subprocess.run(
        [sys.executable, SCRIPT, "-k", "test_probability or test_big_input"],
        capture_output=True,
        text=True,
        cwd=SCRIPT.parents[2],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    passed = {name: int(n) for name, n in re.findall(r"(\w+): (\d+) of", done.stdout)}
    assert passed == {"trees": 1, "forests": 2}


def test_the_page_has_a_reason_for_every_test_that_does_not_pass():
    page = SCRIPT.with_suffix(".md").read_text()
    for title, passed, total in re.findall(r"## (\w+): (\d+) of (\d+) pass", page):
        rows = page[page.index(f"## {title}") :].split("\n## ")[0]
        assert sum(map(int, re.findall(r"^\| (\d+) \|", rows, re.M))) == int(total) - int(passed)
    assert "**" not in page  # how the script writes what nobody has explained
