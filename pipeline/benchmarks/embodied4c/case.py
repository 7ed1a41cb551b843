"""A case of the exam: beside what any case has, what someone who sees no log would guess its answer by."""

from __future__ import annotations

from pipeline.questions.cases import Case


class ExamCase(Case):
    """One candidate question.

    Attributes:
        traits: words that questions about other logs have too, as the kind of a thing or a side: by each of them alone
            no answer may be more likely than another (`even.make_even`).
        guess: what has to be guessed, where that is not the answer itself: on which side the larger thing is; the
            speed, where the seconds that it lasts are told.
    """

    traits: tuple[str, ...] = ()
    guess: str | None = None

    @property
    def guessed(self) -> str:
        """What has to be guessed."""
        return self.guess if self.guess is not None else self.answer or ""
