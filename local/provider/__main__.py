"""The model server as a program: an OpenAI-compatible /v1/embeddings on this machine.

Ends cleanly on SIGTERM and Ctrl-C.
"""

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from local.files import write_text
from local.provider.faults import FaultKind

if TYPE_CHECKING:
    from local.provider.server import ModelServer

END = {signal.SIGTERM, signal.SIGINT}
_EXAMPLES = """\
examples:
  python -m local.provider --vectors minilm --port 8080
  python -m local.provider --port 0 --port-file model.port

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
    """Serve until a signal; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        server = _server(options)
    except OSError as error:
        print(f"The model server cannot start: {error}", file=sys.stderr)
        return 1
    # The threads of the server inherit the mask, so that only sigwait gets these signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, END)
    with server:
        print(f"Model server ({options.vectors}) listens on {server.url}", flush=True)
        if options.port_file is not None:
            write_text(options.port_file, f"{server.port}\n")
        signal.sigwait(END)
    return 0


def _parser() -> argparse.ArgumentParser:
    kinds = "\n".join(f"  {kind}" for kind in FaultKind)
    parser = argparse.ArgumentParser(
        prog="python -m local.provider",
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
    add("--key", help="refuse requests without this key (default: take any key)")
    add("--requests-per-minute", type=_positive, help="rate limit, sent in OpenAI's headers")
    add("--tokens-per-minute", type=_positive, help="rate limit, sent in OpenAI's headers")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not at least 1")
    return number


def _server(options: argparse.Namespace) -> "ModelServer":
    # Each request is computed in one thread of ours. Threads of the matrix library on top make
    # it three times slower on a busy machine. They can be switched off only before numpy is
    # imported, so the import stands here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from local.provider.server import ModelServer

    return ModelServer(
        options.vectors,
        weights=options.weights,
        port=options.port,
        key=options.key,
        requests_per_minute=options.requests_per_minute,
        tokens_per_minute=options.tokens_per_minute,
    )


if __name__ == "__main__":
    sys.exit(main())
