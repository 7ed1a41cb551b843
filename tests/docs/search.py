"""Checks that each question of a user finds its page on the built site: python -m tests.docs.search

By the site's own search, in Chromium: among the first three hits; and by one click from the start page.
"""

import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from typing import Final

from playwright.sync_api import Page, sync_playwright

from tests.builds import REPOSITORY
from tests.page.conftest import ARGUMENTS, CHROMIUM

SITE: Final = REPOSITORY / "outputs" / "docs" / version("scan2qa")
FIRST: Final = 3
QUESTIONS: Final = {
    "how do I fix a wrong count": "maintain/fixes.html",
    "my scans are from a phone": "build/phone-captures.html",
    "why was this question dropped": "review/gallery.html",
    "how do I score my model": "evaluate/score.html",
    "add a reader": "extend/reader.html",
    "run every night": "maintain/scheduling.html",
    "two machines": "maintain/several-machines.html",
    "which frames did the model see": "evaluate/frames.html",
    "publish": "maintain/publish.html",
    "train data": "train/training-data.html",
    "what does this column mean": "reference/columns.html",
    "is this question guessable": "build/blind-filtering.html",
}
HITS: Final = """() => [...new Set([...document.querySelectorAll(".md-search-result__item > a")]
    .map(hit => new URL(hit.href).pathname.slice(1)))]"""


class Silent(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


def hits(page: Page, question: str) -> list[str]:
    """The pages that the site's search gives for a question, the best first."""
    box = page.locator("[data-md-component=search-query]")
    box.click()
    for text in ("", question):  # at once: hits of a question half typed may stay for a while too
        box.fill(text)
        box.press("End")  # the site listens to keys
        page.wait_for_function(f"({HITS})().length {'> 0' if text else '== 0'}")
    found: list[str] = page.evaluate(HITS)
    return found


def main() -> None:
    """Prints the hits of each question, and ends with 1 where its page is not among the first."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    lost = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/index.html")
        for question, target in QUESTIONS.items():
            found = hits(page, question)
            if target not in found[:FIRST]:
                lost.append(
                    f"{question!r} finds {', '.join(found[:FIRST])} before {target}: mend its title or its headings"
                )
            if not page.locator(f"article a[href='{target}']").count():
                lost.append(f"docs/index.md has no link to {target}")
            print(f"{question:32} {target:32} {found.index(target) + 1 if target in found else '-'}")
        browser.close()
    server.shutdown()
    if lost:
        sys.exit("\n".join(lost))


if __name__ == "__main__":
    main()
