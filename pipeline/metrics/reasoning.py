"""What a model thought before it answered is no part of the answer."""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|analysis|scratchpad)"
# Opening and closing tags as today's models write them: <think>, [THINK] (Mistral), ◁think▷ (Kimi),
# <|begin_of_thought|> (Sky-T1), <|channel|>analysis<|message|> … <|end|> (gpt-oss without its template).
_OPEN: Final = rf"(?:[<\[◁]{_NAMES}[>\]▷]|<\|begin_of_thought\|>|<\|channel\|>(?:analysis|commentary)<\|message\|>)"
_CLOSE: Final = rf"(?:[<\[◁]/{_NAMES}[>\]▷]|<\|end_of_thought\|>|<\|end\|>(?=\s*<\|start\|>))"
_LAST_CLOSE: Final = re.compile(rf".*{_CLOSE}", re.DOTALL | re.IGNORECASE)
_UNCLOSED: Final = re.compile(rf"{_OPEN}.*", re.DOTALL | re.IGNORECASE)
_FRAME: Final = re.compile(
    r"<\|start\|>assistant|<\|channel\|>final<\|message\|>|<\|(?:return|end|im_end|eot_id)\|>"
    r"|<\|(?:begin|end)_of_solution\|>"
)


def without_reasoning(reply: str) -> str:
    """The reply behind the last closing tag of a thought, also where the server swallowed the opening one.

    What follows an opening tag that is never closed was cut off while thinking, and is no answer.
    """
    last = _LAST_CLOSE.match(reply)
    said = reply[last.end() :] if last else reply
    return _FRAME.sub(" ", _UNCLOSED.sub(" ", said))
