"""Runs the demo, on the real engines or in memory, and names what to try next."""

import shutil
import time
from collections.abc import Iterable

from local import background
from local.engines import EngineError
from local.provider.server import ModelServer
from ops.demo.story import Story, StoryError
from ops.demo.worlds import EngineWorld, MemoryWorld, World
from ops.output import FAILED, OK, Answer, CommandError, UsageError, narrate
from ops.stack import running_here

OPENING = """\
embedq: every write to DynamoDB becomes searchable in OpenSearch, whatever fails on the way.
Everything below runs on this machine, with a real embedding model (MiniLM)."""
ENGINES = """\
Real engines: DynamoDB Local, ElasticMQ and OpenSearch. The functions run as processes, as in
Lambda; tables, queues and mappings are those of the CDK's template.
"""
NEXT = """\
What to try next:
   make test                  run all tests
   make synth                 the CloudFormation templates, no account needed
   make deploy STAGE=dev      into your AWS account (README, Deploy)"""
NEXT_RUNNING = """\
The stack is still running. What to try next:
   .venv/bin/embedq search "a clever bird"
   .venv/bin/embedq status poison
   .venv/bin/embedq stats
   .venv/bin/embedq down"""


class Demo(Answer):
    """How the demo ended."""

    error: str | None
    seconds: float
    is_running: bool

    @property
    def exit_code(self) -> int:
        return FAILED if self.error else OK

    def view(self) -> Iterable[str]:
        if self.error:
            yield f"\nThe demo stopped: {self.error}."
        yield f"\nDone in {self.seconds:.0f} s."
        yield NEXT_RUNNING if self.is_running else NEXT


def run_demo(*, engines: str, keep: bool) -> Demo:
    """Run all steps of the demo."""
    began = time.monotonic()
    narrate(OPENING)
    if engines == "memory":
        with ModelServer("minilm") as server:
            error = _run(MemoryWorld(server.url, server.origin), began)
    else:
        error = _run_on_engines(began, keep=keep)
    is_running = keep and engines == "real"
    return Demo(error=error, seconds=time.monotonic() - began, is_running=is_running)


def _run_on_engines(began: float, *, keep: bool) -> str | None:
    narrate(ENGINES)
    if background.find_any() is not None or background.is_starting():
        raise UsageError(
            "a stack runs or starts here, and the demo needs an empty one: first `embedq down`"
        )
    shutil.rmtree(background.DEMO_FOLDER, ignore_errors=True)
    try:
        running = background.up(
            lambda line: narrate(f"   {line}"), background.DEMO_FOLDER, short_lived=not keep
        )
    except (EngineError, background.NotStartedError) as error:
        raise CommandError(
            f"{error}\nWithout engines: make demo ARGS='--engines memory'"
        ) from error
    narrate(f"   up after {time.monotonic() - began:.0f} s: {running.endpoint_url}")
    try:
        return _run(EngineWorld(running_here(), running.model_origin), began)
    finally:
        if not keep:
            background.down(background.DEMO_FOLDER)


def _run(world: World, began: float) -> str | None:
    try:
        Story(world, narrate, began=began).run()
    except StoryError as error:
        return str(error)
    return None
