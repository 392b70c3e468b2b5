"""The model server as a program: an OpenAI-compatible /v1/embeddings on this machine.

Ends cleanly on SIGTERM and Ctrl-C, and with its parent if asked to.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from local.files import write_text
from local.model.faults import FaultKind

if TYPE_CHECKING:
    from local.model.server import ModelServer

_LOOK_AT_PARENT_SECONDS = 0.5
_EXAMPLES = """\
examples:
  python -m local.model_server --vectors minilm --port 8080
  python -m local.model_server --port 0 --port-file model.port --die-with-parent

  OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=any python your_program.py

  the next three requests answer 429, then a fifth of all answers 500, half a second late:
  curl -X PUT http://127.0.0.1:8080/faults -d '[
    {"kind": "rate_limited", "requests": 3, "retry_after": "seconds", "seconds": 2},
    {"kind": "latency", "seconds": 0.5},
    {"kind": "server_error", "share": 0.2, "seed": 7}]'
  curl http://127.0.0.1:8080/faults             what is planned, and how often it was met
  curl -X DELETE http://127.0.0.1:8080/faults   heal
  curl http://127.0.0.1:8080/counts             requests, tokens, inputs paid more than once

kinds of faults:
"""


def main(arguments: list[str] | None = None) -> int:
    """Serve until told to end; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        server = _server(options)
    except OSError as error:
        print(f"The model server cannot start: {error}", file=sys.stderr)
        return 1
    with server:
        print(f"Model server ({options.vectors}) listens on {server.url}", flush=True)
        if options.port_file is not None:
            write_text(options.port_file, f"{server.port}\n")
        _wait_for_end(with_parent=options.die_with_parent)
    return 0


def _parser() -> argparse.ArgumentParser:
    kinds = "\n".join(f"  {kind}" for kind in FaultKind)
    parser = argparse.ArgumentParser(
        prog="python -m local.model_server",
        description="Serve OpenAI-compatible embeddings on 127.0.0.1.",
        epilog=_EXAMPLES + kinds,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--vectors",
        choices=("hashed", "minilm"),
        default="hashed",
        help="model (default: %(default)s)",
    )
    add("--weights", type=Path, help="folder of the minilm weights (default: installed package)")
    add("--port", type=int, default=0, help="port to listen on; 0 takes a free one (default)")
    add("--port-file", type=Path, help="write the port to this file once requests are answered")
    add("--key", help="refuse requests without this key (default: any key will do)")
    add("--requests-per-minute", type=_positive, help="rate limit, told in OpenAI's headers")
    add("--tokens-per-minute", type=_positive, help="rate limit, told in OpenAI's headers")
    add("--die-with-parent", action="store_true", help="end when the starting process has ended")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not at least 1")
    return number


def _server(options: argparse.Namespace) -> ModelServer:
    # Each request is worked by one thread of ours. Threads of the matrix library on top make
    # it three times slower on a busy machine, and they are only to be had off before numpy is
    # imported, which is why the import stands here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from local.model.server import ModelServer

    return ModelServer(
        options.vectors,
        weights=options.weights,
        port=options.port,
        key=options.key,
        requests_per_minute=options.requests_per_minute,
        tokens_per_minute=options.tokens_per_minute,
    )


def _wait_for_end(*, with_parent: bool) -> None:
    """Wait for SIGTERM or SIGINT, or for the end of the parent."""
    parent = os.getppid()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        # A handler may run while a lock is held, so it does nothing: the byte that Python
        # writes on a signal is what ends the wait.
        theirs.setblocking(False)
        signal.set_wakeup_fd(theirs.fileno())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        while not select.select([ours], [], [], _LOOK_AT_PARENT_SECONDS)[0]:
            if with_parent and os.getppid() != parent:
                break
        signal.set_wakeup_fd(-1)


if __name__ == "__main__":
    sys.exit(main())
