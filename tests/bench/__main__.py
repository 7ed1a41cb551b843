"""`python -m tests.bench NAME [ARGUMENT …]` measures one subject; without a name all that `make bench` measures.

Each stands beside its function, whose docstring says what its arguments are.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.bench import answers, builds, guesses, models, reviewers, steps, stops
from tests.bench.leaks import leaks
from tests.bench.measuring import show
from tests.bench.real_flights import real_questions

ALL: Final[dict[str, Callable[..., Iterator[Any]]]] = {
    "builds": builds.growing,
    "orchestrated": builds.orchestrated,
    "scans": steps.scans,
    "drives": steps.drives,
    "visibility": steps.visibility,
    "logs": steps.logs,
    "motion": steps.motion,
    "stress": guesses.stress,
    "drawings": steps.drawings,
    "reviewers": reviewers.reviewers,
    "cities": answers.cities,
    "spheres": steps.spheres,
    "export": builds.exported,
    "report": builds.reported,
}
APART: Final[dict[str, Callable[..., Iterator[Any]]]] = {
    "leaks": leaks,
    "real-questions": real_questions,
    "models": models.models,
    "cluster": builds.cluster,
    "copied-panoramas": builds.copied_panoramas,
    "stops": stops.stops,
    "oracle": answers.scans,
    "oracle-panoramas": answers.panoramas,
}


def main() -> int:
    """Measures; 2 for a name that there is not, 1 where a measurement failed."""
    if len(sys.argv) == 1:  # each in a process of its own, whose memory is then its own too
        ran = [subprocess.run([sys.executable, "-m", "tests.bench", name], check=False) for name in ALL]
        return int(any(run.returncode for run in ran))
    work = (ALL | APART).get(sys.argv[1])
    if work is None:
        print(f"{__doc__}\n{sys.argv[1]}: no such subject; there are {', '.join(ALL | APART)}", file=sys.stderr)
        return 2
    show(f"{sys.argv[1]}: {work.__doc__}", work(*sys.argv[2:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
