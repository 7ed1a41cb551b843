"""What Embodied4C says of itself in the dataset card."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.benchmark import Card

CITATION: Final = """\
@article{sohn2025embodied4c,
  title = {Embodied4C: Measuring What Matters for Embodied Vision-Language Navigation},
  author = {Sohn, Tin Stribor and Dillitzer, Maximilian and Kandil, Can and Corso, Jason J. and Sax, Eric},
  year = {2025}
}"""

CARD: Final = Card(
    module=__name__,
    about="Questions over logs of driving, flying and manipulating, proven by what the logs record, after Embodied4C, "
    "built with scan2qa. Questions are free-form: numbers with their unit and reference points, or a few words.",
    media="`log` names them; a question stands at second `until_s` and may use what came before, `video` where the log "
    "has pictures",
    citation=CITATION,
    chosen=frozenset({"answer_too_frequent", "answer_too_rare"}),
    terms={
        "argoverse2": "Argoverse 2: CC BY-NC-SA 4.0 (<https://www.argoverse.org/about.html>); sample drives: none",
        "sample_city": "procedural flights, made by scan2qa: none",
    },
    parts={"pictures": "`pictures/<question_id>.png`: of a question about a drive what was measured, with the answer."},
)
