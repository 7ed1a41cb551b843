"""Options that several commands take, and how commands end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from flows.orchestration.folders import configurations

EXIT_USAGE: Final = 2
EXIT_LEFT_OUT: Final = 3
Agent = Literal["model", "oracle", "random", "frontier"]  # who acts where an agent answers


BuildName = Annotated[
    str,
    typer.Argument(
        metavar="BUILD", help="A configuration in flows/builds, or a YAML file.", autocompletion=configurations
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="List every scene and stage.")]
VerboseTables = Annotated[bool, typer.Option("--verbose", help="Show all tables.")]
Json = Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON object; all else goes to stderr.")]
Roots = Annotated[
    list[str],
    typer.Option(
        "--root",
        metavar="READER=DIR",
        help="Raw data, in a folder or at s3://bucket/prefix; may be given several times "
        "(scan2qa readers lists the readers). With none, those of the last time; the first time, procedural "
        "sample scenes.",
    ),
]
Videos = Annotated[
    Path | None,
    typer.Option(
        "--videos",
        metavar="DIR",
        help="Videos of released metadata (root vsi_meta), as the benchmark delivers them: DATASET/SCENE.mp4.",
    ),
]
Host = Annotated[str, typer.Option(help="Address to listen on. Any but this machine's needs a token.")]
Out = Annotated[Path | None, typer.Option(help="Output folder.", show_default="outputs/BUILD")]
Settings = Annotated[list[str], typer.Option("--set", metavar="A.B=C", help="Change one configuration key.")]
LimitCost = Annotated[
    float | None,
    typer.Option(
        "--limit-cost",
        metavar="USD",
        min=0,
        help="Stop querying models before spending exceeds this, summed over all runs of the build.",
        show_default="no limit",
    ),
]
Workers = Annotated[int, typer.Option(min=1, max=256, help="Processes.", show_default="number of cores")]
Prefect = Annotated[
    bool | None,
    typer.Option(
        "--prefect/--no-prefect",
        help="Run as a Prefect flow, or without.",
        show_default="where a server is kept, or 16 scenes are to be run",
    ),
]
Runner = Annotated[
    str | None,
    typer.Option(help="Run scenes on a cluster: dask or ray.", show_default="processes of this machine"),
]
RunnerAddress = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Address of the cluster: Dask's scheduler (tcp://host:8786) or Ray's head (host:6379).",
        show_default="a cluster of --workers processes on this machine",
    ),
]
StoreUrl = Annotated[
    str | None,
    typer.Option("--store", metavar="S3://BUCKET/PREFIX", help="Mirror the build in an object store."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would run and why, with a forecast; write nothing.")]
Explain = Annotated[
    bool,
    typer.Option("--explain", help="Show what would run, and which input, setting or code changed; write nothing."),
]
Forget = Annotated[bool, typer.Option("--forget", help="Ignore the roots and settings kept from last time.")]
Published = Annotated[Path, typer.Option("--questions", help="Published questions: .jsonl, .json or .parquet.")]
Audited = Annotated[str, typer.Argument(metavar="BENCHMARK", help="Benchmark of the published questions, such as vsi.")]
Meta = Annotated[Path, typer.Option("--meta", help="Folder with the metadata behind the questions.")]
Profile = Annotated[
    str | None, typer.Option("--profile", help="Ambiguity rules: official, strict or revsi.", show_default="official")
]


def end(complete: bool) -> None:
    """Ends the command with the exit code that says so where something was left out."""
    if not complete:
        raise typer.Exit(EXIT_LEFT_OUT)
