"""Numbers and dates as people write them, against definitions in plain Python."""

from datetime import datetime, timezone

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboost.data.formatted_values import candidates, is_format, parsed


def values(text):
    """What a text stands for, by each format that it may be in."""
    return {form: parsed(pa.array([text]), form)[0][0] for form in candidates(text)}


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("$803.41", {".$": 803.41}),
        ("1,234", {".": 1234, ",": 1.234}),
        ("1,234,567.5", {".": 1234567.5}),
        ("12,34,567", {".": 1234567}),
        ("1.234,50 €", {",€": 1234.5}),
        ("€ 3,5", {",€": 3.5}),
        ("1\u202f234,5", {",": 1234.5}),
        ("CHF 1'234.50", {".CHF": 1234.5}),
        ("-$5.25", {".$": -5.25}),
        ("$-5.25", {".$": -5.25}),
        ("($1,234.50)", {".$": -1234.5}),
        ("(5.5)", {".": -5.5}),
        ("−5,5", {",": -5.5}),
        ("US$ 7.50", {".US$": 7.5}),
        ("12.5%", {".%": 12.5}),
        ("12,5 %", {",%": 12.5}),
        (" 7.5 % ", {".%": 7.5}),
    ],
)
def test_numbers(text, meaning):
    assert values(text) == meaning
    assert all(is_format(form) for form in meaning)


@pytest.mark.parametrize(
    "text",
    ["", "x", "room 7", "$", "%", "1.2.3", "10.0.0.1", "007", "$01", "1,23", "12:30", "5-", "3 4"]
    + ["555-1234", "1-2-24", "1.2.24", "A$B", "٣", "1 2345", "5 %%", "$5 €"],
)
def test_texts_that_are_neither_numbers_nor_dates(text):
    assert {form for form in candidates(text) if form != ","} == set()
    assert text == "1,23" or candidates(text) == []


@given(st.decimals(-(10**9), 10**9, places=2), st.sampled_from(["", "$", "€", "%", "kr"]))
def test_numbers_are_read_back(number, unit):
    point = f"{number:,}{unit}"
    comma = point.translate(str.maketrans(",.", ".,"))
    assert parsed(pa.array([point]), f".{unit}")[0][0] == float(number)
    assert parsed(pa.array([comma]), f",{unit}")[0][0] == float(number)


DATE = {
    "month/day/year": "%m/%d/%Y",
    "day/month/year": "%d/%m/%Y",
    "year/month/day": "%Y/%m/%d",
    "day.month.year": "%d.%m.%Y",
    "year.month.day": "%Y.%m.%d",
    "year-month-day": "%Y-%m-%d",
    "month-day-year": "%m-%d-%Y",
    "day-month-year": "%d-%m-%Y",
    "day monthname year": "%d %B %Y",
    "day-monthname-year": "%d-%b-%Y",
    "monthname day, year": "%b %d, %Y",
}
TIMES = {"": 86400, " %H:%M": 60, "T%H:%M:%S": 1, " %I:%M %p": 60, " %I:%M:%S%p": 1}


@given(
    st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31)),
    st.sampled_from(list(DATE)),
    st.sampled_from(list(TIMES)),
)
def test_dates_are_read_back(moment, form, time):
    text = moment.strftime(DATE[form] + time)
    assert form in candidates(text)
    seconds = moment.replace(microsecond=0, tzinfo=timezone.utc).timestamp()
    assert parsed(pa.array([text]), form)[0][0] == seconds // TIMES[time] * TIMES[time]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("31/4/2024", "day/month/year"),
        ("29/2/2023", "day/month/year"),
        ("0/1/2024", "day/month/year"),
        ("1/13/2024", "day/month/year"),
        ("1/1/2024 24:00", "day/month/year"),
        ("1 Foo 2024", "day monthname year"),
    ],
)
def test_days_that_do_not_exist_are_no_dates(text, form):
    numbers, fits = parsed(pa.array([text]), form)
    assert np.isnan(numbers).all() and not fits.any()


def test_two_digits_of_a_year():
    for year, text in ((2024, "24"), (2068, "68"), (1969, "69")):
        (seconds,), _ = parsed(pa.array([f"31/12/{text}"]), "day/month/year")
        assert datetime.fromtimestamp(seconds, timezone.utc).year == year


def test_rows_without_a_value_fit_every_format():
    numbers, fits = parsed(pa.array(["$5", None, "x"]), ".$")
    assert fits.tolist() == [True, True, False]
    assert numbers[0] == 5 and np.isnan(numbers[1:]).all()


def test_where_commas_are_decimal_marks_days_come_first():
    assert candidates("1,234", prefer_comma=True) == [",", "."]
    assert candidates("1/2/2024", prefer_comma=True) == ["day/month/year", "month/day/year"]


@pytest.mark.parametrize("text", ["", "$", "x", ".a long unit", "month"])
def test_other_texts_are_no_formats(text):
    assert not is_format(text)
