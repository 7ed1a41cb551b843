"""llama.cpp's own HTTP server with the embedded weights, in a process of its own: nobody here wrote what it answers.

``python -m tests.llm.llama_server KEY`` prints its address and serves until its input is closed.
"""

import contextlib
import sys
from collections.abc import Iterator
from subprocess import DEVNULL, PIPE, Popen

from pipeline.llm.embedded import packaged_weights

CONTEXT_TOKENS = 1024


@contextlib.contextmanager
def serving(key: str) -> Iterator[str]:
    """The address of a server, until the end of the block."""
    command = [sys.executable, "-m", "tests.llm.llama_server", key]
    with Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def main(key: str) -> None:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(packaged_weights())
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.n_parallel = 1
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [key]
    parameters.ui = False
    parameters.warmup = False
    parameters.verbosity = -1
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
