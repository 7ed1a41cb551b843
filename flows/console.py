"""Where the command prints, and the one clear line that it says for an error. Starts in a moment: rich and no more."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

PLAIN_WIDTH = 130  # where there is no terminal to ask

console = Console()
if not console.is_terminal:
    console = Console(width=PLAIN_WIDTH)
errors = Console(stderr=True)


def show_error(error: Exception) -> None:
    """An error made on purpose, on one line."""
    errors.print(f"[red]scan2qa:[/red] {escape(' '.join(str(error).split()))}", highlight=False, soft_wrap=True)
