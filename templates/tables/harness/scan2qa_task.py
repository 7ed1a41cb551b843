"""This release as a task of inspect_ai.

export SCAN2QA_VIDEOS=outputs/BUILD/videos
inspect eval scan2qa_task.py -T table=TABLE -T frames=32 --model PROVIDER/MODEL --log-format json --no-log-images

TABLE is the name of a table in the folder above, without its ending. `frames` is how many evenly spaced frames of a
video a model is shown (they are taken by PyAV: pip install av pillow); 0: the video itself, for models that take one.
"""

import base64
import io
import sys
from functools import lru_cache
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, ContentVideo, GenerateConfig
from inspect_ai.scorer import SampleScore, Score, grouped, mean, metric, scorer
from inspect_ai.solver import generate, solver

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scan2qa_rows import budget_of, images_of, mark, means, rows_of, video_of


@lru_cache(maxsize=8)
def frames_of(path, count):
    """Evenly spaced frames of a video, the first and the last among them, as data of JPEG."""
    import av

    with av.open(path) as video:
        total = sum(1 for _ in video.decode(video=0))
    wanted = {n * (total - 1) // max(count - 1, 1) for n in range(min(count, total))}
    found = []
    with av.open(path) as video:
        for number, frame in enumerate(video.decode(video=0)):
            if number in wanted:
                sink = io.BytesIO()
                frame.to_image().save(sink, "JPEG", quality=95)
                found.append(inline("image/jpeg", sink.getvalue()))
    return tuple(found)


def inline(kind, raw):
    """A file as a model is sent it."""
    return f"data:{kind};base64,{base64.b64encode(raw).decode()}"


@solver
def shown(frames):
    """Puts what a question shows before its words, when it is asked."""

    async def solve(state, generate):
        row, content = state.metadata, []
        if (video := video_of(row)) and frames == 0:
            content.append(ContentVideo(video=inline("video/mp4", Path(video).read_bytes()), format="mp4"))
        elif video:
            content += [ContentImage(image=image) for image in frames_of(video, frames)]
        for path in map(Path, images_of(row)):
            kind = "image/png" if path.suffix == ".png" else "image/jpeg"
            content.append(ContentImage(image=inline(kind, path.read_bytes())))
        state.messages = [ChatMessageUser(content=[*content, ContentText(text=row["prompt"])])]
        return state

    return solve


@metric
def overall():
    """The mean of all: of the families of tasks where there are some."""

    def compute(scores: list[SampleScore]) -> float:
        return means([(one.sample_metadata, one.score.as_float()) for one in scores])[0]

    return compute


@scorer(metrics=[overall(), grouped(mean(), "question_type", all=False)])
def earned():
    """What a reply earns, from 0 to 1."""

    async def score(state, target):
        reply = state.output.completion
        return Score(value=mark(state.metadata, reply), answer=reply)

    return score


@task
def scan2qa(table: str, frames: int | None = None):
    """The questions of a table."""
    budget, rows = budget_of(table), rows_of(table)
    if frames is None:
        frames = budget or 32
    if budget and frames != budget:
        raise ValueError(f"{table} is of {budget} frames; ask it with -T frames={budget}")
    samples = [Sample(id=row["id"], input=row["prompt"], target=row["answer"], metadata=row) for row in rows]
    config = GenerateConfig(temperature=rows[0]["temperature"], max_tokens=rows[0]["max_tokens"])
    dataset = MemoryDataset(samples, name=table)
    return Task(dataset=dataset, solver=[shown(frames), generate()], scorer=earned(), config=config)
