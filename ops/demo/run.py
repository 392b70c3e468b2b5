"""Runs the demo, on the real engines or in memory, and names what to try next."""

import shutil
import time

from local import background
from local.engines import EngineError
from local.provider.server import ModelServer
from local.stages import ChosenStage
from ops.demo.own_story import OwnStory
from ops.demo.steps import Steps, StoryError
from ops.demo.story import Story
from ops.demo.worlds import EngineWorld, MemoryWorld
from ops.output import CommandError, UsageError, narrate, say
from ops.stack import Demo, running_here

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
NEXT_OWN_RUNNING = """\
The stack is still running. What to try next:
   .venv/bin/embedq stats
   .venv/bin/embedq put --help
   .venv/bin/embedq down"""
NEXT_OWN = """\
What to try next:
   .venv/bin/embedq up {name}    the same stage, for your own items
   make deploy STAGE={name}      into your AWS account (README, Deploy)"""


def run_demo(stage: ChosenStage, *, engines: str, keep: bool) -> Demo:
    """Run all steps of the demo."""
    began = time.monotonic()
    if engines == "memory" and not stage.is_standard:
        raise UsageError(
            f"stage {stage.name} runs on the real engines only: leave out --engines memory"
        )
    narrate(OPENING)
    if engines == "memory":
        with ModelServer("minilm") as server:
            world = MemoryWorld(server.url, server.origin)
            error = _run(Story(world, narrate, began=began))
    else:
        error = _run_on_engines(stage, began, keep=keep)
    is_running = keep and engines == "real"
    if stage.is_standard:
        after = NEXT_RUNNING if is_running else NEXT
    else:
        after = NEXT_OWN_RUNNING if is_running else NEXT_OWN.format(name=stage.name)
    return Demo(error=error, seconds=time.monotonic() - began, next=after)


def _run_on_engines(stage: ChosenStage, began: float, *, keep: bool) -> str | None:
    narrate(ENGINES)
    if background.find_any() is not None or background.is_starting():
        raise UsageError(
            "a stack runs or starts here, and the demo needs an empty one: first `embedq down`"
        )
    say(f"starting the stack {stage.stack} on this machine")
    shutil.rmtree(background.DEMO_FOLDER, ignore_errors=True)
    try:
        running = background.up(
            lambda line: narrate(f"   {line}"),
            background.DEMO_FOLDER,
            stage=stage,
            short_lived=not keep,
        )
    except (EngineError, background.NotStartedError) as error:
        raise CommandError(
            f"{error}\nWithout engines: make demo ARGS='--engines memory'"
        ) from error
    narrate(f"   up after {time.monotonic() - began:.0f} s: {running.endpoint_url}")
    try:
        deployment = running_here()
        if not stage.is_standard:
            return _run(OwnStory(deployment, narrate))
        return _run(Story(EngineWorld(deployment, running.model_origin), narrate, began=began))
    finally:
        if not keep:
            background.down(background.DEMO_FOLDER)


def _run(story: Steps) -> str | None:
    try:
        story.run()
    except StoryError as error:
        return str(error)
    return None
