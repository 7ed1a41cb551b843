"""How the answers of cases are written, in every embodiment."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pipeline.benchmarks.embodied4c.case import ExamCase
from pipeline.benchmarks.embodied4c.columns import VALUE
from pipeline.benchmarks.embodied4c.flags import ACCEPTED, flag


def number(one: ExamCase, value: float, unit: str, decimals: int) -> ExamCase:
    """The case with a number as its answer, as exactly as it was measured in its evidence."""
    text = f"{value:.{decimals}f}" if np.isfinite(value) else ""
    one.require("not_measured", float(np.isfinite(value)), ">=", 1, "numbers")
    if text:
        one.fact(VALUE, "rounded to " + ("units" if decimals == 0 else f"{decimals} decimal"), value, unit)
        one.require("rounds_to_0", float(text), ">", 0, unit)
    return one.ask(text, (), least=0)


def steady_speed(one: ExamCase, speed: float, short: float, most: float) -> None:
    """That a speed measured over half the time is nearly the same: else it changes too abruptly to have one."""
    one.require("speed_jumps", abs(short / speed - 1) if speed > 0 else np.nan, "<=", most, "share")


def words(one: ExamCase, answer: str, others: Iterable[str], accepted: Iterable[str] = ()) -> ExamCase:
    """The case with a few words as its answer, what else it might have been, and other right ways to say it."""
    one.flags += [flag(ACCEPTED, form) for form in accepted]
    return one.ask(answer, others, least=1)
