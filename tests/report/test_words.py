"""Numbers as people read them."""

from gpuboost.report.words import number, percent, seconds


def test_numbers_as_people_read_them():
    said = [
        number(v)
        for v in (0.0, 1234567.0, 12345.678, 0.000123456, -2.5, float("nan"), float("inf"), 1e300)
    ]
    assert said == ["0", "1,234,567", "12,346", "0.0001235", "-2.5", "–", "∞", "1e+300"]
    assert [percent(v) for v in (0.0, 1.0, 0.0001, 0.9999, 0.1234)] == [
        "0 %",
        "100 %",
        "< 0.1 %",
        "> 99.9 %",
        "12.3 %",
    ]
    assert [seconds(v) for v in (0.0123, 1.5, 75.0)] == ["12 ms", "1.50 s", "1 min 15 s"]
