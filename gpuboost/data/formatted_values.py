"""Numbers and dates as people write them: $1,234.50, 12,5 %, 31.12.2024.

A format says how a column writes its values. It is one text, which a model keeps for the tables
that it will predict.

Numbers: the decimal mark, then the unit: ``.$`` for $1,234.50 and ($5), ``,€`` for 1.234,50 €,
``.%`` for 12.5%, ``.`` for 1,234 and ``,`` for 1.234,5. Thousands may be set off by the other mark,
spaces or apostrophes. A percentage is the number that is written.

Dates: what stands where: ``month/day/year``, ``day.month.year``, ``day monthname year``. A time of
the day may follow. They become seconds since 1970-01-01T00:00, as dates in ISO 8601 do.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gpuboost.optional import load

#: Currencies: signs, perhaps behind the letters of a country, and codes.
CURRENCY = (
    r"(?:[A-Z]{0,3}\p{Sc}|USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN"
    r"|KRW|SGD|HKD|TRY|kr|zł|Kč|Fr\.)"
)
SPACE = "[ \u00a0\u2009\u202f]"
#: Digits in groups of three, behind spaces or apostrophes.
GROUPS = rf"[1-9][0-9]{{0,2}}(?:(?:{SPACE}|['’])[0-9]{{3}})+"
#: Digits by the decimal mark. 007 is no number but a name: it does not begin with a zero.
DIGITS = {
    ".": rf"(?:0|[1-9][0-9]*|[1-9][0-9]{{0,2}}(?:,[0-9]{{2,3}})*,[0-9]{{3}}|{GROUPS})(?:\.[0-9]*)?"
    r"|\.[0-9]+",
    ",": rf"(?:0|[1-9][0-9]*|[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}})+|{GROUPS})(?:,[0-9]*)?|,[0-9]+",
}
SIGN = "[-+−]"
#: Orders of dates; a point stands for itself. The first of two that both fit is taken.
DATES = (
    "month/day/year",
    "day/month/year",
    "year/month/day",
    "day.month.year",
    "year.month.day",
    "year-month-day",
    "month-day-year",
    "day-month-year",
    "day monthname year",
    "day-monthname-year",
    "monthname day, year",
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
PARTS = {
    "year": "(?P<year>[0-9]{4})",
    "month": "(?P<month>[0-9]{1,2})",
    "day": "(?P<day>[0-9]{1,2})",
    "monthname": "(?P<monthname>(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)\\.?",
}
TIME = (
    r"(?:(?:T| +)(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}(?:\.[0-9]+)?))?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?)?"
)
DAY = 86_400.0


def is_format(text: str) -> bool:
    """Whether a text is a format."""
    return text in DATES or (text[:1] in DIGITS and len(text) <= 8)


def is_date(format: str) -> bool:
    """Whether a format is one of dates."""
    return format in DATES


def described(form: str) -> str:
    """A format for people: a date's order, or how a number is written.

    Examples
    --------
    >>> described(",€"), described("day.month.year")
    ('1.234,5 €', 'day.month.year')
    """
    if is_date(form):
        return form
    return f"{'1,234.5' if form[0] == '.' else '1.234,5'} {form[1:]}".rstrip()


def candidates(text: str, prefer_comma: bool = False) -> list[str]:
    """Formats that a text may be in, the likeliest first.

    Parameters
    ----------
    text : str
        A value.
    prefer_comma : bool, default=False
        Whether decimal commas, and dates that begin with the day, are likelier.

    Returns
    -------
    list of str
        None if the text is in no format, or is a plain number.

    Examples
    --------
    >>> candidates("$803.41")
    ['.$']
    >>> candidates("1,234")
    ['.', ',']
    >>> candidates("31/12/2024")
    ['month/day/year', 'day/month/year']
    >>> candidates("room 7")
    []
    """
    text = text.strip()
    dates = [form for form in DATES if re.fullmatch(_date_pattern(form), text)]
    currency = CURRENCY.replace(r"\p{Sc}", _CURRENCY_SIGNS)
    unit = re.search(rf"%|{currency}", text)
    marks = [
        mark
        for mark in (",." if prefer_comma else ".,")
        if re.fullmatch(_number_pattern(mark, unit[0] if unit else ""), text)
    ]
    out = [mark + (unit[0] if unit else "") for mark in marks]
    if prefer_comma:
        dates.sort(key=lambda form: form.startswith("month"))
    return [*dates, *out]


#: What the class Sc of Unicode holds of signs in use; Python's expressions have no classes.
_CURRENCY_SIGNS = "[$¢£¤¥֏؋৳฿₠-₿﷼﹩＄￠￡￥￦]"  # noqa: RUF001


def _number_pattern(mark: str, unit: str) -> str:
    """How a number is written; a currency may stand on either side, and be left out."""
    digits, unit_there = DIGITS[mark], re.escape(unit)
    if unit == "%":
        return f"^{SIGN}?(?:{digits}){SPACE}?%$"
    if not unit:
        return rf"^(?:{SIGN}?(?:{digits})|\((?:{digits})\))$"
    unit_before = f"(?:{unit_there}{SPACE}?)?"
    unit_behind = f"(?:{SPACE}?{unit_there})?"
    plain = f"{SIGN}?{unit_before}{SIGN}?(?:{digits}){unit_behind}{SIGN}?"
    return rf"^(?:{plain}|\({unit_before}(?:{digits}){unit_behind}\))$"


def _date_pattern(form: str) -> str:
    """How a date is written; behind slashes, a year may have two digits."""
    parts = PARTS | ({"year": "(?P<year>[0-9]{4}|[0-9]{2})"} if form.endswith("/year") else {})
    return (
        "^" + re.sub("[a-z]+", lambda part: parts[part[0]], form.replace(".", r"\.")) + TIME + "$"
    )


def parsed(column: Any, form: str) -> tuple[np.ndarray, np.ndarray]:
    """Values of a column of texts.

    Parameters
    ----------
    column : pyarrow.Array
        Texts.
    form : str
        Their format.

    Returns
    -------
    numbers : ndarray of shape (n_rows,)
        NaN where there is no value.
    fits : ndarray of shape (n_rows,)
        Whether a row has no value, or one in this format.

    Examples
    --------
    >>> import pyarrow as pa
    >>> parsed(pa.array(["($1,234.50)", None, "€5"]), ".$")
    (array([-1234.5,     nan,     nan]), array([ True,  True, False]))
    """
    pc = load("pyarrow.compute", "reading tables")
    texts = pc.utf8_trim_whitespace(column)
    there = pc.is_valid(texts).to_numpy(zero_copy_only=False)
    numbers = _dates(pc, texts, form) if is_date(form) else _numbers(pc, texts, form)
    return numbers, ~there | ~np.isnan(numbers)


def _numbers(pc: Any, texts: Any, form: str) -> np.ndarray:
    mark, unit = form[0], form[1:]
    fits = pc.match_substring_regex(texts, _number_pattern(mark, unit))
    texts = pc.if_else(fits, texts, None)
    negative = pc.match_substring_regex(texts, r"[-−(]")
    digits = pc.replace_substring(texts, unit, "") if unit else texts
    digits = pc.replace_substring_regex(digits, f"[^0-9{mark}]", "")
    if mark == ",":
        digits = pc.replace_substring(digits, ",", ".")
    numbers = _floats(digits)
    return np.where(_floats(negative.cast("int8")) == 1, -numbers, numbers)


def _dates(pc: Any, texts: Any, form: str) -> np.ndarray:
    parts = pc.extract_regex(texts, _date_pattern(form))

    def part(name: str) -> np.ndarray:
        values = pc.struct_field(parts, name)
        return _floats(pc.if_else(pc.equal(values, ""), "0", values))

    year, day = part("year"), part("day")
    year = year + np.where(year < 69, 2000, np.where(year < 100, 1900, 0))
    if "monthname" in form:
        names = pc.utf8_lower(pc.utf8_slice_codeunits(pc.struct_field(parts, "monthname"), 0, 3))
        month = 1 + _floats(pc.index_in(names, load("pyarrow", "reading tables").array(MONTHS)))
    else:
        month = part("month")
    hour, minute, second = part("hour"), part("minute"), part("second")
    half = pc.utf8_lower(pc.struct_field(parts, "half"))
    noon = _floats(pc.equal(half, "p").cast("int8")), _floats(pc.equal(half, "a").cast("int8"))
    hour = hour + 12 * noon[0] * (hour < 12) - 12 * noon[1] * (hour == 12)
    good = (month >= 1) & (month <= 12) & (day >= 1) & (hour < 24) & (minute < 60) & (second < 60)
    months = np.where(good, 12 * (year - 1970) + month - 1, 0).astype("datetime64[M]")
    first = months.astype("datetime64[D]")
    good &= day <= ((months + 1).astype("datetime64[D]") - first).astype(np.float64)
    days = first.astype(np.float64) + day - 1
    return np.where(good, days * DAY + 3600 * hour + 60 * minute + second, np.nan)


def _floats(column: Any) -> np.ndarray:
    """A column as float64, NaN where it has no value."""
    numbers: np.ndarray = column.cast("float64").to_numpy(zero_copy_only=False)
    return numbers


def numbers_of(name: str, values: Any, form: str) -> np.ndarray:
    """A column of a frame as numbers; raises if a value is not in the format.

    Parameters
    ----------
    name : str
        What errors call the column.
    values : sequence
        Texts, and None where there is none.
    form : str
        Their format.

    Returns
    -------
    ndarray of shape (n_rows,)
        NaN where there is no value.

    Examples
    --------
    >>> numbers_of("price", ["$5", None, "$1,234.50"], ".$")
    array([   5. ,    nan, 1234.5])
    """
    pa = load("pyarrow", "reading formatted numbers")
    texts = pa.array([None if value is None else str(value) for value in values], pa.string())
    numbers, fits = parsed(texts, form)
    if not fits.all():
        raise ValueError(
            f"column {name!r} must hold values written {described(form)}, as in training; got "
            f"{texts[int(np.argmin(fits))].as_py()!r}"
        )
    return numbers
