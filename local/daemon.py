"""The local stack as a program: `up` starts it in the background, `down` ends it.

It writes a file when it is ready, and ends everything that it started.
"""

import os
import signal
import sys
import threading
from dataclasses import asdict
from pathlib import Path

from functions.index_setup.ensure import MisfitError
from local.background import STATE, Running
from local.engines import EngineError
from local.files import write_json
from local.resources import ResourceError
from local.stack import StackError, local_stack
from local.stages import ChosenStage
from local.template import SynthesisError, TemplateError

LOOK_SECONDS = 1.0


def main() -> int:
    """Run the stack until a signal ends it."""
    # What it and its processes write, documents and all, is for this user alone.
    os.umask(0o077)
    try:
        folder, vectors, file, name, *options = sys.argv[1:]
        stage = ChosenStage(Path(file), name)
        _run(Path(folder), vectors, stage, short_lived="--short-lived" in options)
    except (ResourceError, MisfitError) as error:
        # The engines still have what an older version of the stage made.
        _say(f"{error}. To start without the old documents, remove {folder}")
        return 1
    except (EngineError, StackError, SynthesisError, TemplateError) as error:
        _say(str(error))
        return 1
    return 0


def _run(folder: Path, vectors: str, stage: ChosenStage, *, short_lived: bool) -> None:
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
        folder, log=_say, stage=stage, vectors=vectors, short_lived=short_lived
    ) as stack:
        ready.set()
        running = Running(
            stack.endpoint_url,
            stack.model_origin,
            stage=None if stage.is_standard else stage.name,
            stack=stage.stack,
            vectors=vectors,
        )
        state = folder / STATE
        write_json(state, asdict(running))
        # A stack without one of its engines is none: the next `up` brings everything back.
        while not ended.wait(LOOK_SECONDS):
            if stack.ended():
                _say(f"ended by itself: {', '.join(stack.ended())}; the whole stack stops")
                break
        state.unlink(missing_ok=True)


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
