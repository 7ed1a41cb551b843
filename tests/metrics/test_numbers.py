from decimal import Decimal

import pytest

from pipeline.metrics.number_words import normalised, with_digits
from pipeline.metrics.numbers import find_number, unit_of_question
from tests.environment import fastest_s, pace

FOUND = {
    "2.5": "2.5",
    "2.5.": "2.5",
    ".5": "0.5",
    "-3": "-3",
    "−3": "-3",  # the mathematical minus
    "+4": "4",
    "1e3": "1000",
    "2.5e-1": "0.25",
    # with words and units, which are never converted
    "about 2.5 meters": "2.5",
    "~2": "2",
    "≈ 2.0 m": "2",
    "2.5m": "2.5",
    "250cm": "250",
    "**12.5** square meters (m²)": "12.5",
    "12.5 m^2": "12.5",
    "12.5 m2": "12.5",
    "There are 3 chairs": "3",
    "3. There are 3 chairs.": "3",
    "2 here and 3 there, so 5 chairs in this room.": "5",  # concluded: at most four words follow
    "2.50 (2.5)": "2.5",
    "A 3D scan, the 2nd, with 4 chairs": "4",
    "two": "2",
    "Twenty.": "20",
    "Two chairs.": "2",
    # stated
    "The answer is 2.5.": "2.5",
    "I see 3 chairs in frame 1 and 2 tables. Answer: about 4": "4",
    "The answer is approx. 2.5 m, or 8.2 feet": "2.5",
    r"\boxed{4} of 7": "4",
    "<think>3</think> 4": "4",
    # thousands and decimal marks
    "1,234": "1234",
    "1,234.5": "1234.5",
    "1.234,5": "1234.5",
    "1,5": "1.5",
    "0,125": "0.125",
    "12,34": "12.34",
    "1.234": "1.234",
    "1.234.567": "1234567",
    "1,234,567": "1234567",
    "1'234": "1234",
    "123,456,789": "123456789",
    "1234.5": "1234.5",
    "12345,678": "12345.678",
    "1\u00a0234": "1234",
    "1\u202f234,5 m": "1234.5",
    # fractions of at most sixteen parts, below one beside a whole number
    "1/2": "0.5",
    "5/16": "0.3125",
    "2 3/4": "2.75",
    # JSON, with text behind it
    '{"answer": 2.5} since 3 steps': "2.5",
    '{"value": 2, "other": 3}': "2",
    '{"of 3": 2}': "2",
    '```json\n{"value": "2.5 m"}\n``` 7': "2.5",
    '{"distance": 2.5, "unit": "m"} ok': "2.5",
    # other languages and digits
    "大约2.5米": "2.5",
    "約１２０センチ": "120",
    "٢٫٥ متر": "2.5",
}
NOT_FOUND = {
    "": "empty",
    " \n": "empty",
    "none": "no_number",
    "None": "no_number",
    "I cannot tell.": "no_number",
    "很远": "no_number",
    '{"answer": null}': "no_number",
    "scene0025_01": "no_number",
    "NaN": "not_finite",
    "nan m": "not_finite",
    "-inf": "not_finite",
    "∞": "not_finite",
    '{"answer": NaN}': "not_finite",
    "2-3": "several_numbers",
    "between 2 and 3 meters": "several_numbers",
    "answer: 2 to 3 m": "several_numbers",
    "There are 3 chairs and 2 tables.": "several_numbers",
    "2 here and 3 there, so 5 chairs in this small room.": "several_numbers",
    "1 234": "several_numbers",
    "2x3 m": "several_numbers",
    "2×3 m": "several_numbers",
    "10:30": "several_numbers",
    "3/17": "several_numbers",
    "3/1": "several_numbers",
    "2 4/4": "several_numbers",
    "2 5/4": "several_numbers",
    '{"width": 2, "height": 3}': "several_numbers",
    "answer: 2 to 3, so 5": "several_numbers",
    "2 of 4 chairs, so 50%": "several_numbers",
    "2 and 3, so more than 5 chairs": "several_numbers",
    "2 and 3, so 5 or 5": "several_numbers",
    "2 and 3, so in 3D": "several_numbers",
    "1.2.3": "unreadable",
    "1.234,567.8": "unreadable",
    "1.234'567,5": "unreadable",
    "1,234'567": "unreadable",
    "1.234,567'890": "unreadable",
    "1234,567,890": "unreadable",
    "1234'567": "unreadable",
    "1,2,3": "unreadable",
    "1,23,456": "unreadable",
    "1,2.3": "unreadable",
}


@pytest.mark.parametrize(("reply", "value"), FOUND.items())
def test_the_number_is_found(reply: str, value: str) -> None:
    assert find_number(reply) == (Decimal(value), None)


@pytest.mark.parametrize(("reply", "reason"), NOT_FOUND.items())
def test_no_number_is_found_and_the_reason_is_named(reply: str, reason: str) -> None:
    assert find_number(reply) == (None, reason)


def test_a_number_beyond_doubles_is_not_finite() -> None:
    assert find_number("1e400") == (None, "not_finite")
    assert find_number("-1.01e300") == (None, "not_finite")
    assert find_number("1e300") == (Decimal("1e300"), None)


@pytest.mark.parametrize(
    ("question", "reply", "value"),
    [
        ("What is the distance between the sofa and the table (in meters)?", "150 cm", "1.5"),
        ("What is the distance between the sofa and the table (in meters)?", "5 feet 6 inches", "1.6764"),
        ("What is the distance between the sofa and the table (in meters)?", "5 feet and 6", "1.524"),
        ("What is the length of the chair, measured in centimeters?", "1.2 m", "120"),
        ("What is the size of this room (in square meters)?", "215.28 sq ft", "20.0001664512"),
        ("What is the size of this room (in square meters)?", "20 m²", "20"),
        ("What is the size of this room (in square meters)?", "20 sqm", "20"),
        ("What is the size of this room (in square meters)?", "20 m squared", "20"),
        ("What is the size of this room (in square meters)?", "20 qm", "20"),
        ("What is the size of this room (in square meters)?", "100 sqft", "9.290304"),
        ("What is the size of this room (in square meters)?", "100 sf", "9.290304"),
        ("What is the size of this room in meters squared?", "20 m", None),
        ("What is the size of this room (in square meters)?", "20", "20"),
        ("How long does it take, in minutes?", "90 seconds", "1.5"),
        ("How many chairs are there?", "4 m", "4"),  # names no unit: what follows is read over
    ],
)
def test_a_number_is_converted_to_the_unit_that_the_question_names(
    question: str, reply: str, value: str | None
) -> None:
    found = find_number(reply, unit_of_question(question))
    assert found == ((None, "other_unit") if value is None else (Decimal(value), None))


def test_another_dimension_is_no_answer() -> None:
    assert find_number("25 m", unit_of_question("What is its size (in square meters)?")) == (None, "other_unit")
    assert unit_of_question("How many chair(s) are in this room?") is None, "no seconds"


@pytest.mark.parametrize(
    ("reply", "value", "reason"),
    [
        ("2 m (210 cm)", "2", None),  # said again, a twentieth off
        ("2 m (190 cm)", "2", None),
        ("2 m (211 cm)", None, "several_numbers"),
        ("2 m (189 cm)", None, "several_numbers"),
        ("-2 m (-210 cm)", "-2", None),
        ("150 cm, so 2 chairs", "1.5", None),  # nothing has to be concluded
        ("1.2.3 m (8 feet)", None, "unreadable"),  # whatever else is said of it
        ("2.5 m (8.2.1 feet)", None, "unreadable"),
        ("2.5 m for 1.2.3", "2.5", None),  # of no unit, beside a number with one
    ],
)
def test_numbers_in_several_units_say_the_same(reply: str, value: str | None, reason: str | None) -> None:
    found = find_number(reply, unit_of_question("How far is it, in meters?"))
    assert found == (None if value is None else Decimal(value), reason)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["answer: ", "1 to ", "9", "1,", "1.", "-", " ", "answer:~", "answer: 1 to "])
def test_long_replies_take_no_long_time(unit: str) -> None:
    assert fastest_s(lambda: find_number(unit * (100_000 // len(unit)))) < 5 * pace()


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("十二", "12"),  # a scale without a digit before it counts once
        ("二百五十", "250"),
        ("三千零五", "3005"),
        ("一二三", "123"),
        ("二点五米", "2.5米"),
        ("十", "10"),
        ("two thousand", "2000"),
        ("three thousand two hundred and five", "3205"),
        ("one two point five", "one two point five"),  # counted aloud
        ("dos dos", "2 dos"),
        ("the one by the door", "the one by the door"),  # no number, but of two, of a half and of a point
        ("the two by the door", "the 2 by the door"),
        ("the one and a half by the door", "the 1.5 by the door"),
        ("the one point five by the door", "the 1.5 by the door"),
    ],
)
def test_written_numbers_become_digits(text, digits):
    assert with_digits(text) == digits


def test_every_number_of_a_row_has_the_unit_at_its_end() -> None:
    """Else the first of the three would be a bare number, which one with a unit outdoes."""
    unit = unit_of_question("How far is it, in meters?")
    assert find_number("4 or 5 or 5 feet", unit) == (None, "several_numbers")
    assert find_number("5 or 4 or 5 feet", unit) == (None, "several_numbers")
    assert find_number(f"2{' ' * 11}to{' ' * 11}3 m", unit) == (None, "several_numbers"), "24 characters between"
    assert find_number("5 or 5 or 5 feet", unit) == (Decimal("1.524"), None)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("A sedan.", "sedan", True),
        ("one", "1", True),
        ("Twenty-one", "21", True),
        ("FamilyMart", "family mart", False),
        ("2.5", "25", False),
        ("YES!", "yes", True),
        ("no", "not", False),
    ],
)
def test_answers_that_say_the_same(one: str, other: str, same: bool) -> None:
    assert (normalised(one) == normalised(other)) is same
