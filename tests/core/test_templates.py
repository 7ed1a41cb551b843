import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.errors import TemplateError
from pipeline.core.templates import TEMPLATES_DIR, Noun, Operands, Template, in_unit, load_template
from pipeline.questions.published import Published
from tests.conftest import METADATA_TASKS

# Text as it stands in the released file, and what it asks about.
RELEASED: dict[str, tuple[str, Operands]] = {
    "object_counting": ("How many table(s) are in this room?", {"category": "table"}),
    "object_size_estimation": (
        "What is the length of the longest dimension (length, width, or height) of the stove, measured in centimeters?",
        {"category": "stove"},
    ),
    "room_size_estimation": (
        "What is the size of this room (in square meters)? \n"
        "If multiple rooms are shown, estimate the size of the combined space.",
        {},
    ),
    "object_abs_distance": (
        "Measuring from the closest point of each object, what is the distance between the sofa and the stove "
        "(in meters)?",
        {"first": "sofa", "second": "stove"},
    ),
    "object_rel_distance": (
        "Measuring from the closest point of each object, which of these objects (tv, table, chair, sofa) is the "
        "closest to the washer?",
        {"choices": ("tv", "table", "chair", "sofa"), "primary": "washer"},
    ),
    "object_rel_direction_easy": (
        "If I am standing by the stove and facing the sofa, is the tv to the left or the right of the sofa?",
        {"standing": "stove", "facing": "sofa", "asked": "tv"},
    ),
    "object_rel_direction_medium": (
        "If I am standing by the stove and facing the sofa, is the tv to my left, right, or back?\n"
        "An object is to my back if I would have to turn at least 135 degrees in order to face it.",
        {"standing": "stove", "facing": "sofa", "asked": "tv"},
    ),
    "object_rel_direction_hard": (
        "If I am standing by the stove and facing the sofa, is the tv to my front-left, front-right, back-left, or "
        "back-right?\nThe directions refer to the quadrants of a Cartesian plane (if I am standing at the origin and "
        "facing along the positive y-axis).",
        {"standing": "stove", "facing": "sofa", "asked": "tv"},
    ),
}
PAPER: dict[str, tuple[str, Operands]] = {
    "object_abs_distance": (
        "Measuring from the closest point of each object, what is the direct distance between the sofa and the stove "
        "(in meters)?",
        {"first": "sofa", "second": "stove"},
    ),
    "object_rel_direction_hard": (
        "If I am standing by the stove and facing the sofa, is the tv to my front-left, front-right, back-left, or "
        "back-right? Directions refer to the quadrants of a Cartesian plane (assuming I am at the origin and facing "
        "the positive y-axis).",
        {"standing": "stove", "facing": "sofa", "asked": "tv"},
    ),
}


def template_of(task: str) -> Template:
    return load_template(TASKS[task].template)


@pytest.mark.parametrize("task", METADATA_TASKS)
def test_golden_wording(task: str) -> None:
    text, operands = RELEASED[task]
    assert template_of(task).render(operands) == text
    assert template_of(task).parse(text) == operands


@pytest.mark.parametrize("task", PAPER)
def test_paper_wording_is_parsed_but_never_written(task: str) -> None:
    text, operands = PAPER[task]
    assert template_of(task).parse(text) == operands
    assert template_of(task).render(operands) == RELEASED[task][0]


@pytest.mark.real_data
@pytest.mark.parametrize("task", METADATA_TASKS)
def test_every_released_question_is_written_again_to_the_letter(task: str, real_questions: list[Published]) -> None:
    texts = [q.question for q in real_questions if q.question_type == task]
    assert len(texts) > 50
    template = template_of(task)
    for text in texts:
        operands = template.parse(text)
        assert operands is not None
        assert template.render(operands) == text


def test_a_text_belongs_to_one_task_alone() -> None:
    for task, (text, _) in (*RELEASED.items(), *PAPER.items()):
        assert [name for name in METADATA_TASKS if template_of(name).parse(text) is not None] == [task]


@pytest.mark.parametrize("task", METADATA_TASKS)
def test_white_space_is_free_when_parsing(task: str) -> None:
    text, operands = RELEASED[task]
    for spaced in (
        f"  {text}\n",
        text.replace("\n", " "),
        text.replace("\n", "\r\n"),
        text.replace(" \n", "\n"),
        text.replace(" ", "  "),
        text.replace(" ", "\t"),
        text.replace(" ", "\u00a0"),
    ):
        assert template_of(task).parse(spaced) == operands


@pytest.mark.parametrize("task", METADATA_TASKS)
def test_other_texts_are_not_parsed(task: str) -> None:
    text = RELEASED[task][0]
    for other in ("", "  ", "How tall are you?", text[:-1], text + " Thanks.", text.upper(), "Please: " + text):
        assert template_of(task).parse(other) is None


word = st.text("abcdefghijklmnopqrstuvwxyzäß0123456789-'&./+", min_size=1, max_size=8)
connective = st.sampled_from(
    ["and", "the", "is", "facing", "by", "to", "my", "left", "or", "right", "of", "closest", "between"]
)
plain_name = st.lists(word.filter(lambda w: w != "the"), min_size=1, max_size=4).map(" ".join)
hostile_name = st.lists(word | connective, min_size=1, max_size=6).map(" ".join)


def operands_from(task: str, name: st.SearchStrategy[str]) -> st.SearchStrategy[Operands]:
    template = template_of(task)
    four = st.lists(name, min_size=1, max_size=5).map(tuple)
    return st.fixed_dictionaries({f: four if f in template.lists else name for f in template.fields})


@pytest.mark.slow
@pytest.mark.parametrize("task", METADATA_TASKS)
def test_plausible_names_are_rendered_and_parsed_back(task: str) -> None:
    @given(operands_from(task, plain_name))
    def round_trip(operands: Operands) -> None:
        text = template_of(task).render(operands)
        assert template_of(task).parse(text) == operands

    round_trip()


@pytest.mark.slow
@pytest.mark.parametrize("task", METADATA_TASKS)
def test_any_name_is_parsed_back_or_refused(task: str) -> None:
    """Every wording puts "the" before a name, so that only a name with that word can be read in two ways."""

    @given(operands_from(task, hostile_name))
    def parsed_back_or_refused(operands: Operands) -> None:
        template = template_of(task)
        try:
            text = template.render(operands)
        except TemplateError:
            names = [n for v in operands.values() for n in ((v,) if isinstance(v, str) else v)]
            assert any("the" in name.split() for name in names)
        else:
            assert template.parse(text) == operands

    parsed_back_or_refused()


@pytest.mark.parametrize(
    ("task", "operands"),
    [
        ("object_abs_distance", {"first": "bed and the lamp", "second": "sofa"}),
        ("object_abs_distance", {"first": "bed", "second": "lamp and the sofa"}),
        ("object_rel_direction_medium", {"standing": "bed and facing the wall", "facing": "sofa", "asked": "tv"}),
        ("object_rel_direction_hard", {"standing": "bed", "facing": "sofa, is the lamp", "asked": "tv"}),
        ("object_rel_direction_hard", {"standing": "bed", "facing": "sofa", "asked": "lamp, is the tv"}),
        ("object_rel_distance", {"primary": "bed", "choices": ("tv, lamp", "sofa", "table", "door")}),
        ("object_counting", {"category": ""}),
        ("object_counting", {"category": " table"}),
        ("object_counting", {"category": "coffee  table"}),
        ("object_counting", {"category": "coffee\ntable"}),
    ],
)
def test_a_question_that_reads_in_two_ways_is_refused(task: str, operands: Operands) -> None:
    with pytest.raises(TemplateError, match=r"reads in two ways"):
        template_of(task).render(operands)


@pytest.mark.parametrize(
    "text",
    [
        "Measuring from the closest point of each object, what is the distance between the bed and the lamp and the "
        "sofa (in meters)?",
        "If I am standing by the bed and facing the wall and facing the sofa, is the tv to my left, right, or back?\n"
        "An object is to my back if I would have to turn at least 135 degrees in order to face it.",
    ],
)
def test_a_published_question_that_reads_in_two_ways_is_not_parsed(text: str) -> None:
    assert all(template_of(task).parse(text) is None for task in METADATA_TASKS)


def test_a_field_given_twice_settles_how_a_question_reads() -> None:
    operands: Operands = {"standing": "bed and facing the wall", "facing": "sofa", "asked": "tv"}
    easy = template_of("object_rel_direction_easy")
    assert easy.parse(easy.render(operands)) == operands


def test_a_field_given_twice_reads_the_same_both_times() -> None:
    text = "If I am standing by the stove and facing the sofa, is the tv to the left or the right of the bed?"
    assert template_of("object_rel_direction_easy").parse(text) is None


@pytest.mark.parametrize("operands", [{}, {"category": "bed", "other": "sofa"}, {"object": "bed"}])
def test_fields_must_be_those_of_the_template(operands: Operands) -> None:
    with pytest.raises(TemplateError, match=r"has fields \('category',\)"):
        template_of("object_counting").render(operands)


def test_braces_in_a_name_are_no_field() -> None:
    assert template_of("object_counting").render({"category": "{0} {x}"}) == "How many {0} {x}(s) are in this room?"


def test_the_digest_covers_everything() -> None:
    base = Template(id="t", version=1, text="Where is the {a}?")
    changes = ({"id": "u"}, {"version": 2}, {"text": "Where's the {a}?"}, {"lists": ("a",)}, {"also_parsed": ("{a}?",)})
    assert len({base.digest, *(base.model_copy(update=change).digest for change in changes)}) == 1 + len(changes)
    assert base.digest == Template(id="t", version=1, text="Where is the {a}?").digest


@pytest.mark.parametrize("content", [None, "id: t\n", "id: t\nversion: 1\ntext: x\nother: 1\n", "id: [\n", "- 1\n"])
def test_a_broken_template_is_named(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "t.yaml").write_text(content)
    with pytest.raises(TemplateError, match=r"t\.yaml"):
        load_template("t", tmp_path)


def test_a_file_of_templates_gives_each_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "parts.yaml").write_text("one:\n  version: 2\n  text: A {x}.\ntwo: 3\n")
    assert load_template("b/parts/one", tmp_path) == Template(id="b.one", version=2, text="A {x}.")
    for name in ("two", "three"):
        with pytest.raises(TemplateError, match=rf"parts\.yaml: has no question template '{name}'"):
            load_template(f"b/parts/{name}", tmp_path)


SHARED = [file for name in ("parts", "questions") for file in sorted(TEMPLATES_DIR.glob(f"*/{name}.yaml"))]


@pytest.mark.parametrize("file", SHARED, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_names_of_templates_stand_in_order_and_once(file: Path) -> None:
    """Of two entries of one name YAML would silently take the second."""
    names = re.findall(r"^(\w+):$", file.read_text("utf-8"), re.MULTILINE)
    assert names == sorted(set(names))
    for name in names:
        folder = "urban" if file.parent.name == "urbanvideo" else file.parent.name  # as ids of questions have had it
        assert load_template(f"{file.parent.name}/{file.stem}/{name}").id == f"{folder}.{name}"


@pytest.mark.parametrize(
    ("name", "be"),
    [
        ("chair", "is"),
        ("headphones", "are"),
        ("shoes", "are"),
        ("glass", "is"),
        ("cactus", "is"),
        ("gas", "is"),
        ("computer mice", "are"),
        ("stack of chairs", "is"),
        ("curtains of the bed", "are"),
        ("TV", "is"),
    ],
)
def test_verbs_follow_the_number_of_a_name(name: str, be: str) -> None:
    assert Noun(name).be == be
    assert Noun(name).s == ("(s)" if be == "is" else "")


@pytest.mark.parametrize("task", METADATA_TASKS)
@pytest.mark.parametrize("name", ["chair", "headphones", "shoes", "shoe"])
def test_mended_wording_reads_back(task: str, name: str) -> None:
    template = template_of(task)
    operands: Operands = {f: (name, "sofa") if f in template.lists else name for f in template.fields}
    text = template.render(operands, mended=True)
    assert template.parse(text) == operands
    assert "this room" not in text
    assert not re.search(r"is the (headphones|shoes)\b|s\(s\)", text)


def test_a_mended_wording_has_the_fields_of_the_published_one() -> None:
    with pytest.raises(ValidationError, match="mended has the fields"):
        Template(id="a.b", version=1, text="Is the {one} red?", mended="Is the {other} red?")


def test_after_one_a_unit_stands_in_the_singular() -> None:
    told = [("1", "turns"), ("2", "turns"), ("1", "raw tasks"), ("1", "boxes"), ("1", "m"), ("1", "mps"), ("1", None)]
    told += [("1", "countries"), ("1", "right guesses"), ("1", "share of each bus, at least")]
    told += [("0.6105", "share"), ("1", "share"), ("7", "place")]
    assert [in_unit(*one) for one in told] == [
        "1 turn",
        "2 turns",
        "1 raw task",
        "1 box",
        "1 m",
        "1 mps",
        "1",
        "1 country",
        "1 right guess",
        "1 share of each bus, at least",
        "61.05%",
        "100%",
        "place 7",
    ]


def test_a_form_that_no_name_has_is_told_with_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("id: own\nversion: 1\ntext: How many {kind.plural}?\n", "utf-8")
    with pytest.raises(TemplateError, match=r"own.yaml: .*: {kind.plural} is no form of a name; .* {kind.a}, "):
        load_template("own", tmp_path)
