"""Runs the demo, on the real engines or in memory, and says what to try next."""

import shutil
import time

from local import background
from local.engines import EngineError
from ops.demo.local_world import LocalWorld
from ops.demo.memory_world import memory_world
from ops.demo.story import Story, StoryError
from ops.demo.world import World
from ops.deployment import connect

OPENING = """\
embedq: a write to DynamoDB ends in OpenSearch k-NN, whatever fails on the way.
Everything below runs on this machine, with a real embedding model (MiniLM)."""
NEXT = """\
What to try next:
   make test                  every promise, proved
   make synth                 the CloudFormation templates, no account needed
   make deploy STAGE=dev      into your AWS account (README, Deploy)"""
NEXT_RUNNING = """\
The stack is still running. What to try next:
   .venv/bin/embedq search "a clever bird"
   .venv/bin/embedq status poison
   .venv/bin/embedq stats
   .venv/bin/embedq down"""


def run_demo(*, engines: str, keep: bool) -> int:
    """Tell the story; return the exit code."""
    began = time.monotonic()
    say(OPENING)
    if engines == "memory":
        with memory_world() as world:
            code = _tell(world, began)
        is_running = False
    else:
        code, is_running = _tell_on_engines(began, keep=keep)
    say(f"\nDone in {time.monotonic() - began:.0f} s.")
    say(NEXT_RUNNING if is_running else NEXT)
    return code


def _tell_on_engines(began: float, *, keep: bool) -> tuple[int, bool]:
    say("Real engines: DynamoDB Local, ElasticMQ and OpenSearch; the functions as processes of")
    say("the Lambda runtime; tables, queues and mappings as the CDK's template has them.\n")
    if background.find_any() is not None:
        say("A stack runs here already. The demo starts with an empty one: embedq down")
        return 1, True
    shutil.rmtree(background.DEMO_FOLDER, ignore_errors=True)
    try:
        running = background.up(
            lambda line: say(f"   {line}"), background.DEMO_FOLDER, short_lived=not keep
        )
    except (EngineError, background.NotStartedError) as error:
        say(f"\n{error}\nWithout engines: make demo ARGS='--engines memory'")
        return 1, False
    say(f"   up after {time.monotonic() - began:.0f} s: {running.endpoint_url}")
    try:
        code = _tell(LocalWorld(connect(None), running.model_origin), began)
    finally:
        if not keep:
            background.down(background.DEMO_FOLDER)
    return code, keep


def _tell(world: World, began: float) -> int:
    try:
        Story(world, say, began=began).tell()
    except StoryError as error:
        say(f"\nThe demo stopped: {error}.")
        return 1
    return 0


def say(text: str) -> None:
    """Print at once, also into a pipe."""
    print(text, flush=True)
