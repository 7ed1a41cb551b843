"""Names of things in English sentences: which are plural, and the words that follow from that."""

from __future__ import annotations

from typing import Final

# Nouns in -s that are singular, beside those in -ss, -us and -is.
SINGULAR_IN_S: Final = frozenset({"gas", "canvas", "lens", "atlas", "christmas"})
VOWELS: Final = frozenset("aeiou")
SPOKEN_AS_CONSONANT: Final = ("uni", "use", "eu", "one")
PLURAL_WITHOUT_S: Final = frozenset({"clothes", "people", "men", "women", "children", "feet", "mice", "shelves"})


class Noun(str):
    """A name as templates take it: "{asked.be}" is "is" or "are", "{category.s}" is "(s)" or nothing.

    Of "stack of chairs" and the like the first noun counts.
    """

    __slots__ = ()

    @property
    def is_plural(self) -> bool:
        """Whether it names several things, or one that English calls by a plural ("headphones")."""
        head = self.partition(" of ")[0].rpartition(" ")[2].lower()
        return head in PLURAL_WITHOUT_S or (
            head.endswith("s") and not head.endswith(("ss", "us", "is")) and head not in SINGULAR_IN_S
        )

    @property
    def be(self) -> str:
        """The verb that goes with it."""
        return "are" if self.is_plural else "is"

    @property
    def a(self) -> str:
        """The article that goes before it, by its letters."""
        word = self.lower()
        return "an" if word[:1] in VOWELS and not word.startswith(SPOKEN_AS_CONSONANT) else "a"

    @property
    def s(self) -> str:
        """What makes it a plural where one or more are meant."""
        return "" if self.is_plural else "(s)"


# What each word that depends on a name may be, as a regular expression.
DEPENDENT: Final = {"a": "an?", "be": "(?:is|are)", "s": r"(?:\(s\)|(?<!\(s\)))"}
