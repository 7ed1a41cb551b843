"""The command `scan2qa ask`: puts a model through the questions of a release, and writes the replies to be scored."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from shlex import quote
from typing import Any, Final, Literal, NamedTuple

from flows.cli.models import ModelSession, model_session
from flows.cli.options import Agent
from flows.cli.output.console import console, count_of, print_json
from flows.cli.output.progress import progress_shown
from flows.cli.output.tables import print_listing
from flows.cli.release_reader import split_for
from flows.cli.trace import facts_of_build
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.blind.ask import sample_of
from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.files import write_atomically
from pipeline.core.tables import ReleaseListing, file_below
from pipeline.engine.config import settings_of
from pipeline.llm.base import Image, Message, ModelSpec, Part, Request, Text, user
from pipeline.llm.budget import Money
from pipeline.llm.client import Account
from pipeline.llm.failures import CUT, DOWN, HOPELESS, ModelError
from pipeline.llm.visual_inputs import takes_visuals, visual_inputs
from pipeline.questions.asking import AgentEpisode, AskedOf, Asking, PromptTurn, QuestionPrompt, StepPrompt
from pipeline.questions.published import Published, published_rows, read_rows
from pipeline.release.media import videos_folder
from pipeline.release.withheld import is_withheld

# Behind the stem of --out: the replies as they come in, the same as provider `replay` reads them, and what was asked.
CACHE: Final = ".sqlite"
RECORDING: Final = ".recording.jsonl"
ABOUT: Final = ".about.json"
FAILURES: Final = 3  # in words
LASTING: Final = (HOPELESS - {DOWN}) | {"bad_request", CUT}  # the same request fails again
_KEPT_VIDEOS: Final = 4  # of which the frames are kept: questions come in the order of their scenes


class AskedRelease(NamedTuple):
    """What is asked of whom: the release, its split, how many questions (None: all), and what the model is shown."""

    release: Path
    split: str | None
    questions: int | None
    videos: Path | None
    without_scene: bool
    prompt: str
    agent: Agent


def ask(
    name: str,
    asked: AskedRelease,
    model: Sequence[str],
    settings: Sequence[str],
    out: Path,
    limit_cost: float | None,
) -> bool:
    """Asks a model, and writes its replies (JSON lines: id, answer); False where some questions have no reply.

    Args:
        name: of the benchmark.
        asked: what is asked.
        model: keys of `ModelSpec`, as ``key=value``; those that the benchmark's paper names are filled in.
        settings: the same, of the user: these win.
        out: the replies; beside it what they depend on, the replies as they come in, and a recording of them.
        limit_cost: dollars, over all runs that write to ``out``.
    """
    how = BENCHMARKS.get(name)
    if how is None or how.asking is None or how.score is None:
        known = ", ".join(name for name, benchmark in BENCHMARKS.items() if benchmark.asking)
        raise ConfigError(f"unknown benchmark {name!r}; a model can be asked the questions of {known}")
    if out.suffix != ".jsonl":
        raise ConfigError(f"{out}: replies are written as JSON lines; give a name that ends in .jsonl")
    asking = how.asking
    prompts = [*asking.prompts, *asking.methods]
    if asked.prompt and asked.prompt not in prompts:
        others = ", ".join(prompts) or "no others"
        raise ConfigError(f"{name} has no prompt {asked.prompt!r}; beside the paper's own there are {others}")
    spec = _spec_of(asking, asked, [*model, *settings])
    source = split_for(name, asked.release, asked.split)
    if is_withheld(asked.release):
        rows = read_rows(source.questions)
        every = published_rows(source.questions, rows, how.all_columns, withheld=True)
    else:
        every = how.score.read(source.questions)
    drawn = sample_of([{"id": q.id, "task": q.question_type} for q in every], asked.questions)
    questions = [question for question in every if question.id in drawn]
    proprietary = spec is not None and spec.base_url is None and spec.is_hosted
    of = AskedOf(source.name, proprietary, asked.prompt, asked.release, _AskedScenes(asked.release.parent))
    if spec is None:
        rows, about = _acted(asking, of, questions, asked.agent), {"agent": asked.agent}
        listed = [("tasks", str(len(rows)))]
    else:
        put = _Put(
            asking,
            of,
            spec,
            asked.videos or videos_folder(asked.release),
            asked.without_scene,
        )
        put.check(questions)
        with model_session(spec, out.with_suffix(CACHE), out.with_suffix(RECORDING), limit_cost) as session:
            rows = session.each("asked", put.by_video(questions), partial(put.row, session))
            listed = _listed(rows, session.account, spec)
        about = put.about()
    place = {question.id: number for number, question in enumerate(questions)}
    rows.sort(key=lambda row: place[row["id"]])
    prompt = asked.prompt or asking.source
    told = {"benchmark": name, "split": source.name, "prompt": prompt, **about, "questions": len(rows)}
    _write(out, rows, told)
    whom = asked.agent if spec is None else spec.name
    print_listing(ReleaseListing(f"{count_of(len(rows), 'question')} to {whom}: {out}", ("", "n"), listed))
    failed = [row for row in rows if row.get("failure")]
    for row in failed[:FAILURES]:
        console.print(f"Question {row['id']}: {row['failure']}: {row['message']}")
    if failed:
        lasting = any(row["failure"] in LASTING for row in failed)
        again = "Remove the cause, then run the same command again" if lasting else "Run the same command again"
        console.print(f"{again}: it asks only what has no reply yet.")
    options = (f" --split {asked.split}" if asked.split else "") + " --only-asked" * (len(rows) < len(every))
    if len(failed) < len(rows):
        console.print(f"Next: scan2qa score {name} {quote(str(out))} --release {quote(str(asked.release))}{options}")
    print_json(told | {"failed": _failures(rows), "replies": str(out)})
    return not failed


def _spec_of(asking: Asking, asked: AskedRelease, settings: Sequence[str]) -> ModelSpec | None:
    """The model, with what the paper says of how it is asked where the settings do not say it; None: an agent acts."""
    if asked.agent != "model":
        return None
    method = asking.methods.get(asked.prompt)
    temperature = asking.temperature if method is None else method.temperature
    return settings_of(ModelSpec, [f"temperature={temperature}", f"max_tokens={asking.max_tokens}", *settings])


def _write(out: Path, rows: Sequence[Mapping[str, Any]], record: Mapping[str, Any]) -> None:
    lines = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    write_atomically(out, lines.encode())
    about = {**record, "failed": _failures(rows)}
    write_atomically(out.with_suffix(ABOUT), (json.dumps(about, indent=1, ensure_ascii=False) + "\n").encode())


def _failures(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return dict(sorted(Counter(row["failure"] for row in rows if row.get("failure")).items()))


def _listed(rows: Sequence[Mapping[str, Any]], account: Account, spec: ModelSpec) -> list[tuple[str, str]]:
    failed = _failures(rows)
    counts = {"replies": len(rows) - sum(failed.values()), "requests answered before": account.cached}
    used = {"tokens in": account.usage.input_tokens, "tokens out": account.usage.output_tokens}
    listed = [(what, f"{number:,}") for what, number in {**counts, **failed, **used}.items()]
    cost = account.cost_usd(Money().price_of(spec))
    told = "price unknown" if cost is None else f"{cost:.2f}"
    return [*listed, ("US dollars", told)] if spec.is_hosted else listed


def played(episode: AgentEpisode, reply: Callable[[StepPrompt], str]) -> dict[str, Any]:
    """The result of an episode in which an agent replies to each prompt."""
    while (prompt := episode.prompt()) is not None:
        episode.take(reply(prompt))
    return episode.result()


def _acted(asking: Asking, of: AskedOf, questions: Sequence[Published], agent: Agent) -> list[dict[str, Any]]:
    """The rows of an agent without a model, for the questions that agents answer."""
    rows = []
    if of.prompt:
        raise ConfigError("--prompt is for --model: the other agents read no prompt")
    if agent not in asking.agents:
        known = ", ".join(asking.agents) or "none"
        raise ConfigError(f"--agent {agent}: the agents of this benchmark that act without a model are {known}")
    if agent in asking.prompts:
        of = replace(of, prompt=agent)
    with progress_shown() as progress:
        for number, question in enumerate(questions, 1):
            episode = asking.episode(question, of)
            if episode is not None:
                draw = Random(str(question.id))  # noqa: S311 - moves of a baseline, no secret
                reply = partial(asking.agents[agent], episode, draw)
                rows.append({"id": question.id} | played(episode, reply))
            progress("played", number, len(questions))
    if not rows:
        raise ConfigError(f"--agent {agent}: the split {of.split} has no questions that an agent acts for")
    return rows


class _AskedScenes:
    """What is made of the facts of scenes, out of a build; the last two are kept."""

    def __init__(self, build: Path) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._made: dict[tuple[str | None, str], Any] = {}

    def __call__(self, question: Published, make: Callable[[Any], Any]) -> Any:
        key = question.dataset, question.scene_name
        with self._lock:
            if key not in self._made:
                self._made = dict([*self._made.items()][-1:])
                self._made[key] = make(facts_of_build(question.id, self._build))
            return self._made[key]


class _Put:
    """Puts questions to a model. Called from several threads; the frames of a video are read by one of them."""

    def __init__(self, asking: Asking, of: AskedOf, spec: ModelSpec, videos: Path, without_scene: bool) -> None:
        self._asking, self._of, self._spec, self._videos = asking, of, spec, videos
        self._without_scene = without_scene
        self._lock = threading.Lock()
        self._shown = lru_cache(_KEPT_VIDEOS)(self._read)

    def check(self, questions: Sequence[Published]) -> None:
        """Raises ConfigError where what questions show is not there, or the model takes nothing of it."""
        if self._without_scene:
            return
        prompts = [self._asking.prompt(question, self._of) for question in questions]
        files = {file_below(self._videos, p.video) for p in prompts if p.video}
        files |= {file_below(self._of.release, image) for p in prompts for image in p.images}
        if files and not takes_visuals(self._spec.inputs):
            raise ConfigError(
                f"model {self._spec.name} takes {', '.join(self._spec.inputs)} alone, and these questions are about "
                "videos or pictures: --set inputs=[text,image], or --without-scene to ask from the text alone"
            )
        missing = sorted(str(file) for file in files if not file.is_file())
        if missing:
            raise ConfigError(
                f"{missing[0]} is missing ({len(missing)} of {len(files)} files); name the folder of the videos with "
                f"--videos ({self._videos}). scan2qa videos make writes them from raw data, and scan2qa frames write "
                "those of frame budgets and twins; --without-scene asks from the text alone"
            )

    def about(self) -> dict[str, Any]:
        """What the replies depend on beside the questions."""
        has_frames = not self._without_scene and "video" not in self._spec.inputs
        return {
            "model": self._spec.identity(),
            "frames": self._spec.frames if has_frames and self._spec.fps is None else None,
            "fps": self._spec.fps if has_frames else None,
            "without_scene": self._without_scene,
            "system": self._asking.system,
        }

    def by_video(self, questions: Sequence[Published]) -> list[Published]:
        """The questions of each video together, so that its frames are read once."""
        return sorted(questions, key=lambda question: self._asking.prompt(question, self._of).video or "")

    def row(self, session: ModelSession, question: Published) -> dict[str, Any]:
        """The row of the replies' file about one question."""
        try:
            episode = None if self._without_scene else self._asking.episode(question, self._of)
            told = self._answer(session, question) if episode is None else self._steps(session, episode)
        except ModelError as failure:
            return {"id": question.id, "answer": None, "failure": failure.kind, "message": failure.message}
        except RawDataError as fault:
            return {"id": question.id, "answer": None, "failure": fault.finding, "message": str(fault)}
        return {"id": question.id} | told | {"failure": None}

    def _answer(self, session: ModelSession, question: Published) -> dict[str, Any]:
        prompt = self._asking.prompt(question, self._of)
        parts = () if self._without_scene else self._parts(prompt)
        method = self._asking.methods.get(self._of.prompt)
        if method is None:
            return {"answer": session.ask(self._request(prompt.text, parts)).text}
        dialogue, replies = method.dialogue(prompt.text), list[str]()
        try:
            turn = next(dialogue)
            while True:
                replies.append(session.ask(self._turn(turn, parts)).text)
                turn = dialogue.send(replies[-1])
        except StopIteration as ended:
            return {"answer": ended.value, "log": replies}

    def _turn(self, turn: PromptTurn, parts: Sequence[Part]) -> Request:
        first = self._request(turn.said[0], parts)
        roles: tuple[Literal["assistant", "user"], ...] = ("assistant", "user")
        more = [Message(roles[n % 2], (Text(text),)) for n, text in enumerate(turn.said[1:])]
        return replace(first, messages=(*first.messages, *more), run=turn.run)

    def _steps(self, session: ModelSession, episode: AgentEpisode) -> dict[str, Any]:
        def reply(prompt: StepPrompt) -> str:
            shown = () if prompt.look is None else (prompt.look(),)
            return session.ask(self._request(prompt.text, shown)).text

        return played(episode, reply)

    def _request(self, text: str, parts: Sequence[Part]) -> Request:
        system = (Message("system", (Text(self._asking.system),)),) if self._asking.system else ()
        return Request((*system, user(text, *parts)), prompt=self._asking.source)

    def _parts(self, prompt: QuestionPrompt) -> tuple[Part, ...]:
        with self._lock:
            shown = self._shown(file_below(self._videos, prompt.video)) if prompt.video else ()
        legend = prompt.legend and self._of.release / prompt.legend
        files = [file_below(self._of.release, image) for image in prompt.images]
        return (*shown, *map(_image, [*files, *([legend] if legend and legend.is_file() else [])]))

    def _read(self, path: Path) -> tuple[Part, ...]:
        shown = visual_inputs(path, self._spec.inputs, self._spec.frames, self._spec.fps, last=self._asking.ends_asked)
        return shown.parts if shown is not None else ()


def _image(path: Path) -> Image:
    return Image(path.read_bytes(), "image/png" if path.suffix == ".png" else "image/jpeg")
