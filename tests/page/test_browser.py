"""The page in Debian's Chromium, as reviewers use it: keys, blind answers, flags, adjudication, and who sees badly."""

import random
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import krippendorff
import numpy as np
import pytest
from playwright.sync_api import Browser, Dialog, Page, Route, expect
from sklearn.metrics import cohen_kappa_score

from pipeline.review.review_bundle import ReviewBundle, ReviewTruth
from pipeline.review.verdicts import verdicts_of
from tests.environment import times
from tests.page.serving import VIDEO, free_port, served, write_video
from tests.review.made import EVIDENCE_NAME, PAYLOAD, pack_of, question, rooms

pytestmark = pytest.mark.slow

DESKTOP: Final = {"width": 1280, "height": 900}
PHONE: Final = {"width": 390, "height": 844}
WCAG_AA: Final = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], "resultTypes": ["violations"]}
AXE: Final = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
VIOLATIONS: Final = "options => axe.run(options).then(r => r.violations.map(v => v.id + ' ' + v.nodes[0].html))"
FRAMES_ASKED: Final = """() => new Promise(done => {
  let asked = 0;
  const ask = window.requestAnimationFrame;
  window.requestAnimationFrame = draw => { asked += 1; return ask(draw); };
  setTimeout(() => { window.requestAnimationFrame = ask; done(asked); }, 300);
})"""
WIDE: Final = "7531"  # a truth that stands nowhere else


@pytest.fixture(scope="module")
def pack() -> ReviewBundle:
    rows = rooms(8)
    rows[2]["ground_truth"] = WIDE
    return pack_of(rows, VIDEO)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_video(tmp_path / "vsi")
    return tmp_path / "vsi"


def opened(chromium: Browser, base: str, name: str, **more: Any) -> Page:
    page = chromium.new_context(**{"base_url": base, "viewport": DESKTOP} | more).new_page()
    page.goto("/")
    page.get_by_label("Name").fill(name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=f"Hello {name}")).to_be_visible()
    page.wait_for_load_state()
    return page


def test_the_truth_is_in_nothing_that_the_server_sends_before_the_answer(
    chromium: Browser, folder: Path, pack: ReviewBundle
) -> None:
    with served(folder, pack) as site:
        page = opened(chromium, site.base, "ann")
        parts: list[int] = []
        read: list[str] = []

        def watch(route: Route) -> None:
            """Every byte on its way to the browser."""
            response = route.fetch()
            parts.append(response.status)
            read.append(f"{response.url}\n{response.headers}\n{response.body().decode('latin-1')}")
            route.fulfill(response=response)

        page.route("**/*", watch)
        addresses = ("/items/3", "/items/3?role=adjudicate", "/", "/items/3")
        for address in addresses:
            page.goto(address)
            if page.locator("video").count():
                page.wait_for_function("document.getElementById('video').readyState >= 1")
                page.keyboard.press("Space")
                page.keyboard.press("ArrowRight")
            page.wait_for_load_state("networkidle")
        assert len(read) > 2 * len(addresses)
        assert 206 in parts, "the video is read in parts"
        for text in read:
            assert WIDE not in text, text[:300]
            assert EVIDENCE_NAME not in text, text[:300]
        page.unroute("**/*")
        # Then, by keys alone: a number, the truth, what it rests on, the next question.
        page.keyboard.type("8000")
        page.keyboard.press("Enter")
        expect(page.locator("#verdict")).to_contain_text("agrees with the reference")
        expect(page.locator(".numbers")).to_contain_text(WIDE)
        expect(page.locator(".evidence")).to_contain_text(EVIDENCE_NAME)
        assert [v.decision for v in verdicts_of(site.database.events())] == ["accept"]
        page.keyboard.press("n")
        expect(page).not_to_have_url(f"{site.base}/items/3")


def test_answer_reveal_seek_flag_and_adjudicate_by_keys_and_go_on_after_a_restart(
    chromium: Browser, folder: Path, pack: ReviewBundle
) -> None:
    port = free_port()
    with served(folder, pack, port) as site:
        ann, bo = (opened(chromium, site.base, name) for name in ("ann", "bo"))
        problems: list[str] = []
        for page in (ann, bo):
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
            page.keyboard.press("n")
            page.wait_for_url("**/items/1")
        ann.keyboard.press("b")  # the truth
        expect(ann.locator("#verdict")).to_contain_text("You confirmed it: reference is correct")
        ann.wait_for_function("document.getElementById('video').readyState >= 1")
        bo.keyboard.press("3")  # C
        expect(bo.locator("#verdict")).to_contain_text("Is the reference answer right after all?")
        bo.wait_for_function("document.getElementById('video').readyState >= 1")
        bo.keyboard.press("ArrowRight")
        assert bo.evaluate("document.getElementById('video').currentTime") == pytest.approx(2.0)
        bo.get_by_role("button", name="0:01.2").or_(bo.locator("[data-seek]")).first.click()
        bo.wait_for_function("document.getElementById('video').currentTime < 2")
        assert bo.locator(".map .here").get_attribute("class") == "here on"
        assert bo.evaluate(FRAMES_ASKED) == 0  # a page at rest draws nothing
        bo.evaluate("document.getElementById('video').play()")
        assert bo.evaluate(FRAMES_ASKED) > 0
        bo.evaluate("document.getElementById('video').pause()")
    # The server is gone: what is done now is not lost in silence.
    bo.keyboard.press("f")
    bo.get_by_label("Right answer").fill("C")
    bo.get_by_role("button", name="wrong answer").click()
    expect(bo.get_by_role("alert")).to_contain_text("nothing was stored")
    with served(folder, pack, port) as site:
        bo.get_by_role("button", name="wrong answer").click()
        expect(bo.locator("#verdict")).to_contain_text("You flagged it: wrong answer; right is C.")
        ann.goto("/next")
        assert ann.url.endswith("/items/2")  # where she was
        cy = opened(chromium, site.base, "cy")
        cy.get_by_role("link", name="Adjudicate").first.click()
        cy.wait_for_url("**/items/1?role=adjudicate")
        cy.keyboard.press("a")
        expect(cy.locator(".others")).to_contain_text("bo answered C: flagged, wrong answer, right is C")
        cy.keyboard.press("y")
        expect(cy.locator("#verdict")).to_contain_text("You confirmed it: reference is correct")
        assert [v.label for v in verdicts_of(site.database.events())] == ["accept", "correct C", "accept"]
    # Nothing went wrong, nor against the page's own rules, but the request while no server was there.
    assert [said for said in problems if "ERR_CONNECTION_REFUSED" not in said and not said.startswith("htmx:")] == []


def test_one_key_flags_undo_takes_back_and_what_is_not_sent_is_asked_about(
    chromium: Browser, folder: Path, pack: ReviewBundle
) -> None:
    with served(folder, pack) as site:
        page = opened(chromium, site.base, "ann")
        asked: list[str] = []
        answers = iter([False, False, True])

        def ask(dialog: Dialog) -> None:
            asked.append(dialog.message)
            dialog.accept() if next(answers) else dialog.dismiss()

        page.on("dialog", ask)

        def said() -> list[tuple[str | None, ...]]:
            return [(v.answer, v.decision, v.reason, v.note) for v in verdicts_of(site.database.events())]

        page.goto("/items/1")
        for key in "f2":
            page.keyboard.press(key)
        expect(page.locator("#verdict")).to_contain_text("You flagged it without an answer: wrong answer")
        page.keyboard.press("b")  # the truth: the flag stays
        expect(page.locator("#verdict")).to_contain_text("agrees with the reference. You flagged it: wrong answer.")
        assert said() == [("B", "flag", "wrong_answer", None)]
        page.keyboard.press("u")
        expect(page.locator("#verdict")).to_contain_text("Is the reference answer right after all?")
        page.keyboard.press("y")
        expect(page.locator("#verdict")).to_contain_text("You confirmed it")
        for key in "f0":  # "other" wants a note, and waits for it
            page.keyboard.press(key)
        page.keyboard.type("odd 2")
        page.get_by_role("link", name="Next").click()
        page.get_by_role("link", name="Overview").click()
        assert (len(asked), page.url) == (2, f"{site.base}/items/1")
        page.get_by_label("Right answer").press("Enter")  # chooses no reason
        assert said() == [("B", "accept", None, None)]
        page.get_by_label("Note").press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#verdict")).to_contain_text("You flagged it: other")
        page.keyboard.press("f")
        page.get_by_label("Right answer").fill("C")
        page.keyboard.press("Enter")  # goes with the flag that there is
        expect(page.locator("#verdict")).to_contain_text("right is C")
        assert said() == [("B", "flag", "other", "odd 2")]
        page.keyboard.press("f")
        page.get_by_label("Note").fill("never sent")
        page.get_by_label("Note").press("Escape")
        page.keyboard.press("n")
        expect(page).not_to_have_url(f"{site.base}/items/1")
        assert asked == ["What you typed is not stored yet. Go on without it?"] * 3
        assert said() == [("B", "flag", "other", "odd 2")]


@dataclass
class Reviewer:
    """Works by keys alone, or by touch on a phone; keeps what it did for itself."""

    name: str
    page: Page
    rng: random.Random
    truths: Mapping[int, ReviewTruth]
    told: dict[tuple[int, str], tuple[str | None, str | None]]  # item, name -> answer, label
    by_keys: bool
    leaves: bool  # after an answer that it has not judged

    def act(self, key: str, selector: str) -> None:
        if self.by_keys:
            self.page.keyboard.press(key)
        else:
            self.page.locator(selector).tap()

    def work(self) -> Iterator[None]:
        """One action after the other, until nothing is left."""
        self.act("n", "#next")
        self.page.wait_for_url("**/items/*")
        while "/items/" in self.page.url:
            item, address = int(self.page.url.rpartition("/")[2]), self.page.url
            told = yield from self.judge(item)
            self.told[item, self.name] = told
            if told[1] is None:
                return
            self.act("n", "#next")
            expect(self.page).not_to_have_url(address)
            self.page.wait_for_load_state()  # keys work from then on
            yield

    def judge(self, item: int) -> Generator[None, None, tuple[str | None, str | None]]:
        truth, plan = self.truths[item].truth, self.rng.choice(("right", "yes", "no", "flag", "undone"))
        verdict, right = self.page.locator("#verdict"), plan in {"right", "undone"} and not self.leaves
        answer = None if plan == "flag" and not self.leaves else self.answer(truth, right)
        if answer is not None:
            expect(verdict).to_contain_text("agrees" if right else "differs")
            yield
            if self.leaves:
                return answer, None
        if plan == "yes":
            self.act("y", "#accept")
            expect(verdict).to_contain_text("You confirmed it")
        elif plan != "right":
            self.act("f", "#flagging > summary")
            reason = self.rng.randint(1, 9)
            self.act(str(reason), f'#flagging [data-digit="{reason}"]')
            expect(verdict).to_contain_text("You flagged it")
            yield
        if plan == "undone":
            self.act("u", "#undo")
            expect(verdict).to_contain_text("You confirmed it")
        return answer, "reject" if plan in {"no", "flag"} else "accept"

    def answer(self, truth: str, right: bool) -> str:
        number = self.page.locator("#number")
        if number.count():
            given = truth if right else "9"
            self.page.keyboard.type(given) if self.by_keys else number.fill(given)
            self.act("Enter", "form.answers button")
        else:
            given = truth if right else "ABCD"[("ABCD".index(truth) + 1) % 4]
            self.act(given.lower(), f'[data-key="{given.lower()}"]')
        return given


def test_reviewers_by_keys_and_on_phones_lose_no_verdict_and_agree_as_libraries_say(
    chromium: Browser, folder: Path
) -> None:
    n_people = times(4, 20)
    pack, told, people = pack_of(rooms(2 * n_people), VIDEO), {}, []
    with served(folder, pack) as site:
        for n in range(n_people):
            name, rng, by_keys = f"reviewer {n:02}", random.Random(n), n % 2 == 0  # noqa: S311
            page = opened(chromium, site.base, name, **({} if by_keys else {"viewport": PHONE, "has_touch": True}))
            people.append(Reviewer(name, page, rng, pack.truths, told, by_keys, leaves=n % 5 == 0).work())
        rng = random.Random(0)  # noqa: S311
        while people:  # whoever is next: so they work at once
            person = rng.choice(people)
            if next(person, people) is people:
                people.remove(person)
        stored = {(v.item, v.reviewer): (v.answer, v.label) for v in verdicts_of(site.database.events())}
        assert stored == told
        assert sum(label is None for _, label in told.values()) == -(-n_people // 5)
        page.goto("/")
        page.set_viewport_size({"width": 1024, "height": 800})  # every column is there
        assert page.locator(".scroll").evaluate_all("all => all.map(e => e.scrollWidth - e.clientWidth)") == [0, 0, 0]
        shown = {tuple(row[:2]): row[2:] for row in page.locator("section:last-child tr").evaluate_all(CELLS)}
    pairs = {
        task: [
            [own[1:] for own in sorted((name, *told[i, name]) for i, name in told if i == item.id) if own[2]]
            for item in pack.items
            if task in {item.task, "all"}
        ]
        for task in ("object_rel_distance", "all")
    }
    for task, about, column in (
        ("object_rel_distance", "verdicts", 1),
        ("object_rel_distance", "answers", 0),
        ("all", "verdicts", 1),
    ):
        values = [[v for own in unit if (v := own[column]) is not None] for unit in pairs[task]]
        units = [unit for unit in values if len(unit) > 1]
        one, other = ([unit[n] for unit in units] for n in (0, 1))
        codes = np.array([["ABCDacceptreject".index(unit[n]) for unit in units] for n in (0, 1)])
        alpha = krippendorff.alpha(codes, level_of_measurement="nominal")
        figures = (np.mean(np.array(one) == other), cohen_kappa_score(one, other), alpha)
        assert shown[task, about] == [str(len(units)), *(f"{figure:.3f}" for figure in figures)]


CELLS: Final = "rows => rows.map(row => [...row.cells].map(cell => cell.textContent.trim()))"


def test_ten_options_have_ten_keys_beside_that_of_flags_and_numbers_fit_a_phone(
    chromium: Browser, folder: Path
) -> None:
    options = [f"{letter}. {letter.lower() * 3}" for letter in "ABCDEFGHIJ"]
    with served(folder, pack_of([question(n, options=options, ground_truth="FJ"[n]) for n in (0, 1)])) as site:
        page = opened(chromium, site.base, "ann", viewport=PHONE)
        for number, key, letter in ((0, "6", "F"), (1, "0", "J")):
            page.goto(f"/items/{number}")
            expect(page.locator(".option").filter(has=page.locator("kbd", has_text=key))).to_contain_text(letter)
            page.keyboard.press("f")
            assert page.locator("#flagging").get_attribute("open") is not None
            page.keyboard.press("f")
            page.keyboard.press(key)
            expect(page.locator("#verdict")).to_contain_text("agrees with the reference")
        assert [(v.answer, v.decision) for v in verdicts_of(site.database.events())] == [
            ("F", "accept"),
            ("J", "accept"),
        ]
        assert page.locator(".evidence .scroll").evaluate("e => e.scrollWidth - e.clientWidth") == 0


def test_text_of_others_runs_nowhere(chromium: Browser, folder: Path, pack: ReviewBundle) -> None:
    with served(folder, pack) as site:
        ann = opened(chromium, site.base, "<b onclick=alert(1)>ann")
        ann.goto("/items/2")
        ann.locator("summary", has_text="Flag").click()
        ann.get_by_text("other, with a note").click()
        expect(ann.get_by_role("alert")).to_contain_text("Say in the note what is wrong")
        ann.keyboard.insert_text(PAYLOAD)  # where the cursor is now
        ann.get_by_role("button", name="Flag as other, with this note").click()
        expect(ann.get_by_text("You flagged it without an answer: other")).to_be_visible()
        bo = opened(chromium, site.base, "bo")
        bo.goto("/items/2")
        bo.keyboard.press("c")
        expect(bo.locator("#verdict")).to_be_visible()
        cy = opened(chromium, site.base, "cy")
        cy.goto("/items/2?role=adjudicate")
        cy.keyboard.press("c")
        expect(cy.locator(".others")).to_contain_text(PAYLOAD)
        for page in (ann, bo, cy):
            for path in ("", "/", "/items/2"):
                if path:
                    page.goto(path)
                assert "run" not in page.title().split()
                assert page.locator("main script, main img, main b[onclick]").count() == 0
            page.goto("/items/2")
            assert PAYLOAD in (page.locator("h1").text_content() or "")


def test_every_page_passes_wcag_aa_in_light_on_a_desktop_and_in_dark_on_a_phone(
    chromium: Browser, folder: Path, pack: ReviewBundle
) -> None:
    with served(folder, pack) as site:
        page = opened(chromium, site.base, "ann")
        other = opened(chromium, site.base, "bo")
        for item, letter in ((1, "c"), (4, "a")):
            other.goto(f"/items/{item}")
            other.keyboard.press(letter)
            expect(other.locator("#verdict")).to_be_visible()
        steps: dict[str, Any] = {
            "overview": lambda: page.goto("/"),
            "question": lambda: page.goto("/items/1"),
            "answered": lambda: page.keyboard.press("b"),
            "flagging": lambda: page.keyboard.press("f"),
            "adjudication": lambda: page.goto("/items/1?role=adjudicate"),
            "number": lambda: page.goto("/items/3"),
            "sign in": lambda: (page.context.clear_cookies(), page.goto("/")),
        }
        found = []
        for name, step in steps.items():
            step()
            if name == "answered":
                expect(page.locator("#verdict")).to_be_visible()
            page.evaluate(AXE)
            for size, scheme in ((DESKTOP, "light"), (PHONE, "dark")):  # no rule is about both
                page.set_viewport_size(size)  # type: ignore[arg-type]
                page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
                violations = page.evaluate(VIOLATIONS, WCAG_AA)
                found += [f"{name}, {scheme}, {size['width']}: {violation}" for violation in violations]
                wide = page.evaluate("document.documentElement.scrollWidth")
                found += [f"{name} is {wide} wide"] if wide > size["width"] else []
        assert found == []
