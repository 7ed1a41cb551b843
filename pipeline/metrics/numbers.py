"""The number that a reply states, with its unit, or the reason why it states none.

Stricter than the released benchmark's parser, which takes the first word. A number right after a word that states an
answer ("answer: 2.5", ``{"answer": 2.5}``) decides; else all numbers of the reply must be equal, or the last one
concludes it ("2 + 3 = 5", "…, so 4 chairs."). Where the question
names its unit ("… in meters?"), numbers in that unit go before bare ones, those in another are converted ("150 cm" is
1.5), and those of another dimension are no answer. Percentages, and bounds (">10", "at least 3"), are none either.
"1,234" and "1.234.567" are thousands, "1,5" and "1.234,5" have a decimal comma.
"""

import re
from decimal import Context, Decimal
from functools import cache
from typing import Final, NamedTuple

from pipeline.core.templates import load_table
from pipeline.metrics.number_words import with_digits
from pipeline.metrics.replies import ANSWER_WORDS, CONCLUDES, LATIN, THIN, ParsedReply, without_markup


class Unit(NamedTuple):
    """``factor``: how many of the dimension's own unit (metre, square metre, second, degree) it is."""

    dimension: str
    factor: Decimal


_TABLE: Final[dict[str, dict[str, tuple[str, str]]]] = load_table("metrics/units")
_SQUARE: Final = r"(?:square|sq\.?|平方)\s*-?(?:{names})|(?:{names})\s*(?:\^\s*2|2|squared|²)"


def _unit_names() -> list[tuple[Unit, str]]:
    """Every unit with the words for it; areas first, since "square metres" ends like "metres"."""
    areas = [(Unit("area", Decimal(f) ** 2), _SQUARE.format(names=names)) for f, names in _TABLE["length"].values()]
    areas.append((Unit("area", Decimal(1)), r"qm|㎡|平米|м2|кв\.? ?м"))
    areas.append((Unit("area", Decimal("0.3048") ** 2), r"sf"))
    plain = [
        (Unit(dimension, Decimal(factor)), names)
        for dimension, table in _TABLE.items()
        for factor, names in table.values()
    ]
    return [*areas, *plain]


# Compiled when they are asked for: it takes 0.1 s, and most processes read no reply.
@cache
def _follows() -> list[tuple[Unit, re.Pattern[str]]]:
    """What is behind a number, by unit."""
    # The longest first: "minutes" begins with "m", "square feet" with "s".
    return [
        (unit, re.compile(rf"[\s\u2009-]{{0,3}}(?:{names})\.?(?![A-Za-zÀ-ɏ^]|[23](?![0-9]))", re.IGNORECASE))
        for unit, names in _unit_names()
    ]


@cache
def _units() -> list[tuple[Unit, re.Pattern[str]]]:
    """The words of a question that asks for a unit, by unit."""
    return [
        (
            unit,
            re.compile(
                rf"\b(?:in|units?(?:\sis)?:?)\s+(?:the\s+unit\s+of\s+)?(?:{names})(?![\w²^])|(?<!\w)\((?:{names})\)",
                re.IGNORECASE,
            ),
        )
        for unit, names in _unit_names()
    ]


def unit_of_question(question: str) -> Unit | None:
    """The unit that a question wants its number in ("… in square meters?"); None where it names none."""
    found = [(match.start(), -match.end(), unit) for unit, pattern in _units() for match in pattern.finditer(question)]
    return min(found, key=lambda place: place[:2])[2] if found else None


def unit_at(text: str, start: int) -> tuple[Unit, int] | None:
    """The unit that follows at a place of a text, and where it ends."""
    found = [(match.end(), unit) for unit, pattern in _follows() if (match := pattern.match(text, start))]
    if not found:
        return None
    end, unit = max(found, key=lambda place: place[0])
    return unit, end


_EXACT: Final = Context(prec=28, traps=[])
PERCENT: Final = Unit("percent", Decimal(1))

_SEPARATORS: Final = rf".,'{THIN}"
# Not within a word ("m2", "3D", "2nd"), but in "2.5m" and "2x3".
_NUMBER: Final = re.compile(
    rf"(?:(?<![{LATIN}^])(?<![{LATIN}][.,_])|(?<=[0-9]x))"
    rf"(?P<sign>(?<![)\]%])[-+])?(?P<digits>[0-9](?:[0-9]|[{_SEPARATORS}](?=[0-9]))*|\.[0-9]+)"
    rf"(?P<power>[eE][-+]?[0-9]{{1,6}}(?![{LATIN}]))?(?!(?:D|st|nd|rd|th)\b)(?![0-9])"
)
_NOT_FINITE: Final = re.compile(r"∞|(?<![a-z])(?:nan|inf(?:inity)?)(?![a-z])", re.IGNORECASE)
_STATED: Final = re.compile(
    rf"(?:{ANSWER_WORDS})(?:[\s:=(\[~≈是为為は은는约約]"
    r"|\b(?:is|be|would|should|about|around|approximately|approx|roughly|circa|es|est|ist|è|é)\b\.?){0,20}(?=[-+.]?[0-9])",
    re.IGNORECASE,
)
# What concludes a reply: such a word, a few others, the number, and at most its unit and four words to the end.
_CONCLUDED: Final = re.compile(
    rf".*{CONCLUDES}(?P<rest>[^0-9\n=]{{0,60}}(?P<at>[-+.]?[0-9][^\n]*?)[\s.!。]*)\Z", re.IGNORECASE | re.DOTALL
)
_WORDS_AFTER: Final = 4
_DOUBT: Final = re.compile(
    r"\b(?:not|maybe|perhaps|possibly|might|may|could|unless|if|or|missed|except|without|than)\b|n't\b", re.IGNORECASE
)
_AND_ANOTHER: Final = re.compile(
    r"\s*[^\W\d]{0,12}\s*(?:-|~|/|\b(?:to|or|and|bis|oder|ou|o|à|a)\b|到|至|或)\s*[0-9]", re.IGNORECASE
)
_MIXED: Final = re.compile(
    r"(?<![0-9./])(?:(?P<whole>[0-9]{1,4})[\s-]+)?(?P<over>[0-9]{1,2})\s?/\s?(?P<under>[0-9]{1,2})(?![0-9./]|\s?/)"
)
_LARGEST_UNDER: Final = 16  # of a fraction: "3/16" is one, "3/24" a date or a share
_BOUND_BEFORE: Final = re.compile(
    r"(?:[<>≤≥]=?|\b(?:more|less|fewer|greater|larger|smaller|longer|shorter|higher|lower) than"
    r"|n't|\b(?:not|at least|at most|up to|over|under|above|below|exceeds?|exceeding)"
    r"|\b(?:minimum|maximum) of|超过|至少|最多|不到|大于|小于)\s*\Z",
    re.IGNORECASE,
)
_BOUND_AFTER: Final = re.compile(
    r"\s?\+(?![0-9])|\s+(?:or|and)\s+(?:more|less|fewer|above|below|so on)\b|以上|以下", re.IGNORECASE
)
_PERCENT: Final = re.compile(r"\s?(?:%|per ?cent\b)", re.IGNORECASE)
_LOOK_BACK: Final = 24  # characters before a number that may make it a bound
_LARGEST: Final = Decimal("1e300")  # beyond it doubles end
_SAME_SHARE: Final = Decimal("0.05")  # by which the same length differs when said in two units
_JOINER: Final = re.compile(
    r"\s*(?:-|~|/|x|×|\*|,|\b(?:to|or|and|by|through|bis|oder|ou|o|à|a)\b|到|至|或)\s*", re.IGNORECASE
)
_PART: Final = re.compile(r"[0-9]{1,4}(?:[.,][0-9]{1,4})?")
_JOINED_PARTS: Final = re.compile(r"\s*(?:,|and|und|y|et)?\s*(?=[0-9])", re.IGNORECASE)


class _Found(NamedTuple):
    """A number in a reply; ``value`` None: unreadable."""

    value: Decimal | None
    unit: Unit | None
    is_bound: bool
    start: int
    end: int


def find_number(reply: str, unit: Unit | None = None) -> ParsedReply[Decimal]:
    """The number named by a reply, finite and in the unit of the question (`unit_of_question`).

    Reasons for None: ``empty``, ``no_number``, ``several_numbers``, ``not_finite``, ``unreadable`` ("1.2.3"),
    ``bound``, ``percent``, ``other_unit``.
    """
    text = _MIXED.sub(_divided, with_digits(without_markup(reply)))
    if not text.strip():
        return ParsedReply(None, "empty")
    stated = _numbers(text, [match.end() for match in _STATED.finditer(text)])
    found = stated or _numbers(text, None)
    if not found:
        return ParsedReply(None, "not_finite" if _NOT_FINITE.search(text) else "no_number")
    others = [number for number in found if number.unit is not PERCENT]
    if not others:
        return ParsedReply(None, "percent")
    read = _decided(others, unit)
    return _concluded(text, unit) or read if read.reason == "several_numbers" and not stated else read


def _concluded(text: str, unit: Unit | None) -> ParsedReply[Decimal] | None:
    """The number with which a reply of several ends as a conclusion ("2 + 3 = 5", "…, so 4 chairs."); None: none."""
    match = _CONCLUDED.match(text)
    if match is None or _DOUBT.search(match["rest"]):
        return None
    found = _numbers(match["rest"], None)
    if len(found) != 1 or found[0].unit is PERCENT or found[0].is_bound:
        return None
    if len(match["rest"][found[0].end :].split()) > _WORDS_AFTER:
        return None
    read = _decided(found, unit)
    return read if read.value is not None else None


def _decided(found: list[_Found], unit: Unit | None) -> ParsedReply[Decimal]:
    if unit is not None:
        fitting = [n for n in found if n.unit is not None and n.unit.dimension == unit.dimension]
        bare = [n for n in found if n.unit is None]
        if not fitting and not bare:
            return ParsedReply(None, "other_unit")
        own = [n for n in fitting if n.unit == unit]
        restated = [n for n in fitting if n.unit != unit and not (own and _is_restated(n, own[0], unit))]
        found = [*own, *restated] or bare
    if any(n.value is None for n in found):
        return ParsedReply(None, "unreadable")
    values = {_in_unit(n.value, n.unit, unit) for n in found if n.value is not None}
    if len(values) > 1:
        return ParsedReply(None, "several_numbers")
    if any(n.is_bound for n in found):
        return ParsedReply(None, "bound")
    value = values.pop()
    return ParsedReply(None, "not_finite") if abs(value) > _LARGEST else ParsedReply(value, None)


def _is_restated(number: _Found, own: _Found, unit: Unit) -> bool:
    """Whether a number says in another unit what one in the question's unit said: "2.5 m (8.2 feet)"."""
    if number.value is None or own.value is None:
        return False
    return abs(_in_unit(number.value, number.unit, unit) - own.value) <= _SAME_SHARE * abs(own.value)


def _in_unit(value: Decimal, stated: Unit | None, unit: Unit | None) -> Decimal:
    """A value that was ``stated`` in one unit in another; as it is where either is not known."""
    if unit is None or stated is None or stated == unit:
        return value
    return _EXACT.divide(_EXACT.multiply(value, stated.factor), unit.factor).normalize()


def _divided(match: re.Match[str]) -> str:
    """A fraction as a decimal number; left as it is where it is more likely something else."""
    under = int(match["under"])
    if not 2 <= under <= _LARGEST_UNDER or (match["whole"] and int(match["over"]) >= under):
        return match[0]
    return str(_EXACT.add(Decimal(match["whole"] or 0), _EXACT.divide(Decimal(match["over"]), Decimal(under))))


def _numbers(text: str, starts: list[int] | None) -> list[_Found]:
    """Every number of a text, or those at given places with what is joined to them ("2 to 3")."""
    found: list[_Found] = []
    if starts is None:
        place = 0
        while match := _NUMBER.search(text, place):
            found.append(_number(text, match))
            place = found[-1].end
        return _shared_units(text, found)
    for start in starts:
        match = _NUMBER.match(text, start)
        while match:
            found.append(_number(text, match))
            joined = _AND_ANOTHER.match(text, match.end())
            match = _NUMBER.match(text, joined.end() - 1) if joined else None
    return _shared_units(text, found)


def _shared_units(text: str, found: list[_Found]) -> list[_Found]:
    """Of "2 to 3 meters" and "2 x 3 m" the first number has the unit of the second."""
    shared = list(found)
    for n in reversed(range(len(shared) - 1)):
        between = text[shared[n].end : max(shared[n + 1].start, shared[n].end)]
        if shared[n].unit is None and len(between) <= _LOOK_BACK and _JOINER.fullmatch(between):
            shared[n] = shared[n]._replace(unit=shared[n + 1].unit)
    return shared


def _number(text: str, match: re.Match[str]) -> _Found:
    """A number with its unit; smaller units of the same dimension behind it are part of it ("5 feet 6 inches")."""
    value, end = _value(match), match.end()
    before = text[max(match.start() - _LOOK_BACK, 0) : match.start()]
    is_bound = bool(_BOUND_BEFORE.search(before))
    if _PERCENT.match(text, end):
        return _Found(value, PERCENT, is_bound, match.start(), end)
    unit, follows = None, unit_at(text, end)
    while follows is not None:
        part, end = follows
        unit = unit or part
        if value is None:
            break
        joined = _JOINED_PARTS.match(text, end)
        more = _PART.match(text, joined.end()) if joined else None
        follows = unit_at(text, more.end()) if more else None
        if (
            more is None
            or follows is None
            or follows[0].dimension != unit.dimension
            or follows[0].factor >= part.factor
        ):
            break
        value += _in_unit(Decimal(more[0].replace(",", ".")), follows[0], unit)
    return _Found(value, unit, is_bound or bool(_BOUND_AFTER.match(text, end)), match.start(), end)


def _value(match: re.Match[str]) -> Decimal | None:
    digits = _with_decimal_point(match["digits"])
    return None if digits is None else Decimal(f"{match['sign'] or ''}{digits}{match['power'] or ''}")


def _with_decimal_point(digits: str) -> str | None:
    """Digits with separators as Python writes them; None where they are no number ("1,2,3", "1.2.3")."""
    marks = [c for c in digits if c in _SEPARATORS]
    if not marks:
        return digits
    last = marks[-1]
    decimal = last in ".," and marks.count(last) == 1 and not _is_thousands(digits, last)
    whole, _, fraction = digits.rpartition(last) if decimal else (digits, "", "")
    groups = re.split(f"[{_SEPARATORS}]", whole)
    if len({c for c in whole if c in _SEPARATORS}) > 1 or any(len(group) != 3 for group in groups[1:]):
        return None
    if len(groups) > 1 and len(groups[0]) > 3:
        return None
    return f"{''.join(groups)}.{fraction}" if decimal else "".join(groups)


def _is_thousands(digits: str, mark: str) -> bool:
    """Whether the only separator is a comma before three digits: "1,234", but not "0,125"."""
    return mark == "," and re.fullmatch(r"[1-9][0-9]{0,2},[0-9]{3}", digits) is not None
