"""Whether a Prefect server is kept: as Prefect itself finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.server import is_kept

KEPT = '[profiles.mine]\nPREFECT_API_URL = "http://127.0.0.1:4200/api"\n\n[profiles.none]\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("PREFECT_API_URL", "PREFECT_PROFILE", "PREFECT_PROFILES_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("profiles", "environment", "kept"),
    [
        (None, {}, False),
        ('active = "mine"\n' + KEPT, {}, True),
        ('active = "none"\n' + KEPT, {}, False),
        ('active = "gone"\n' + KEPT, {}, False),
        (KEPT, {}, False),
        ('active = "none"\n' + KEPT, {"PREFECT_PROFILE": "mine"}, True),
        ('active = "mine"\n' + KEPT, {"PREFECT_PROFILE": "none"}, False),
        (None, {"PREFECT_API_URL": "http://127.0.0.1:4200/api"}, True),
        (None, {"PREFECT_API_URL": ""}, False),
        ("no toml =", {}, False),
        ('active = "mine"\nprofiles = 3\n', {}, False),
    ],
)
def test_the_environment_or_the_active_profile_says_so(
    profiles: str | None, environment: dict[str, str], kept: bool, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if profiles is not None:
        (home / "profiles.toml").write_text(profiles)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert is_kept() is kept
