"""The command `scan2qa doctor`: checks data folders and estimates the questions that builds would give."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psutil

from flows.cli.output import build_tables
from flows.cli.output.console import console, output_options, start_spinner, stop_spinner
from flows.cli.output.forecast_tables import show_bounds, show_efforts, show_prospects
from flows.orchestration.folders import OUTPUTS, configuration
from flows.orchestration.forecast import COUNTED, READING, bounds_of, efforts, seconds_for
from flows.orchestration.roots import roots_of
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.budget import WorkerLimits
from pipeline.core.errors import require_extra
from pipeline.core.mirrors import is_here, named
from pipeline.engine.config import find_published, load_config
from pipeline.engine.inputs import list_inputs
from pipeline.reading.doctor import inspect, read_scenes
from pipeline.reading.reader import folder_of
from pipeline.stages.registry import STAGES
from pipeline.worlds.registry import configured, examined, world_of

READ_WITHIN_S: Final = 30.0  # by the table's rates


def doctor(roots: Sequence[str], workers: int) -> bool:
    """Prints the data below roots and, where quick, their findings and prospects; returns whether all is well."""
    sound = True
    for name, folder in roots_of(roots).items():
        reader, world = configured(name, {}), world_of(name)
        require_extra(reader.extra, f"reader {name}")
        inspection = inspect(reader, folder)
        stop_spinner()
        build_tables.show_inspection(name, named(folder), inspection)
        build_tables.show_elsewhere({name: folder})
        sound &= not inspection.broken
        if refs := inspection.scenes if name in world.quick else inspection.lost:
            start_spinner("Reading")
            most = min(COUNTED, int(READ_WITHIN_S / seconds_for(reader.name, READING)))
            here = [ref for ref in refs[:most] if is_here(folder_of(folder) / ref.files[0])]
            read = read_scenes(reader, folder, here, examined)
            stop_spinner()
            build_tables.show_read(read, len(refs))
            sound &= not read.broken
        _show_known(name, folder)
        for benchmark in BENCHMARKS.values():
            if any(world.name == own.name for own in benchmark.worlds):
                _show_prospects(benchmark.name, name, folder, workers)
    build_tables.show_limits(WorkerLimits(), workers, psutil.virtual_memory().total)
    if not output_options.verbose:
        console.print("--verbose lists every part, finding, task and stage.")
    return sound


def _show_known(name: str, root: Path) -> None:
    """Says which published questions the data will be held against, or where they were looked for."""
    for benchmark in BENCHMARKS.values():
        metadata = benchmark.audit.metadata if benchmark.audit else None
        if metadata is None or name not in metadata.readers:
            continue
        path = find_published(benchmark, name, root)
        if path is not None:
            told = f"Published answers: {named(path)}. Builds ask nothing that rests on data from which these differ."
        else:
            files = " or ".join(metadata.published_files)
            told = (
                f"No published answers beside the data ({files}): what people corrected in these is not known. "
                "Put the file there, or give it with --set known=FILE."
            )
        console.print(told)


def _show_prospects(name: str, reader: str, root: Path, workers: int) -> None:
    """Prints the questions that a benchmark would make from a root, under its own configuration."""
    start_spinner("Counting questions")
    config = load_config(configuration(name), ()).model_copy(update={"roots": {reader: root}})
    inputs, title = list_inputs(config).inputs, config.of_benchmark().title
    found = bounds_of(config, inputs)
    stop_spinner()
    due = {stage.name: {reader: len(inputs)} for stage in STAGES.values() if stage.is_wanted(config)}
    datasets = {reader: {raw.ref.dataset for raw in inputs.values()}}
    took = efforts(config, OUTPUTS / config.build, due, datasets, found.questions, workers)
    if not output_options.verbose:
        show_prospects(title, found, took, len(inputs), workers)
        return
    show_bounds(f"{title}: questions at most", found, config)
    build_tables.show_costs(found.costs)
    show_efforts(f"{title}: time and disk", took, workers)
