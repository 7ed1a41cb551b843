"""Reviewers at once, and a server that is killed: `tests.bench.reviewers`, short."""

import logging
import socket
from pathlib import Path

import pytest

from flows.review_app import app
from tests.bench.reviewers import check, run
from tests.page.serving import served


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_doubled_when_the_server_is_killed(tmp_path: Path) -> None:
    said = run(tmp_path, 4.0, reviewers=6, items=60)
    assert said.broken > 0, "the kill was noticed"
    assert len(said.acknowledged) > 10
    assert check(tmp_path, said) == []


def test_half_a_request_is_cut_after_a_while_and_whole_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its beginning, its head without the body, or the second on a line; nothing is said of them."""
    monkeypatch.setattr(app, "WHOLE_WITHIN_S", 0.2)
    whole = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    head = b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 9\r\n"
    form = head + b"Content-Type: application/x-www-form-urlencoded\r\n\r\nreviewe"
    told: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = told.append  # type: ignore[method-assign]
    with served(tmp_path) as page:
        logging.getLogger("uvicorn.error").addHandler(handler)
        place = ("127.0.0.1", int(page.base.rpartition(":")[2]))
        for sent, answers in ((b"", 0), (whole[:20], 0), (form, 0), (whole + whole[:20], 1), (form + b"r=", 1)):
            with socket.create_connection(place, timeout=10) as line:
                line.sendall(sent)
                found = b""
                while part := line.recv(2**16):
                    found += part
                    if sent.endswith(b"r="):
                        break
            assert found.count(b"HTTP/1.1 ") == answers, sent
    logging.getLogger("uvicorn.error").removeHandler(handler)
    assert [record.getMessage() for record in told if record.exc_info] == []
