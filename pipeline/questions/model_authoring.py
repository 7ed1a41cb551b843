"""Questions written by a model where the facts gave none: the base of the authors, its model calls, and the checker.

A second model, the checker, answers each written question with and without its video or picture, and examines it. A
question is rejected if the checker answers it wrong with the video or picture, finds several right options, or finds
that it does not hold. A question that no checker has confirmed has the flag `UNCHECKED`.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.identity import rng_for
from pipeline.core.schema import Rejection
from pipeline.core.tables import CANDIDATES, UNCHECKED
from pipeline.llm.base import JsonSchema, Reply, Request, record, user
from pipeline.llm.failures import UNANSWERED, ModelError, refuse_stopped
from pipeline.llm.prompts import load_prompt
from pipeline.llm.replies import json_text
from pipeline.llm.visual_inputs import VisualInputs
from pipeline.metrics.letters import find_letter
from pipeline.questions.cases import Case, CaseTask
from pipeline.questions.rules import Measure, make_rejection, rule
from pipeline.questions.task import SceneView

Ask = Callable[[Request], Reply]
PromptArguments = tuple[JsonSchema, VisualInputs | None, dict[str, Any]]
"""Schema of the reply, what the model is shown, and the fields of the prompt."""
MALFORMED: Final = "malformed"
CONFIRMED: Final = "second_model_doubts_question"  # last rule of a second model: a question that passes is confirmed
MODEL_ASSISTED: Final = "model_assisted"  # flag of everything that a model wrote
_SPACE: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


class RefusedItemError(Exception):
    """There is no question, and why."""

    def __init__(self, rejection: Rejection) -> None:
        self.rejection = rejection
        super().__init__(rejection.reason)


def take(step: str, ask: Ask, schema: JsonSchema, shown: VisualInputs | None, **fields: Any) -> Any:
    """A model's answer to the prompt ``author_<step>`` with its visual inputs, following a schema.

    Raises RefusedError with the reason ``<step>_<kind of failure>`` where there is no such answer.
    """
    reply = _reply_to(step, ask, shown, schema, **fields)
    try:
        return value_of(reply, schema)
    except ModelError as failure:
        raise _refused(step, failure) from None


def _reply_to(step: str, ask: Ask, shown: VisualInputs | None, schema: JsonSchema | None = None, **fields: Any) -> str:
    """The words of a reply. Raises RefusedError, or StoreError where the build was stopped."""
    prompt = load_prompt(f"author_{step}")
    text = prompt.render(shown=shown, **fields)
    request = Request((user(text, *(shown.parts if shown else ())),), schema, prompt=prompt.version)
    try:
        return ask(request).text
    except ModelError as failure:
        refuse_stopped(failure)
        raise _refused(step, failure) from None


def _refused(step: str, failure: ModelError) -> RefusedItemError:
    return RefusedItemError(Rejection(reason=f"{step}_{failure.kind}", measured=1, limit=0, unit="failed calls"))


def quoted(text: str) -> str:
    """A text as data within a prompt: a JSON string, which ends neither its line nor its quotation."""
    return json.dumps(text, ensure_ascii=False)


def line(text: str) -> str:
    """A text on one line, without control characters."""
    return _SPACE.sub(" ", text).strip()


def value_of(text: str, schema: JsonSchema) -> Any:
    """The JSON value of a reply (`json_text`) that follows a schema. Raises ModelError for anything else.

    Anything else: words around it, a number that is none, a text that is no Unicode.
    """
    import jsonschema  # takes a while to start

    try:
        value = json.loads(json_text(text), parse_constant=_number, parse_float=_number, parse_int=_number)
        json.dumps(value, ensure_ascii=False).encode()
        jsonschema.validate(value, schema)
    except (ValueError, RecursionError) as error:
        raise ModelError(MALFORMED, f"the reply is not JSON: {error}") from None
    except jsonschema.ValidationError as error:
        raise ModelError(MALFORMED, f"the reply does not follow the schema: {error.message}") from None
    return value


def written_items(item: JsonSchema) -> JsonSchema:
    """JSON schema of a reply with questions. How many is a rule of its own: one too many costs no other."""
    return record(questions={"type": "array", "items": item})


def listed(items: dict[str, Any], least: int, most: int) -> dict[str, Any]:
    """JSON schema of a list."""
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _number(raw: str) -> float:
    value = float(raw)
    if not math.isfinite(value):
        raise ValueError(f"{raw} is no number to work with")
    return value


SECOND, SECOND_ALL = "second", "second_all"
LETTERS: Final = "ABCDEFGH"
GUESSES: Final = 2  # orders of the options in which who wrote an item guesses
ANSWERED: Final = 3  # calls of `answered`: without the video, with it, and for all that may be called right


class WrittenItem(Protocol):
    """A question that a model wrote."""

    @property
    def question(self) -> str:
        """Its text."""

    @property
    def answer(self) -> str:
        """The right option."""

    @property
    def wrong(self) -> tuple[str, ...]:
        """The others."""


@dataclass(frozen=True)
class SecondModel:
    """A second model.

    Attributes:
        ask: it, through its cache.
        shown: what the question is about, as it is shown it; None: it sees nothing.
        steps: its prompts are ``author_<step>``: to answer, and to examine.
    """

    ask: Ask
    shown: VisualInputs | None
    steps: tuple[str, str] = (SECOND, SECOND_ALL)


def answered(item: WrittenItem, purpose: str, second: SecondModel, *, blind: bool = True) -> tuple[Measure, ...]:
    """Whether the second model answers right: without the video, which is told only, and with it, which must hold.

    Of what it has right with the video it is asked for all that may be called right, and whether the question holds.

    Args:
        item: what passed all checks.
        purpose: what the order of its options is drawn for.
        second: the model. One that is shown nothing is asked without the video alone, and nothing must hold.
        blind: whether it is also asked without the video.

    Raises:
        RefusedError: `second_<kind of failure>`, `second_all_<kind of failure>`.
    """
    seen = _Offered(item, purpose)
    guess = (
        (Measure("second_model_without_video", seen.is_picked(second, None), "right answers", item.answer),)
        if blind or second.shown is None
        else ()
    )
    if second.shown is None:
        return guess
    agrees = rule("second_model_disagrees", seen.is_picked(second, second.shown), ">=", 1, "right answers")
    if not agrees.holds:
        return (*guess, agrees)
    schema = record(right=listed({"enum": seen.letters}, 0, len(seen.letters)), holds={"type": "boolean"})
    fields = {"text": item.question, "options": seen.lines, "letters": seen.letters}
    found = take(second.steps[1], second.ask, schema, second.shown, **fields)
    more = len({*found["right"]} - {seen.right})
    return (
        *guess,
        agrees,
        rule("second_model_finds_several_right", more, "<=", 0, "wrong options"),
        rule(CONFIRMED, float(found["holds"]), ">=", 1, "questions that hold"),
    )


def guessed(item: WrittenItem, purpose: str, model: SecondModel) -> Measure:
    """That a model which is shown nothing does not find the answer: not in each of `GUESSES` orders of the options.

    Who guesses with four options is right in two orders once in sixteen times. After a wrong guess it is asked no more.
    Raises RefusedError.
    """
    right = 0
    while right < GUESSES and _Offered(item, purpose, turn=right).is_picked(model, None):
        right += 1
    return rule("answered_unseen", right, "<=", GUESSES - 1, "right guesses")


def proven(
    item: WrittenItem, purpose: str, writer: SecondModel, second: SecondModel | None, source_tags: int = 0
) -> Iterator[Measure]:
    """Measures of an open question by models: its writer must not know its answer unseen, and a second one must agree.

    Args:
        item: what passed all rules.
        purpose: what the order of its options is drawn for.
        writer: the model that wrote it; what it is shown does not matter.
        second: the other, with what the question is about; None: there is none.
        source_tags: how many facts say its answer; without any, and without a second model, nothing proves it.

    Raises:
        RefusedError: `<step>_<kind of failure>`.
    """
    yield guessed(item, purpose, writer)
    yield rule("nothing_proves_it", source_tags + (second is not None), ">=", 1, "facts and models")
    if second is not None:
        yield from answered(item, purpose, second)


class _Offered:
    """An item's options in an order that is drawn for a purpose; another turn gives each another letter."""

    def __init__(self, item: WrittenItem, purpose: str, turn: int = 0) -> None:
        options = (item.answer, *item.wrong)
        n = len(options)
        drawn = rng_for(purpose, item.question, "second").permutation(n).tolist()
        order = [drawn[(place + turn * (n // 2)) % n] for place in range(n)]
        self.item, self.texts = item, [options[k] for k in order]
        self.letters = list(LETTERS[:n])
        self.lines = [f"{letter}. {text}" for letter, text in zip(self.letters, self.texts, strict=True)]
        self.right = LETTERS[order.index(0)]

    def is_picked(self, model: SecondModel, shown: VisualInputs | None) -> int:
        """1 where the model, shown something or nothing, names the right letter."""
        asked, offered = self.item.question, self.lines
        reply = _reply_to(model.steps[0], model.ask, shown, text=asked, options=offered, letters=self.letters)
        read = find_letter(reply, len(self.lines), self.texts)
        return int(read.value == self.right)


@contextmanager
def refusing(case: Case) -> Iterator[None]:
    """A call without an answer refuses the case."""
    try:
        yield
    except RefusedItemError as refused:
        case.refusal = refused.rejection


def examine(case: Case, measures: Iterable[Measure]) -> None:
    """Holds a case against rules and what models make of it, up to the first that is broken."""
    with refusing(case):
        for measure in measures:
            case.measured(measure)
            if not measure.holds:
                break


def needed(shown: VisualInputs | None, reason: str, unit: str) -> VisualInputs:
    """The visual inputs of a model. Raises RefusedError where there are none."""
    if shown is None:
        raise RefusedItemError(make_rejection(reason, 0, 1, unit))
    return shown


def facts_gave_none(candidates: pa.Table, tasks: Iterable[str]) -> list[str]:
    """Those of the tasks of which the facts gave no question."""
    asked = pc.unique(candidates.filter(pc.is_null(candidates["reason"]))["task"]).to_pylist()
    return [task for task in tasks if task not in asked]


V = TypeVar("V", bound=SceneView)


@dataclass(frozen=True)
class Target:
    """The subject that a model is asked to write about: a task, or more in subclasses."""

    task: str


@dataclass
class SceneAuthoring(Generic[V]):
    """A scene that a model writes about.

    Attributes:
        view: it, as the tasks of the benchmark see it.
        models: the model that writes and, if there is one, a second that answers, each through its cache.
        shows: what each of them is shown; None: nothing.
        count: how many questions are wanted of each target.
        kept: how often the questions kept so far have an answer, or a text.
    """

    view: V
    models: Sequence[Ask]
    shows: Sequence[VisualInputs | None]
    count: int
    kept: Counter[str] = field(default_factory=Counter)

    @property
    def second_shown(self) -> VisualInputs | None:
        """The second model's visual inputs; None: nothing, or there is no second model."""
        return self.shows[1] if len(self.models) > 1 else None


S = TypeVar("S", bound=SceneAuthoring[Any])
T = TypeVar("T", bound=Target)


class ModelAuthor(Generic[V, S, T]):
    """Writes questions with a model where the facts gave none.

    Three hooks are a benchmark's own: what is written about (`targets`), what the prompt says of it
    (`prompt_arguments`), and what becomes of the replies (`validate`).

    Attributes:
        authoring: type of what is known while a scene is written about.
        tasks: the benchmark's, by name.
        step: the prompt ``author_<step>`` asks for questions.
        before: steps whose prompts prepare it.
        check: steps of the second model: to answer, and to examine.
        sighted: how many of the models must be shown something, or nothing is written.
        guessing: whether the model that wrote an item is asked to guess its answer (`proven`).
        unseen: how often a second model that is shown nothing is asked about an item.
        missing: reason where fewer questions are written than wanted.
        each_missing: whether each question that is wanted and missing is refused, not only where there is none.
        rewrites: whether what is refused is written again once, by the prompt's field ``refused``.
    """

    authoring: type[S]
    tasks: Mapping[str, CaseTask[V]]
    step: str
    before: tuple[str, ...] = ()
    check: tuple[str, str] = (SECOND, SECOND_ALL)
    sighted: int = 0
    guessing: bool = False
    unseen: int = 1
    missing: str = "nothing_written"
    each_missing: bool = False
    rewrites: bool = False

    def targets(self, candidates: pa.Table, tasks: Sequence[str]) -> Sequence[T]:
        """The subjects to write about, by the candidates from facts and the names of the tasks of a build."""
        raise NotImplementedError

    def prompt_arguments(self, scene: S, target: T) -> PromptArguments:
        """The arguments of `take` for a target. Raises RefusedError."""
        raise NotImplementedError

    def validate(self, scene: S, target: T, found: Sequence[dict[str, Any]]) -> Iterator[Case]:
        """The candidates that a reply's questions become."""
        raise NotImplementedError

    def unwritten(self, target: T, number: int) -> Case:
        """The candidate that stands for a question which was not written."""
        return Case(str(number))

    def is_asked_about(self, view: V) -> bool:
        """Whether a model may be asked about a scene."""
        return True

    def pictured(self, view: V, candidates: pa.Table) -> Sequence[Any]:
        """Pictures (`World.pictures`), after the declared ones, in which a second model checks what facts gave."""
        return ()

    def checked(
        self, view: V, candidates: pa.Table, ask: Sequence[Ask], shown: Sequence[VisualInputs | None]
    ) -> pa.Table:
        """The candidates from facts, refused where a second model does not confirm them."""
        return candidates

    def rows(self, view: V, task: str, cases: Iterable[Case]) -> list[dict[str, Any]]:
        """Rows of `CANDIDATES`; refused ones keep what was written."""
        return self.tasks[task].rows(view, cases, keep=True)

    @property
    def steps(self) -> tuple[str, ...]:
        """All steps, in their order."""
        return (*self.before, self.step, *self.check)

    def prompts(self) -> dict[str, str]:
        """Version of each prompt that it uses, by its step."""
        return {step: load_prompt(f"author_{step}").version for step in self.steps}

    def write(
        self,
        view: V,
        candidates: pa.Table,
        ask: Sequence[Ask],
        tasks: Sequence[str],
        shown: Sequence[VisualInputs | None],
        questions_per_task: int,
    ) -> pa.Table:
        """More candidates (`tables.CANDIDATES`) of the named tasks: questions, or refusals of what was written.

        ``ask`` and ``shown`` are of the model that writes, and of a second that answers, if there is one.
        """
        scene = self.authoring(view, ask, shown, questions_per_task)
        cases: dict[str, list[Case]] = {}
        for target in self.targets(candidates, tasks) if self.is_asked_about(view) else ():
            cases.setdefault(target.task, []).extend(self._written(scene, target))
        rows = [row for task, found in cases.items() for row in self.rows(view, task, found)]
        rows = [{"flags": [MODEL_ASSISTED]} | row for row in rows]
        for row in rows:
            if row.get("reason") is None and all(fact["name"] != CONFIRMED for fact in row.get("evidence") or ()):
                row["flags"] = [*row["flags"], UNCHECKED]
        return pa.Table.from_pylist(rows, schema=CANDIDATES)

    def calls(
        self, candidates: pa.Table, tasks: Sequence[str], sees: Sequence[bool], questions_per_task: int
    ) -> tuple[int, ...]:
        """How many calls of each model `write` makes at most for a scene with these candidates.

        ``sees`` says of each of them whether it is shown videos or pictures.
        """
        is_written = sum(sees[: self.sighted]) == self.sighted
        left = len(self.targets(candidates, tasks)) if is_written else 0
        items = left * questions_per_task
        if self.rewrites:
            left, items = 2 * left, 2 * items
        first = left + self.guessing * GUESSES * items
        return first, *((ANSWERED if own else self.unseen) * items for own in sees[1:])

    def is_complete(self, reasons: Collection[str]) -> bool:
        """Whether every call had an answer, by the reasons of the refusals: others are made in the next build."""
        return not any(f"{step}_{kind}" in reasons for step in self.steps for kind in UNANSWERED)

    def _validated(self, scene: S, target: T, found: Sequence[dict[str, Any]]) -> Iterator[Case]:
        """What becomes of the questions of a reply; of those that are refused, what is written in their place once."""
        cases = list(self.validate(scene, target, found))
        yield from cases
        unanswered = {f"{step}_{kind}" for step in self.steps for kind in UNANSWERED}
        refused = [
            f"{quoted(case.wording or '')}: {case.refusal.reason.replace('_', ' ')}"
            for case in cases
            if case.refusal is not None and case.refusal.reason not in unanswered
        ]
        if not (self.rewrites and refused):
            return
        try:
            schema, shown, fields = self.prompt_arguments(scene, target)
            again = take(self.step, scene.models[0], schema, shown, **fields | {"refused": refused})["questions"]
        except RefusedItemError as failure:
            case = self.unwritten(target, len(cases) + 1)
            case.refusal = failure.rejection
            yield case
            return
        yield from self.validate(scene, target, again[: len(refused)])

    def _written(self, scene: S, target: T) -> Iterator[Case]:
        """The questions that a model writes about a target, and refusals of those that it does not."""
        found: list[dict[str, Any]] = []
        wanted = scene.count if self.each_missing else 1
        try:
            schema, shown, fields = self.prompt_arguments(scene, target)
            found = take(self.step, scene.models[0], schema, shown, **fields)["questions"]
            missing = make_rejection(self.missing, len(found), wanted, "questions")
        except RefusedItemError as refused:
            missing = refused.rejection
        most = scene.count
        if found:
            yield from self._validated(scene, target, found[:most])
        more = make_rejection("more_than_asked_for", len(found), most, "questions")
        for number in (*range(most + 1, len(found) + 1), *range(len(found) + 1, wanted + 1)):
            case = self.unwritten(target, number)
            case.refusal = more if number > most else missing
            yield case
