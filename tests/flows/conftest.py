"""An object store for the tests: a real server that speaks S3."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Where the server answers."""
    from moto.server import ThreadedMotoServer  # seconds, which few of these tests need

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def own_bucket(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty bucket of one's own; where it is and who may use it are in the environment."""
    name = f"of-{abs(hash(tmp_path))}"
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{name}", method="PUT")).close()  # noqa: S310
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(key, "test")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    return f"s3://{name}"
