"""The local stack as a program: `up` starts it in the background, `down` ends it.

It writes a file when it is ready, and ends everything that it started.
"""

import argparse
import os
import signal
import sys
import threading
from dataclasses import asdict
from pathlib import Path

from functions.index_setup.ensure import MisfitError
from local.background import ENDED, STATE, Running
from local.engines import EngineError
from local.files import write_json
from local.index_fault import IndexFault
from local.resources import ResourceError
from local.stack import StackError, local_stack
from local.stages import ChosenStage
from local.template import SynthesisError, TemplateError

LOOK_SECONDS = 1.0


def main() -> int:
    """Run the stack until a signal ends it."""
    # What it and its processes write, documents and all, is for this user alone.
    os.umask(0o077)
    options = _parser().parse_args()
    try:
        _run(options)
    except (ResourceError, MisfitError) as error:
        # The engines still have what an older version of the stage made.
        _say(f"{error}. To start without the old documents, remove {options.folder}")
        return 1
    except (EngineError, StackError, SynthesisError, TemplateError, OSError) as error:
        # Of the system: a full disk, a file of another user.
        _say(str(error))
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local.daemon")
    parser.add_argument("folder", type=Path)
    parser.add_argument("vectors")
    parser.add_argument("file", type=Path, help="where the stage stands")
    parser.add_argument("stage")
    parser.add_argument("--port", type=int)
    parser.add_argument("--short-lived", action="store_true")
    return parser


def _run(options: argparse.Namespace) -> None:
    folder: Path = options.folder
    stage = ChosenStage(options.file, options.stage)
    ready, ended = threading.Event(), threading.Event()

    def end(*_: object) -> None:
        is_first = not ended.is_set()
        ended.set()
        # The start of an engine takes long, and is not waited for.
        if is_first and not ready.is_set():
            _say("stopped while it was starting")
            raise SystemExit(1)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    with local_stack(
        folder,
        log=_say,
        stage=stage,
        vectors=options.vectors,
        short_lived=options.short_lived,
        port=options.port,
    ) as stack:
        ready.set()
        running = Running(
            stack.endpoint_url,
            stack.model_origin,
            stage=None if stage.is_standard else stage.name,
            stack=stage.stack,
            vectors=options.vectors,
        )
        fault = IndexFault(folder, stack.opensearch_url)
        fault.forget()
        state = folder / STATE
        write_json(state, asdict(running))
        # A stack without one of its engines is none: the next `up` brings everything back.
        while not ended.wait(LOOK_SECONDS):
            fault.end_if_due()
            if stack.ended():
                _say(f"{ENDED}: {', '.join(stack.ended())}, and with it the whole stack")
                break
        state.unlink(missing_ok=True)


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
