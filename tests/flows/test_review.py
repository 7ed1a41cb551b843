"""From a build to its reviewers and back: the pack, the import, stage `review`, the release, and a rebuild."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from starlette.testclient import TestClient

from flows.cli.review import folder_of, import_review, pack_of, salt_of, serve
from flows.cli.trial import trial
from flows.orchestration.saved_build import save_if_successful
from flows.review_app.app import Pages
from flows.review_app.site import ReviewSite
from pipeline.core.errors import ConfigError, StoreError
from pipeline.core.parquet import read_table
from pipeline.core.video_spec import VideoSpec
from pipeline.engine.config import build_config
from pipeline.formats.images import decode_color
from pipeline.formats.videos import VideoFacts, video_facts
from pipeline.rendering.video import encode
from pipeline.review.database import ReviewDatabase
from pipeline.review.review_bundle import CATEGORY_CHECK
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.scoring.predictions import read_predictions
from pipeline.stages.builder import Builder
from pipeline.worlds.indoor.observe import visibility
from tests.builds import UNASKED, config_of, release_of, results_of, rows_of, whys
from tests.worlds.indoor.readers.test_scene_folders import write

pytestmark = pytest.mark.slow
SECTIONS: dict[str, Any] = {
    "generate": {"tasks": ["object_rel_distance", "object_abs_distance", "room_size_estimation"]}
}

BASE = "http://127.0.0.1:8765"
HERE: Any = ("127.0.0.1", 8765, True, True)  # a pack alone, without video


class Build:
    """A small build of metadata."""

    def __init__(self, folder: Path) -> None:
        self.out, self.meta = folder / "vsi", folder / "meta"
        self.meta.mkdir(parents=True)
        self.scenes = {plan.name: sample_scene(plan) for plan in PLANS}
        self.build()

    def build(self, **more: Any) -> Any:
        (self.meta / "made.json").write_text(json.dumps(self.scenes), encoding="utf-8")
        config = config_of(self.meta, **SECTIONS, **more)
        with save_if_successful(self.out, config, [], {"vsi_meta": self.meta}):
            pass
        return Builder(config, self.out).build()

    def pack(self) -> Any:
        return pack_of(self.out, "vsi", salt_of(self.out, make=True))

    def fill(self, rows: list[tuple[object, ...]]) -> Path:
        path = self.out.parent / "filled.csv"
        lines = ["id,reviewer,answer,reason,correction", *(",".join(map(str, row)) for row in rows)]
        path.write_text("\n".join(lines), encoding="utf-8")
        return path


@pytest.fixture
def made(tmp_path: Path) -> Build:
    return Build(tmp_path)


def test_without_a_review_the_card_says_so_and_nothing_runs_for_it(made: Build) -> None:
    card = (made.out / "release" / "README.md").read_text()
    assert "No human review took place." in card
    assert "## Human review" not in card
    made.pack()
    assert whys(made.build())["review"] == {"reused"}


def test_verdicts_come_into_the_release_with_agreement_and_a_rebuild_returns_what_it_changed(
    made: Build, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = made.pack()
    chosen = [i.id for i in pack.items if i.task == "object_rel_distance"][:5]
    number = next(i.id for i in pack.items if i.task == "object_abs_distance")
    truth = {i: pack.truths[i].truth for i in (*chosen, number)}
    wrong = {i: next(letter for letter in "ABCD" if letter != truth[i]) for i in chosen}
    rows: list[tuple[object, ...]] = []
    for name in ("ann", "bo"):
        rows += [(chosen[0], name, truth[chosen[0]], "", ""), (number, name, truth[number], "", "")]
        rows += [(chosen[1], name, wrong[chosen[1]], "wrong answer", wrong[chosen[1]])]
        rows += [(chosen[2], name, "", "invalid wording", "")]
    rows += [(i, "ann", truth[i], "", "") for i in chosen[3:]]
    rows += [(chosen[3], "bo", wrong[chosen[3]], "direction", ""), (chosen[4], "bo", wrong[chosen[4]], "", "")]
    before = release_of(made.out)
    assert import_review(made.out, made.fill(rows))
    assert "12 rows taken, 0 known already" in capsys.readouterr().out
    ann = {int(str(row.id)): row.reply or "" for row in read_predictions([made.out / "review/people_1.csv"]).rows}
    assert sorted(ann) == sorted({*chosen, number} - {chosen[2]}), "a flag without an answer is none"
    assert ann[chosen[1]].startswith(f"{wrong[chosen[1]]}. "), "the blind answer, with its words"
    assert float(ann[number]) == float(truth[number])
    outcome = Builder(config_of(made.meta, **SECTIONS), made.out).stage("review")
    assert whys(outcome)["review"] == {"asked"}
    reasons = whys(made.build())
    assert (reasons["review"], reasons["export"], reasons["select"]) == ({"reused"}, {"input"}, {"reused"})
    states = {row["id"]: row for row in rows_of(made.out / "release/review/test-00000-of-00001.parquet")}
    assert [states[i]["state"] for i in (*chosen, number)] == [
        "accepted",
        "corrected",
        "rejected",
        "disputed",
        "answered",
        "accepted",
    ]
    assert states[chosen[1]]["answer"] == wrong[chosen[1]]
    assert states[chosen[2]]["reasons"] == ["invalid_wording"]
    default = {row["id"]: row for row in rows_of(made.out / "release/data/test-00000-of-00001.parquet")}
    assert sorted(states) == sorted(default)
    from datasets import load_dataset  # it takes a second

    loaded = load_dataset(str(made.out / "release"), "accepted", split="test", cache_dir=str(made.out.parent / "hf"))
    accepted = {row["id"]: dict(row) for row in loaded}
    assert set(accepted) == {chosen[0], chosen[1], number}
    assert accepted[chosen[0]] == default[chosen[0]]
    assert accepted[chosen[1]] == default[chosen[1]] | {"ground_truth": wrong[chosen[1]]}
    card = (made.out / "release" / "README.md").read_text()
    assert "No human review took place." not in card
    assert "2 people answered questions" in card
    assert "| object_rel_distance | verdicts | 4 | 0.750 | 0.636 |" in card
    assert "| object_abs_distance | verdicts | 1 | 1.000 | n/a | n/a |" in card
    assert release_of(made.out).items() - before.items()
    # A corrected scene: what it changed is to be reviewed again, what it did not is still accepted.
    asked = next(item for item in pack.items if item.id == number)
    boxes = made.scenes[asked.scene.split("/")[1]]["object_bbox"]
    for place, own in enumerate(boxes.values()):  # some answers change and keep their question, others lose it
        own[0]["centroid"][0] += 0.2 * place
    made.build()
    new = made.pack()
    after = {row["id"]: row["state"] for row in rows_of(made.out / "release/review/test-00000-of-00001.parquet")}
    contents = {item.id: item.content for item in pack.items}
    changed = {item.id for item in new.items if item.id in contents and item.content != contents[item.id]}
    assert changed
    for item in {*chosen, number} & set(after):
        assert after[item] == ("stale" if item in changed else states[item]["state"])


def test_two_people_mend_a_question_from_a_wrong_option_to_the_released_row(made: Build) -> None:
    pack, salt = made.pack(), salt_of(made.out, make=True)
    item = next(i for i in pack.items if i.task == "object_rel_distance")
    truth = pack.truths[item.id].truth
    letter = next(option[0] for option in item.options if option[0] != truth)
    database = ReviewDatabase(made.out / "review" / "review.sqlite")
    app = Pages(ReviewSite("made", pack, database, made.out, salt), salt, None).app(only_loopback=True)
    at = f"/items/{item.id}"

    def sign_in(name: str) -> TestClient:
        page = TestClient(app, base_url=BASE, headers={"origin": BASE}, follow_redirects=False)
        page.post("/sign-in", data={"reviewer": name})
        return page

    def fields(page: TestClient) -> dict[str, str]:
        """All that the page's form of flags holds, as a browser would send it."""
        html = page.get(at).text
        found = {name: unescape(value) for name, value in re.findall(r'name="([\w-]+)"[^>]*? value="([^"]*)"', html)}
        wording = re.search(r'name="wording"[^>]*>([^<]*)<', html)
        return {**{k: v for k, v in found.items() if k not in {"answer", "reason"}}, "role": "review"} | (
            {"wording": unescape(wording[1])} if wording else {}
        )

    ann, bo = sign_in("ann"), sign_in("bo")
    assert "wording" not in fields(ann), "what may change is known after the answer"
    ann.post(f"{at}/answer", data={**fields(ann), "answer": truth})
    given = fields(ann) | {f"option-{letter}": "grand piano", "reason": "several_right"}
    refused = ann.post(f"{at}/flag", data={**given, f"option-{truth}": "flute"})
    assert (refused.status_code, f"Option {truth} is the reference answer" in refused.text) == (409, True)
    assert ann.post(f"{at}/flag", data=given).status_code == 303
    assert "a second reviewer is asked now" in ann.get(at).text
    assert bo.get("/next").headers["location"] == at, "a second opinion comes first"
    asked = bo.get(at).text
    assert "grand piano" in asked
    assert "ann" not in re.sub(r"<[^>]*>", " ", asked.replace("grand piano", "")).split(), "nobody says who proposed it"
    bo.post(f"{at}/answer", data={**fields(bo), "answer": truth})
    database.close()
    again = ReviewDatabase(made.out / "review" / "review.sqlite")  # after a restart it reads the same
    assert ReviewSite("made", pack, again, made.out, salt).view(item.id, "bo", "review").item.options != item.options
    again.close()
    assert import_review(made.out, None)
    made.build()
    release = made.out / "release"
    default = {row["id"]: row for row in rows_of(release / "data/test-00000-of-00001.parquet")}[item.id]
    row = {row["id"]: row for row in rows_of(release / "accepted/test-00000-of-00001.parquet")}[item.id]
    options = [f"{letter}. grand piano" if option[0] == letter else option for option in item.options]
    assert row == default | {"options": options}
    told = {row["id"]: row for row in rows_of(release / "review/test-00000-of-00001.parquet")}[item.id]
    assert (told["state"], told["mended_options"], told["reasons"]) == ("mended", options, ["several_right"])
    assert "| more than one option right | 1 | 1 | 0 | 0 |" in (release / "README.md").read_text()
    sheet = made.out / "review" / "verdicts.parquet"
    assert {(row["reviewer"], bool(row["mend"])) for row in rows_of(sheet)} == {
        ("ann", False),
        ("ann", True),
        ("bo", False),
    }
    (made.out / "review" / "review.sqlite").unlink()
    assert import_review(made.out, sheet), "a file of verdicts holds all of it"
    assert [row["mend"] for row in rows_of(sheet) if row["mend"]]


def test_rows_that_cannot_be_used_are_listed_and_the_others_taken(
    made: Build, capsys: pytest.CaptureFixture[str]
) -> None:
    item = made.pack().items[0].id
    assert not import_review(
        made.out, made.fill([(item, "ann", "", "other", ""), (item, "bo", "", "direction", ""), (7, "bo", "A", "", "")])
    )
    said = capsys.readouterr().out
    assert "Left out of" in said
    assert "this build has no question 7" in said
    assert [e.reviewer for e in ReviewDatabase(made.out / "review" / "review.sqlite").events()] == ["bo"]
    assert import_review(made.out, None)
    rows = rows_of(made.out / "review" / "verdicts.parquet")
    assert [(row["id"], row["reviewer"], row["reason"]) for row in rows] == [(item, "bo", "direction")]


def test_what_is_missing_or_damaged_is_named(made: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="holds no review: begin one with scan2qa review"):
        import_review(made.out, None)
    with pytest.raises(ConfigError, match="holds no build: build first"):
        serve(tmp_path / "nothing", *HERE)
    serve(made.out, *HERE)
    assert {path.name for path in (made.out / "review").iterdir()} == {
        *(
            "items.parquet",
            "truths.parquet",
            "maps.parquet",
            "sheet.csv",
            "label_studio.json",
            "label_studio.xml",
            "salt",
        )
    }
    import_review(made.out, None)
    (made.out / "review" / "salt").unlink()
    with pytest.raises(ConfigError, match="salt is missing, and verdicts are bound to it"):
        serve(made.out, *HERE)
    (made.out / "review" / "verdicts.parquet").write_bytes(b"no table")
    with pytest.raises(StoreError, match=r"the verdicts cannot be read .* import-review --from-page"):
        Builder(config_of(made.meta, **SECTIONS), made.out).stage("review")
    monkeypatch.setattr("flows.cli.review.OUTPUTS", made.out.parent)
    assert folder_of(None, None) == made.out
    (made.out.parent / "other" / "review").mkdir(parents=True)
    with pytest.raises(ConfigError, match="with a review: other, vsi"):
        folder_of(None, None)


def test_released_metadata_get_their_videos_and_what_shows_nothing_is_not_reviewed_unasked(made: Build) -> None:
    before = made.pack()
    for do in (lambda: serve(made.out, *HERE[:3], False), lambda: trial(made.out, 4, None)):
        with pytest.raises(ConfigError, match=r"Give the benchmark's videos, DIR/DATASET/SCENE\.mp4: .* --videos DIR"):
            do()
    first = before.items[0].scene
    path = made.out.parent / "videos" / f"{first}.mp4"
    path.parent.mkdir(parents=True)
    frames = (np.full((48, 64, 3), 8 * n % 256, dtype=np.uint8) for n in range(30))
    path.write_bytes(encode(frames, 30, 0, VideoSpec(size=(64, 48))).raw)
    made.build(videos=made.out.parent / "videos", video=True)
    after = made.pack()
    assert [replace(item, video=None) for item in after.items] == list(before.items)
    assert {(item.scene, item.video) for item in after.items if item.video} == {(first, f"{first}.mp4")}
    assert video_facts(made.out / "videos" / f"{first}.mp4") == VideoFacts(30.0, 30, 640, 480)
    with pytest.raises(ConfigError, match="have neither video nor picture"):  # those of the other scenes
        serve(made.out, *HERE[:3], False)
    trial(made.out, 4, None)
    assert {row["scene"] for row in csv.DictReader((made.out / "trial" / "key.csv").read_text().splitlines())} == {
        first
    }


def test_what_is_said_of_a_category_becomes_a_fix_and_then_a_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visibility, "SURFACE_FIT_MIN", 0.0)  # the film shows squares, and no room
    scenes, out = write(tmp_path / "scenes", name="hall"), tmp_path / "out"
    tasks = {"generate": {"tasks": ["object_size_estimation", "object_abs_distance"]}}
    coarse = {"indoor": {"frames_per_second": 5.0, "width": 80, "height": 60, "min_pixels": 5, "budgets": [16]}}
    given = {"build": "vsi", "benchmark": "vsi", "roots": {"scene": scenes}, "observe": coarse} | tasks | UNASKED
    config = build_config(given)
    with save_if_successful(out, config, [], {"scene": scenes}):
        pass
    Builder(config, out).build()
    salt = salt_of(out, make=True)
    assert not [i for i in pack_of(out, "vsi", salt).items if i.task == CATEGORY_CHECK]
    pack = pack_of(out, "vsi", salt, checked=True)
    assert pack_of(out, "vsi", salt) == pack, "as it was made last"
    checks = {pack.truths[i.id].operands[0]: i for i in pack.items if i.task == CATEGORY_CHECK}
    named = {name for t in pack.truths.values() for name in t.operands}
    assert set(checks) == named == {"refrigerator", "sofa", "table"}
    assert [i.task == CATEGORY_CHECK for i in pack.items] == sorted(i.task == CATEGORY_CHECK for i in pack.items)[::-1]
    for item in checks.values():
        assert item.video == "scene/hall.mp4"
        assert all(decode_color((out / name).read_bytes()) is not None for name in item.pictures)
        assert len(item.pictures) >= 2
        assert "Picture 1 has a box around one thing" in item.question
    database = ReviewDatabase(out / "review" / "review.sqlite")
    site = ReviewSite("made", pack, database, out, salt)
    for reviewer in ("ann", "bo"):
        for name, letter in {"sofa": "C", "table": "A", "refrigerator": "B" if reviewer == "ann" else "D"}.items():
            site.answer(checks[name].id, reviewer, "review", checks[name].content, letter)
    own = site.view(checks["sofa"].id, "ann", "review").own_verdict
    assert own is not None
    assert (own.decision, own.reason, own.correction) == ("flag", "bad_metadata", "C")
    database.close()
    assert import_review(out, None)
    assert import_review(out, None), "nothing is added twice"
    file = out / "review" / "fixes" / "scene.yaml"
    entries = {e["of"]: e for e in yaml.safe_load(file.read_text())}
    assert {name: (e["target"], e["expect"], e["set"]) for name, e in entries.items()} == {
        "sofa": ("seen", 1, "others_in_view"), "table": ("seen", 1, "right")
    }  # fmt: skip
    assert {e["who"] for e in entries.values()} == {"2 reviewers"}, "names stay in the build"
    assert rows_of(out / "review" / "verdicts.parquet") == []
    outcome = Builder(build_config(given | {"fixes": {"folder": file.parent}}), out).build()
    rows = read_table(results_of(out, outcome)["generate", "scene/hall"]).to_pylist()
    assert "sofa" not in {name for row in rows if row["reason"] is None for name in row["operands"]}
    assert any((row["reason"], row["operands"]) == ("others_in_view", ["sofa"]) for row in rows)
