"""Commands on built or published questions: show, compare, audit and score them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import Agent, Audited, Json, LimitCost, Meta, Profile, Published, Quiet, Settings, end
from flows.cli.output.console import configure_output
from flows.orchestration.folders import OUTPUTS, all_builds, configurations, folder_of
from pipeline.core.errors import ConfigError

app = typer.Typer()


@app.command()
def diff(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="BUILD | OLDER NEWER", help="A build or its folder: its last two releases; or two release folders."
        ),
    ],
    since: Annotated[
        str | None, typer.Option(metavar="RELEASE", help="An older one of the build.", show_default="the one before")
    ] = None,
    waiting: Annotated[
        bool, typer.Option("--candidate", help="What the candidate that waits would change in the release.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Output folder.", show_default="diff in the build's folder")] = None,
) -> None:
    """Says which questions of a release are new, gone or changed, and what brought each about."""
    if len(folders) > 2:
        raise ConfigError("diff takes a build, or two release folders")
    if waiting and (since or len(folders) == 2):
        raise ConfigError("--candidate compares a build's candidate with its release: leave --since and OLDER out")
    from flows.cli.diff import diff

    chosen = folders if len(folders) == 2 or folders[0].is_dir() else [OUTPUTS / folders[0]]
    diff(chosen, since, out, waiting=waiting)


@app.command()
def release(
    build: Annotated[str, typer.Argument(help="A build, or its folder.", autocompletion=configurations)],
    accept: Annotated[
        list[str],
        typer.Option("--accept", metavar="GATE", help="Release the candidate although it failed this gate."),
    ] = [],
) -> None:
    """Shows what the gates found of the candidate that waits, or of the release; releases the candidate."""
    from flows.cli.release import release

    end(release(folder_of(build), build, accept))


@app.command()
def report(
    build: Annotated[str, typer.Argument(help="A build, or its folder.", autocompletion=configurations)],
    out: Annotated[
        Path | None, typer.Option(help="Where to write it.", show_default="report.html in the build's folder")
    ] = None,
) -> None:
    """Tells what a build released on one page, for people who did not build it: funnel, figures, questions."""
    from flows.cli.report import report

    report(folder_of(build), out)


@app.command()
def show(
    wanted: Annotated[
        str, typer.Argument(metavar="ID", help="Of a question or a rejected candidate, or the name of a scene.")
    ],
    build: Annotated[
        str | None,
        typer.Argument(
            metavar="[BUILD]",
            help="A build, its folder, or the folder of a release.",
            show_default="all in outputs",
            autocompletion=configurations,
        ),
    ] = None,
    page: Annotated[
        bool | None, typer.Option("--page/--no-page", help="Write a page and open it.", show_default="with a display")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The page.", show_default="shown/ID.html in the build")] = None,
    rerun: Annotated[
        Path | None, typer.Option(metavar="FILE.rrd", help="A recording for Rerun is written too.", show_default="none")
    ] = None,
) -> None:
    """Shows a question with all that proves it, a rejected candidate with its reason, or a scene."""
    from flows.cli.show import show

    show(wanted, all_builds() if build is None else [folder_of(build)], page, out, rerun)


@app.command()
def gallery(
    build: Annotated[
        str, typer.Argument(help="A build, its folder, or the folder of a release.", autocompletion=configurations)
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for it.", show_default="gallery in the build's folder")
    ] = None,
    replies: Annotated[
        list[str],
        typer.Option(
            metavar="MODEL=FILE",
            help="Replies of a model, as `score` reads them; MODEL@16_frame=FILE: to a frame budget. May be repeated.",
        ),
    ] = [],
    settings: Settings = [],
) -> None:
    """Writes a gallery of all questions, their pictures and what models replied, to filter in a browser, from disk."""
    from flows.cli.gallery import make_gallery

    make_gallery(folder_of(build), out, replies, settings)


@app.command()
def trace(
    question: Annotated[int, typer.Argument(metavar="QUESTION_ID", help="As in the release.", min=0, max=2**63 - 1)],
    build: Annotated[
        Path | None, typer.Option(metavar="BUILD", help="A build, or its folder.", show_default="all in outputs")
    ] = None,
) -> None:
    """Says everything that a question came from, which others came from the same, and how to correct it."""
    from flows.cli.trace import show_trace

    show_trace(question, all_builds() if build is None else [folder_of(str(build))])


@app.command()
def trial(
    folder: Annotated[Path, typer.Argument(help="Folder of a build with videos, such as outputs/vsi.")],
    questions: Annotated[int, typer.Option(min=1, help="How many.")] = 60,
    answers: Annotated[
        Path | None, typer.Option(help="A filled sheet (CSV): says how many are right.", show_default="write the sheet")
    ] = None,
) -> None:
    """Writes a sheet of questions for a person to answer from the videos, and its key; or marks a filled one."""
    from flows.cli.trial import trial

    trial(folder, questions, answers)


@app.command()
def play(
    build: Annotated[str, typer.Argument(help="A build of cities, or its folder.", autocompletion=configurations)],
    question: Annotated[str, typer.Argument(metavar="TASK", help="Id of a task, as in the release.")],
    questions: Annotated[
        Path | None, typer.Option(help="Tasks in the released columns.", show_default="those of the build")
    ] = None,
    root: Annotated[
        str | None, typer.Option(metavar="READER=DIR", help="Their cities.", show_default="those of the build")
    ] = None,
    trajectory: Annotated[Path, typer.Option(help="Where the way and the answer go.")] = Path("trajectories.jsonl"),
    picture: Annotated[
        Path | None, typer.Option(help="PNG of what is seen, written anew at each step.", show_default="none")
    ] = None,
) -> None:
    """Steps through a task of a city at the terminal: look, move, turn, answer."""
    from flows.cli.play import play

    play(folder_of(build), question, questions, root, trajectory, picture)


@app.command()
def audit(
    name: Audited,
    questions: Published,
    meta: Annotated[
        Path | None,
        typer.Option(
            "--meta", help="Folder with the metadata that they were made from.", show_default="examined alone"
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="One row per question: .parquet or .csv.", show_default="none")
    ] = None,
    profile: Profile = None,
    split_column: Annotated[
        str | None,
        typer.Option("--split-column", metavar="COLUMN", help="Names a question's split: says what the split leaks."),
    ] = None,
) -> None:
    """Examines a published question file, answers it again where it can, and says where it differs."""
    from flows.cli.audit import audit

    end(audit(name, questions, meta, out, profile, split_column))


@app.command()
def coverage(name: Audited, meta: Meta, questions: Published, profile: Profile = None) -> None:
    """Checks that the candidates, before caps, contain the published questions and contradict none."""
    from flows.cli.audit import coverage

    coverage(name, meta, questions, profile)


@app.command()
def score(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Whose questions were asked, such as vsi.")],
    predictions: Annotated[
        list[Path],
        typer.Argument(
            help="Result files: id and answer (.csv, .jsonl, .parquet), trajectories, or what lmms-eval, "
            "VLMEvalKit or inspect_ai wrote."
        ),
    ],
    release: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The release that was asked.", show_default=False)
    ] = None,
    split: Annotated[str | None, typer.Option(help="Of the release.", show_default="the full one")] = None,
    questions: Annotated[
        Path | None, typer.Option(help="Or the file of questions that were asked.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The score: .json or .csv.", show_default="none")] = None,
    rows: Annotated[
        Path | None, typer.Option(help="One row per question: .parquet or .csv.", show_default="none")
    ] = None,
    without_scene: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Results of the same model without the scenes: how much more it earned with them is told.",
            show_default="none",
        ),
    ] = None,
    people: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Answers of a person (people.csv of `trial`), may be given several times: the model is held against "
            "them on the questions that they answered.",
            show_default="none",
        ),
    ] = None,
    only_asked: Annotated[
        bool, typer.Option("--only-asked", help="Leave out questions that the files have no row of: they are a sample.")
    ] = False,
    answers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The answers that the release withholds.", show_default="none")
    ] = None,
    settings: Settings = [],
    limit_cost: LimitCost = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Scores what a model replied, by the benchmark's own metric, with intervals and what guessing earns."""
    configure_output(quiet=quiet, as_json=as_json)
    from flows.cli.score import score

    of, held = (name, predictions, release, split, questions, out, rows), (without_scene or (), people or ())
    end(score(*of, settings, limit_cost, *held, only_asked=only_asked, answers=answers))


@app.command()
def ask(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Whose questions they are, such as vsi.")],
    release: Annotated[Path, typer.Argument(help="Folder of the release, such as outputs/vsi/release.")],
    model: Annotated[
        str | None, typer.Option(help="The provider's name of the model.", show_default="needed but with --agent")
    ] = None,
    provider: Annotated[
        str, typer.Option(help="Who is asked: openai (also every server that speaks its protocol) or gemini.")
    ] = "openai",
    url: Annotated[
        str | None,
        typer.Option(help="Of a server of your own, such as http://localhost:8000/v1.", show_default="the provider's"),
    ] = None,
    split: Annotated[str | None, typer.Option(help="Of the release.", show_default="the full one")] = None,
    questions: Annotated[
        int | None, typer.Option(min=1, help="Ask only so many, spread over tasks and scenes.", show_default="all")
    ] = None,
    videos: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the videos.", show_default="videos beside RELEASE")
    ] = None,
    without_scene: Annotated[
        bool, typer.Option("--without-scene", help="Show neither videos nor pictures: what the text alone tells.")
    ] = False,
    prompt: Annotated[
        str, typer.Option(help="Another prompt that the paper compares: base (ERGeoBench).", show_default="its own")
    ] = "",
    agent: Annotated[
        Agent, typer.Option(help="Who acts where an agent answers (cities, embodied views): the model, or a baseline.")
    ] = "model",
    out: Annotated[Path, typer.Option(help="The replies; beside them what was asked, and a recording.")] = Path(
        "replies.jsonl"
    ),
    settings: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="Of the model: temperature, frames, concurrency …")
    ] = [],
    limit_cost: LimitCost = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Puts a model through the questions of a release with the paper's prompts, and writes replies to score."""
    configure_output(quiet=quiet, as_json=as_json)
    from flows.cli.ask import AskedRelease
    from flows.cli.ask import ask as ask_model

    if (model is None) == (agent == "model"):
        raise ConfigError("say who is asked: --model NAME, or --agent oracle or random")
    told = [f"provider={provider}", f"model={model}", *([f"base_url={url}"] if url else [])]
    shown = "[text, image, video]" if provider.startswith("gemini") else "[text, image]"
    asked = AskedRelease(release, split, questions, videos, without_scene, prompt, agent)
    end(ask_model(name, asked, [*told, f"inputs={shown}"], settings, out, limit_cost))


@app.command()
def leaderboard(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Whose questions were asked, such as vsi.")],
    release: Annotated[Path, typer.Argument(help="Folder of the release that was asked.")],
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL=FILE",
            help="Replies of each model; MODEL@SPLIT=FILE: also to another split, such as 16_frame.",
        ),
    ],
    split: Annotated[str | None, typer.Option(help="Of the release.", show_default="the full one")] = None,
    people: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Answers of a person (people.csv of `trial`).", show_default="none"),
    ] = None,
    out: Annotated[
        list[Path], typer.Option(help="Where to write it: .html, .md, .tex or .csv; may be given several times.")
    ] = [],
    difficulty: Annotated[
        Path | None, typer.Option(help="Each question with each model's mark: .parquet or .csv.", show_default="none")
    ] = None,
    settings: Settings = [],
    as_json: Json = False,
) -> None:
    """Ranks models on the questions of a release, with intervals and how sure each difference is."""
    configure_output(as_json=as_json)
    from flows.cli.leaderboard import show_leaderboard

    end(show_leaderboard(name, release, split, models, people or (), out, difficulty, settings))


@app.command()
def publish(
    release: Annotated[Path, typer.Argument(help="Folder of the release, such as outputs/vsi/release.")],
    repo: Annotated[str, typer.Option(metavar="USER/NAME", help="Of the Hugging Face hub.")] = "USER/NAME",
    as_json: Json = False,
) -> None:
    """Checks a release before it is published, and prints the commands that upload it; sends nothing."""
    configure_output(as_json=as_json)
    from flows.cli.publish import publish

    end(publish(release, repo))


@app.command()
def stress_test(
    questions: Annotated[Path, typer.Argument(help="Published questions: .jsonl, .json or .parquet.")],
    out: Annotated[Path, typer.Option("--out", help="One row per question: .parquet or .csv.")],
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="COLUMN",
            help="Keep questions with the same value in one fold.",
            show_default="scene_name",
        ),
    ] = None,
    ungrouped: Annotated[bool, typer.Option("--ungrouped", help="Let folds split the questions of a scene.")] = False,
    budget: Annotated[
        int | None,
        typer.Option(min=0, help="Prune at most this many multiple-choice questions, and this many numeric ones."),
    ] = None,
    tau: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Prune until this much bias above chance is left.", show_default="0"),
    ] = None,
) -> None:
    """Says how far questions and options alone give the answers away, and prunes the worst with --budget or --tau."""
    from flows.cli.stress_test import stress_test

    stress_test(questions, out, group, ungrouped, budget, tau)


@app.command()
def panel(
    build: Annotated[str, typer.Argument(help="The build to be filtered.", autocompletion=configurations)],
    url: Annotated[
        list[str], typer.Option("--url", metavar="URL", help="A server elsewhere, such as http://10.0.0.5:8000/v1.")
    ] = [],
    out: Annotated[Path | None, typer.Option(help="The configuration.", show_default="BUILD_panel.yaml")] = None,
) -> None:
    """Finds models that are served on this machine (Ollama, vLLM, llama.cpp, LM Studio), and makes a panel of three."""
    from flows.cli.panel import panel

    panel(build, out, url)


frames_app = typer.Typer(no_args_is_help=True, help="The frames that answers are about (docs/evaluate/frames.md).")
app.add_typer(frames_app, name="frames")

Videos = Annotated[Path, typer.Argument(metavar="VIDEOS", help="Folder with the videos, such as outputs/vsi/videos.")]
OfRelease = Annotated[
    Path | None, typer.Option("--release", help="Folder of the release.", show_default="release beside VIDEOS")
]


@frames_app.command("verify")
def frames_verify(videos: Videos, release: OfRelease = None, json: Json = False) -> None:
    """Decodes a folder of videos, and says which have other frames than the release was made from."""
    configure_output(as_json=json)
    from flows.cli.frames import verify

    end(verify(videos, release))


@frames_app.command("videos")
def frames_videos(videos: Videos, release: OfRelease = None, json: Json = False) -> None:
    """Checks whole videos and clips against the release: the same files, or others that show the same."""
    configure_output(as_json=json)
    from flows.cli.frames import verify_videos

    end(verify_videos(videos, release))


@frames_app.command("write")
def frames_write(
    videos: Videos,
    release: OfRelease = None,
    out: Annotated[Path | None, typer.Option(help="Folder for them.", show_default="VIDEOS")] = None,
    twins: Annotated[bool, typer.Option("--twins", help="And of every twin: twins/DATASET/SCENE/ID.mp4.")] = False,
    json: Json = False,
) -> None:
    """Writes the frames of each budget as videos without loss, 16_frame/DATASET/SCENE.mp4, for any harness."""
    configure_output(as_json=json)
    from flows.cli.frames import write

    end(write(videos, release, out, twins=twins))


@app.command()
def train(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Whose form the questions have, such as vsi.")],
    release: Annotated[Path, typer.Argument(help="Folder of the release to train on, such as outputs/vsi/release.")],
    against: Annotated[
        list[Path],
        typer.Option(metavar="RELEASE", help="A benchmark that the model will be tested on: its scenes are left out."),
    ],
    to: Annotated[Path, typer.Option(help="A new folder for the export.")],
    form: Annotated[
        list[str],
        typer.Option("--format", help="sharegpt, llava, qwen, openai or webdataset; may be given several times."),
    ] = ["sharegpt"],
    split: Annotated[str | None, typer.Option(help="Of the release.", show_default="the full one")] = None,
    per_task: Annotated[
        int | None, typer.Option(min=1, help="At most so many of each task, its answers in turn.", show_default="all")
    ] = None,
    rationales: Annotated[
        bool, typer.Option("--rationales", help="Replies begin with the measurements that prove the answer.")
    ] = False,
    videos: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the videos.", show_default="videos beside RELEASE")
    ] = None,
    without_media: Annotated[bool, typer.Option("--without-media", help="Write paths alone, no media.")] = False,
    radius: Annotated[float, typer.Option(min=0, help="Metres within which two positions are one place.")] = 500,
    pass_on: Annotated[
        list[str],
        typer.Option(metavar="DATASET", help="Its terms allow that its media lie in shards; samples always may."),
    ] = [],
    shard_mb: Annotated[int, typer.Option(min=1, help="Size of a WebDataset shard.")] = 1024,
    as_json: Json = False,
) -> None:
    """Writes training examples from the scenes that no benchmark has, with a canary, even answers and rationales."""
    configure_output(as_json=as_json)
    from flows.cli.train import TrainingExport
    from flows.cli.train import train as write_training

    what = TrainingExport(
        release, split, against, form, videos, per_task, radius, pass_on, shard_mb, rationales, not without_media
    )
    write_training(name, what, to)


@app.command()
def withhold(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Whose form the questions have, such as vsi.")],
    release: Annotated[Path, typer.Argument(help="Folder of the release, such as outputs/vsi/release.")],
    to: Annotated[Path, typer.Option(help="A new folder for the release without answers.")],
    answers: Annotated[Path, typer.Option(help="Where the answers go; its salts are kept if it is there.")] = Path(
        "answers-private.parquet"
    ),
    split: Annotated[str | None, typer.Option(help="Of the release.", show_default="the full one")] = None,
    as_json: Json = False,
) -> None:
    """Writes a release without its answers, with commitments to them, for a private test split."""
    configure_output(as_json=as_json)
    from flows.cli.publish import withhold_answers

    withhold_answers(name, release, split, to, answers)
