"""Commands on built or published questions: show, compare, audit and score them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import (
    Agent,
    Audited,
    Json,
    LimitCost,
    Meta,
    Profile,
    Published,
    Quiet,
    Settings,
    VerboseTables,
    Workers,
    end,
)
from flows.cli.output.console import configure_output
from flows.orchestration.folders import CORES, all_builds, configurations, folder_of
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
        str | None,
        typer.Option(metavar="RELEASE", help="An older release of the build.", show_default="the one before"),
    ] = None,
    waiting: Annotated[
        bool, typer.Option("--candidate", help="Show what the waiting candidate would change in the release.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Output folder.", show_default="diff in the build's folder")] = None,
) -> None:
    """Lists the questions of a release that are new, gone or changed, with their causes."""
    if len(folders) > 2:
        raise ConfigError("diff takes a build, or two release folders")
    if waiting and (since or len(folders) == 2):
        raise ConfigError("--candidate compares a build's candidate with its release: leave --since and OLDER out")
    from flows.cli.diff import diff

    chosen = folders if len(folders) == 2 or folders[0].is_dir() else [folder_of(str(folders[0]))]
    diff(chosen, since, out, waiting=waiting)


@app.command()
def release(
    build: Annotated[str, typer.Argument(help="A build, or its folder.", autocompletion=configurations)],
    accept: Annotated[
        list[str],
        typer.Option("--accept", metavar="GATE", help="Release the candidate although it failed this gate."),
    ] = [],
) -> None:
    """Shows the gates' figures for the waiting candidate, or for the release; releases the candidate."""
    from flows.cli.release import release

    end(release(folder_of(build), build, accept))


@app.command()
def report(
    build: Annotated[str, typer.Argument(help="A build, or its folder.", autocompletion=configurations)],
    out: Annotated[
        Path | None, typer.Option(help="Where to write it.", show_default="report.html in the build's folder")
    ] = None,
) -> None:
    """Writes one page about a release for people who did not build it: funnel, figures, questions."""
    from flows.cli.report import report

    report(folder_of(build), out)


@app.command()
def show(
    wanted: Annotated[
        str, typer.Argument(metavar="ID", help="Id of a question or a rejected candidate, or name of a scene.")
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
        Path | None, typer.Option(metavar="FILE.rrd", help="Also write a recording for Rerun.", show_default="none")
    ] = None,
) -> None:
    """Shows a question with its proof, a rejected candidate with its reason, or a scene."""
    from flows.cli.show import show

    show(wanted, all_builds() if build is None else [folder_of(build)], page, out, rerun)


@app.command()
def gallery(
    build: Annotated[
        str, typer.Argument(help="A build, its folder, or the folder of a release.", autocompletion=configurations)
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the gallery.", show_default="gallery in the build's folder")
    ] = None,
    replies: Annotated[
        list[str],
        typer.Option(
            metavar="MODEL=FILE",
            help="Replies of a model, as for `score`; MODEL@16_frame=FILE for a frame budget. May be repeated.",
        ),
    ] = [],
    settings: Settings = [],
) -> None:
    """Writes a gallery of all questions with pictures and replies of models, to filter in a browser, from disk."""
    from flows.cli.gallery import make_gallery

    make_gallery(folder_of(build), out, replies, settings)


def _question_id(text: str) -> int:
    if not text.isdecimal() or len(text) > 19 or int(text) >= 2**63:
        raise ConfigError(f"{text!r} is no id of a question, a whole number; it stands before the build")
    return int(text)


@app.command()
def trace(
    question: Annotated[
        int, typer.Argument(metavar="QUESTION_ID", help="Id of a question, as in the release.", parser=_question_id)
    ],
    build: Annotated[
        str | None, typer.Argument(metavar="BUILD", help="A build, or its folder.", show_default="all in outputs")
    ] = None,
    fixes: Annotated[bool, typer.Option("--fixes", help="Print only entries that could correct the source.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="List the stages and all other questions.")] = False,
) -> None:
    """Shows the source of a question, other questions from the same source, and how to correct it."""
    from flows.cli.trace import show_trace

    configure_output(verbose=verbose)
    show_trace(question, all_builds() if build is None else [folder_of(build)], fixes=fixes)


@app.command()
def trial(
    folder: Annotated[Path, typer.Argument(help="Folder of a build with videos, such as outputs/vsi.")],
    questions: Annotated[int, typer.Option(min=1, help="Number of questions.")] = 60,
    answers: Annotated[
        Path | None, typer.Option(help="A filled sheet (CSV) to score.", show_default="write the sheet")
    ] = None,
) -> None:
    """Writes a sheet of questions for a person to answer from the videos, and its key; or scores a filled sheet."""
    from flows.cli.trial import trial

    trial(folder, questions, answers)


@app.command()
def recheck(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Benchmark of the questions, such as cityeqa.")],
    release: Annotated[
        Path | None, typer.Argument(help="Folder of the release that was asked.", show_default="needed to draw")
    ] = None,
    rows: Annotated[
        list[Path], typer.Option(metavar="FILE", help="Rows of `score --rows`, a file per model; may be repeated.")
    ] = [],
    errors: Annotated[bool, typer.Option("--errors", help="Draw wrong replies, to label their errors.")] = False,
    count: Annotated[int, typer.Option(min=1, help="Number of replies.")] = 100,
    filled: Annotated[bool, typer.Option("--filled", help="Compare the filled sheets in --out.")] = False,
    out: Annotated[Path, typer.Option(help="Folder of the sheets.")] = Path("recheck"),
) -> None:
    """Draws replies for two people to mark beside a judge model, or wrong ones to label; then compares their marks."""
    from flows.cli.recheck import compare, recheck
    from pipeline.scoring.score import split_of

    if filled:
        compare(name, out)
    elif release is None or not rows:
        raise ConfigError("say what to draw from: RELEASE and --rows FILE.parquet; or --filled")
    else:
        recheck(name, "errors" if errors else "judge", rows, split_of(release, None).questions, count, out)


@app.command()
def play(
    build: Annotated[str, typer.Argument(help="A build of cities, or its folder.", autocompletion=configurations)],
    question: Annotated[
        str | None,
        typer.Argument(metavar="TASK", help="Id of a task, as in the release.", show_default="roam: --root, --record"),
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(help="Tasks in the released columns.", show_default="those of the build")
    ] = None,
    root: Annotated[
        str | None,
        typer.Option(metavar="READER=DIR", help="Raw data of their cities.", show_default="those of the build"),
    ] = None,
    trajectory: Annotated[Path, typer.Option(help="File for the trajectory and the answer.")] = Path(
        "trajectories.jsonl"
    ),
    picture: Annotated[
        Path | None, typer.Option(help="PNG of the view, rewritten at each step.", show_default="none")
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="Roam without a task; add new tasks to this tasks.json.", show_default="none")
    ] = None,
    scene: Annotated[
        str | None, typer.Option(help="City to roam, where --root has several.", show_default="the only one")
    ] = None,
) -> None:
    """Steps through a task of a city at the terminal: look, move, turn, answer. Or roams, and records new tasks."""
    from flows.cli.play import play, roam

    if record is not None and root is not None and question is None:
        roam(root, scene, record, picture)
    elif question is None or record is not None:
        raise ConfigError("give the id of a task to play; or, to roam, --root and --record without a task")
    else:
        play(folder_of(build), question, questions, root, trajectory, picture)


@app.command()
def audit(
    name: Audited,
    questions: Published,
    meta: Annotated[
        Path | None,
        typer.Option("--meta", help="Folder with the metadata behind them.", show_default="examined alone"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="One row per question: .parquet or .csv.", show_default="none")
    ] = None,
    profile: Profile = None,
    split_column: Annotated[
        str | None,
        typer.Option(
            "--split-column", metavar="COLUMN", help="Column with a question's split: shows what the split leaks."
        ),
    ] = None,
    verbose: VerboseTables = False,
) -> None:
    """Answers the questions of a published file again, as far as possible, and lists the differences."""
    configure_output(verbose=verbose)
    from flows.cli.audit import audit

    end(audit(name, questions, meta, out, profile, split_column))


@app.command()
def coverage(name: Audited, meta: Meta, questions: Published, profile: Profile = None) -> None:
    """Checks that the candidates, before caps, contain the published questions and contradict none."""
    from flows.cli.audit import coverage

    coverage(name, meta, questions, profile)


@app.command()
def score(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Benchmark of the questions, such as vsi.")],
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
    split: Annotated[str | None, typer.Option(help="Split of the release.", show_default="the full one")] = None,
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
            help="Results of the same model without the scenes, to show the gain from seeing them.",
            show_default="none",
        ),
    ] = None,
    people: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Answers of a person (people.csv of `trial`), to compare the model with on the same questions; "
            "may be given several times.",
            show_default="none",
        ),
    ] = None,
    only_asked: Annotated[
        bool,
        typer.Option("--only-asked", help="Leave out questions without a row in the files, which are then a sample."),
    ] = False,
    answers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The answers that the release withholds.", show_default="none")
    ] = None,
    settings: Settings = [],
    limit_cost: LimitCost = None,
    quiet: Quiet = False,
    verbose: VerboseTables = False,
    as_json: Json = False,
) -> None:
    """Scores a model's replies by the benchmark's own metric, with intervals and the score of guessing."""
    configure_output(quiet=quiet, verbose=verbose, as_json=as_json)
    from flows.cli.score import score

    of, held = (name, predictions, release, split, questions, out, rows), (without_scene or (), people or ())
    end(score(*of, settings, limit_cost, *held, only_asked=only_asked, answers=answers))


@app.command()
def ask(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Benchmark of the questions, such as vsi.")],
    release: Annotated[Path, typer.Argument(help="Folder of the release, such as outputs/vsi/release.")],
    model: Annotated[
        str | None, typer.Option(help="The provider's name of the model.", show_default="needed but with --agent")
    ] = None,
    provider: Annotated[str, typer.Option(help="openai (also any server with its protocol) or gemini.")] = "openai",
    url: Annotated[
        str | None,
        typer.Option(
            help="Address of a server of your own, such as http://localhost:8000/v1.", show_default="the provider's"
        ),
    ] = None,
    split: Annotated[str | None, typer.Option(help="Split of the release.", show_default="the full one")] = None,
    questions: Annotated[
        int | None, typer.Option(min=1, help="Ask only so many, spread over tasks and scenes.", show_default="all")
    ] = None,
    videos: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the videos.", show_default="videos beside RELEASE")
    ] = None,
    without_scene: Annotated[
        bool, typer.Option("--without-scene", help="Send neither videos nor pictures, only the text.")
    ] = False,
    prompt: Annotated[
        str,
        typer.Option(
            help="Another prompt that the paper compares, such as chain_of_thought.",
            show_default="its own",
        ),
    ] = "",
    agent: Annotated[
        Agent, typer.Option(help="Agent for cities and embodied views: the model, or a baseline.")
    ] = "model",
    out: Annotated[Path, typer.Option(help="File for the replies; the requests and a recording go beside it.")] = Path(
        "replies.jsonl"
    ),
    settings: Annotated[
        list[str],
        typer.Option("--set", metavar="KEY=VALUE", help="Setting of the model: temperature, frames, concurrency …"),
    ] = [],
    limit_cost: LimitCost = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Asks a model the questions of a release with the paper's prompts, and writes its replies for `score`."""
    configure_output(quiet=quiet, as_json=as_json)
    from flows.cli.ask import AskedRelease
    from flows.cli.ask import ask as ask_model

    if (model is None) == (agent == "model"):
        raise ConfigError("say who is asked: --model NAME, or --agent oracle, random or frontier")
    told = [f"provider={provider}", f"model={model}", *([f"base_url={url}"] if url else [])]
    shown = "[text, image, video]" if provider.startswith("gemini") else "[text, image]"
    asked = AskedRelease(release, split, questions, videos, without_scene, prompt, agent)
    end(ask_model(name, asked, [*told, f"inputs={shown}"], settings, out, limit_cost))


@app.command()
def leaderboard(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Benchmark of the questions, such as vsi.")],
    release: Annotated[Path, typer.Argument(help="Folder of the release that was asked.")],
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL=FILE",
            help="Replies of each model; MODEL@SPLIT=FILE: also to another split, such as 16_frame.",
        ),
    ],
    split: Annotated[str | None, typer.Option(help="Split of the release.", show_default="the full one")] = None,
    people: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Answers of a person (people.csv of `trial`).", show_default="none"),
    ] = None,
    out: Annotated[
        list[Path], typer.Option(help="Output file: .html, .md, .tex or .csv; may be given several times.")
    ] = [],
    difficulty: Annotated[
        Path | None,
        typer.Option(help="Table of each question with each model's score: .parquet or .csv.", show_default="none"),
    ] = None,
    answers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The answers that the release withholds.", show_default="none")
    ] = None,
    settings: Settings = [],
    as_json: Json = False,
) -> None:
    """Ranks models on the questions of a release, with intervals of scores and of differences."""
    configure_output(as_json=as_json)
    from flows.cli.leaderboard import show_leaderboard

    end(show_leaderboard(name, release, split, models, people or (), out, difficulty, settings, answers))


@app.command()
def publish(
    release: Annotated[Path, typer.Argument(help="Folder of the release, such as outputs/vsi/release.")],
    repo: Annotated[str, typer.Option(metavar="USER/NAME", help="Repository on the Hugging Face hub.")] = "USER/NAME",
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
    finetune: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Fine-tune this causal language model, too, in each fold (LoRA)."),
    ] = None,
) -> None:
    """Measures how far questions and options alone give answers away, and prunes the worst with --budget or --tau."""
    from flows.cli.stress_test import stress_test

    stress_test(questions, out, group, ungrouped, budget, tau, finetune)


@app.command()
def panel(
    build: Annotated[str, typer.Argument(help="Build to filter.", autocompletion=configurations)],
    url: Annotated[
        list[str], typer.Option("--url", metavar="URL", help="A server elsewhere, such as http://10.0.0.5:8000/v1.")
    ] = [],
    out: Annotated[
        Path | None, typer.Option(help="File for the configuration.", show_default="BUILD_panel.yaml")
    ] = None,
    key_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="Environment variable with the key of the servers of --url.")
    ] = None,
) -> None:
    """Finds models served on this machine (Ollama, vLLM, llama.cpp, LM Studio), and makes a panel of three."""
    from flows.cli.panel import panel

    panel(build, out, url, key_env)


frames_app = typer.Typer(
    no_args_is_help=True, help="Frames of a release: check and write them (docs/evaluate/frames.md)."
)
app.add_typer(frames_app, name="frames")

Videos = Annotated[Path, typer.Argument(metavar="VIDEOS", help="Folder with the videos, such as outputs/vsi/videos.")]
OfRelease = Annotated[
    Path | None, typer.Option("--release", help="Folder of the release.", show_default="release beside VIDEOS")
]


@frames_app.command("verify")
def frames_verify(videos: Videos, release: OfRelease = None, json: Json = False) -> None:
    """Decodes a folder of videos, and lists those whose frames differ from the release."""
    configure_output(as_json=json)
    from flows.cli.videos import verify

    end(verify(videos, release))


@frames_app.command("write")
def frames_write(
    videos: Videos,
    release: OfRelease = None,
    out: Annotated[Path | None, typer.Option(help="Folder for them.", show_default="VIDEOS")] = None,
    twins: Annotated[
        bool, typer.Option("--twins", help="Also write the videos of twins: twins/DATASET/SCENE/ID.mp4.")
    ] = False,
    json: Json = False,
) -> None:
    """Writes the frames of each budget as lossless videos, 16_frame/DATASET/SCENE.mp4, for any harness."""
    configure_output(as_json=json)
    from flows.cli.videos import write

    end(write(videos, release, out, twins=twins))


videos_app = typer.Typer(no_args_is_help=True, help="The videos of a release (docs/evaluate/frames.md).")
app.add_typer(videos_app, name="videos")


@videos_app.command("make")
def videos_make(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Benchmark of the release, such as vsi.")],
    release: Annotated[Path, typer.Argument(help="Folder of the release; no build is needed.")],
    roots: Annotated[
        list[str],
        typer.Option("--root", metavar="READER=DIR", help="Your own raw data; may be given several times."),
    ] = [],
    out: Annotated[Path | None, typer.Option(help="Folder for them.", show_default="videos beside RELEASE")] = None,
    settings: Settings = [],
    workers: Workers = CORES,
    json: Json = False,
) -> None:
    """Makes the videos of a release from your own raw data, and checks them; keeps existing ones."""
    configure_output(as_json=json)
    from flows.cli.videos import make_videos

    end(make_videos(name, release, roots, settings, out, workers))


@videos_app.command("verify")
def videos_verify(videos: Videos, release: OfRelease = None, json: Json = False) -> None:
    """Checks whole videos and clips against the release: the same files, or others with the same pictures."""
    configure_output(as_json=json)
    from flows.cli.videos import verify_videos

    end(verify_videos(videos, release))


@app.command()
def train(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Benchmark of the questions, such as vsi.")],
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
    split: Annotated[str | None, typer.Option(help="Split of the release.", show_default="the full one")] = None,
    per_task: Annotated[
        int | None, typer.Option(min=1, help="Maximum number per task, with its answers in turn.", show_default="all")
    ] = None,
    rationales: Annotated[
        bool, typer.Option("--rationales", help="Replies begin with the measurements that prove the answer.")
    ] = False,
    videos: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the videos.", show_default="videos beside RELEASE")
    ] = None,
    without_media: Annotated[bool, typer.Option("--without-media", help="Write paths only, no media.")] = False,
    radius: Annotated[float, typer.Option(min=0, help="Metres within which two positions are one place.")] = 500,
    pass_on: Annotated[
        list[str],
        typer.Option(metavar="DATASET", help="Dataset whose terms allow media in shards; samples always may."),
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
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Benchmark of the questions, such as vsi.")],
    release: Annotated[Path, typer.Argument(help="Folder of the release, such as outputs/vsi/release.")],
    to: Annotated[Path, typer.Option(help="A new folder for the release without answers.")],
    answers: Annotated[Path, typer.Option(help="File for the answers; an existing file keeps its salts.")] = Path(
        "answers-private.parquet"
    ),
    split: Annotated[str | None, typer.Option(help="Split of the release.", show_default="the full one")] = None,
    as_json: Json = False,
) -> None:
    """Writes a release without its answers, with commitments to them, for a private test split."""
    configure_output(as_json=as_json)
    from flows.cli.publish import withhold_answers

    withhold_answers(name, release, split, to, answers)
