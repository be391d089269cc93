"""What checks say, counted."""

from dataclasses import asdict

from gpuboost.doctor.checks import (
    FAILED,
    NOT_RUN,
    PASSED,
    Check,
    count_states,
    left_out,
    left_out_by_reason,
    outcome,
)


def test_a_check_has_passed_unless_there_is_a_difference():
    assert outcome("trainings", "a", "", "the same").state == PASSED
    failed = outcome("trainings", "a", "tree 0 differs", "the same")
    assert (failed.state, failed.detail) == (FAILED, "tree 0 differs")


def test_states_and_reasons_are_counted():
    checks = [
        Check("operations", "a", PASSED, ""),
        Check("trainings", "b", FAILED, "wrong"),
        left_out("trainings", "c", "the time was up"),
        left_out("tests", "d", "the time was up"),
    ]
    record = [asdict(check) for check in checks]
    assert count_states(record) == {PASSED: 1, FAILED: 1, NOT_RUN: 2}
    assert count_states(record, "trainings") == {PASSED: 0, FAILED: 1, NOT_RUN: 1}
    assert left_out_by_reason(record) == {"the time was up": ["trainings, c", "tests, d"]}
