"""Stage `unify`: converts raw data to a `Scene` of the shared schema."""

from typing import Final

from pipeline.engine.stage import Stage, StageContext


def run(context: StageContext) -> bytes:
    """A `Scene` as JSON."""
    raw = context.source
    return raw.reader.read(raw.files).model_dump_json(indent=1).encode()


UNIFY: Final = Stage(name="unify", suffix=".json", module=__name__, run=run, reads_raw=True)
