"""How two evaluation kits read a reply, written again from their code; nothing here imports the product.

VLMEvalKit: ``can_infer`` of vlmeval/utils/matching_util.py for letters and ``can_match_na`` of
vlmeval/dataset/utils/spatial_bench/matching_func.py for numbers (as packaged in ms-vlmeval 0.0.20).
lmms-eval 0.7.3: ``fuzzy_matching`` and ``extract_number`` of lmms_eval/tasks/vsibench/utils.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

# fmt: off
SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
# fmt: on
WORDS = (
    {word: n for n, word in enumerate(SMALL)}
    | {word: 10 * n for n, word in enumerate(TENS, 2)}
    | {"hundred": 100, "thousand": 1000}
)
REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
ANY_NUMBER = re.compile(r"[-+]?(?:\d*\.\d+|\d+)(?:[eE][-+]?\d+)?")
TAGGED = re.compile(
    rf"<\s*answer\b[^>]*>\s*({ANY_NUMBER.pattern})(?:[^\d<][^<]*)?<\s*/\s*answer\s*>", re.IGNORECASE | re.DOTALL
)


def vlmeval_letter(answer: str, choices: Mapping[str, str]) -> str | None:
    """``can_infer``: the letter, "Z" for a refusal, None where the kit asks a judge model."""
    return _vlmeval_option(answer, choices) or _vlmeval_text(answer, choices)


def _vlmeval_option(answer: str, choices: Mapping[str, str]) -> str | None:
    if "Failed to obtain answer via API" in answer:
        return None
    if any(refusal in answer for refusal in REFUSALS):
        return "Z"
    words = answer.translate(dict.fromkeys(map(ord, ".()[],:;!*#{}"), " ")).split()
    named = [letter for letter in choices if letter in words]
    if len(named) == 1:
        return named[0] if words.index(named[0]) > len(words) - 5 else None
    return "Z" if not named and "Z" in words else None


def _vlmeval_text(answer: str, choices: Mapping[str, str]) -> str | None:
    if len(answer) > 2 * sum(len(text) for text in choices.values()):
        return None
    named = [letter for letter, text in choices.items() if text.lower() in answer.lower()]
    return named[0] if len(named) == 1 else None


def vlmeval_number(answer: str) -> float | None:
    """``can_match_na``: what stands in <answer>, else the last number behind the thoughts, else the last of all."""
    text = answer
    if text.strip().startswith("[") and text.strip().endswith("]"):
        try:
            listed = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return None
        text = str(listed[0]) if isinstance(listed, list) and listed else text
    text = re.sub("[\u200b\u200c\u200d\ufeff]", "", text.strip())
    words = re.compile(r"\b(" + "|".join(SMALL) + r")\b", re.IGNORECASE)
    text = words.sub(lambda match: str(WORDS[match[1].lower()]), text)
    tagged = TAGGED.search(text)
    if tagged:
        return float(tagged[1])
    tail = text
    for tag in (r"</\s*think\s*>", r"<\s*think\s*>"):
        ends = list(re.finditer(tag, text, re.IGNORECASE))
        if ends:
            tail = text[ends[-1].end() :]
            break
    numbers = ANY_NUMBER.findall(tail) or ANY_NUMBER.findall(text)
    return float(numbers[-1]) if numbers else None


def lmms_letter(answer: str) -> str:
    """``fuzzy_matching``: what stands before the first blank, without trailing dots; compared without case."""
    return answer.split(" ", maxsplit=1)[0].rstrip(".").strip().upper()


def lmms_number(answer: str) -> float | None:
    """``extract_number``: the first number, in digits or in English words, whichever comes first."""
    text = answer.strip().lower()
    digits = re.search(r"-?\d+(?:\.\d+)?", text)
    run: list[str] = []
    start = None
    for match in re.finditer(r"[a-z]+", text):
        if match[0] in WORDS:
            start = match.start() if start is None else start
            run.append(match[0])
        elif start is not None and match[0] != "and":
            break
    if digits and (start is None or digits.start() < start):
        return float(digits[0])
    if start is None:
        return None
    total = current = 0
    for word in run:
        if word == "hundred":
            current = max(current, 1) * 100
        elif word == "thousand":
            total, current = total + max(current, 1) * 1000, 0
        else:
            current += WORDS[word]
    return float(total + current)
