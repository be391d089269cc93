"""``gpuboost doctor``."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from gpuboost.cli.common import JSON_OPTION, write_json
from gpuboost.doctor import check_all

SUMMARY = "check this installation: packages, devices, and whether CPU and GPU train the same model"
DESCRIPTION = """\
Checks this installation. Trains a small model on the CPU; where there is a CUDA device, trains it
there too, compares the fingerprints, and measures the kernels. Every finding that is wrong says
what to do about it.
"""
EPILOG = """\
examples:
  gpuboost doctor
  GPUBOOST_EMULATE_CUDA=1 gpuboost doctor    check the CUDA code on a machine without a GPU (needs g++; slow)

exit codes:
  0 all is well, also without a GPU   1 something is wrong
"""
OPTIONS = JSON_OPTION


def run(args: argparse.Namespace) -> int:
    """Print the findings; returns 1 if something is wrong."""
    findings = []
    for finding in check_all():
        findings.append(finding)
        if not args.json:
            print(
                f"[{'ok' if finding.good else '!!'}] {finding.name}: {finding.detail}", flush=True
            )
    good = all(finding.good for finding in findings)
    if args.json:
        write_json({"good": good, "findings": [asdict(finding) for finding in findings]})
    return int(not good)
