"""Runs the demo, on the real engines or in memory, and names what to try next."""

import time
from pathlib import Path

from local import background
from local.engines import EngineError
from local.provider.server import ModelServer
from local.stages import ChosenStage, with_successor
from ops.demo.model_change import MODEL, NEW
from ops.demo.own_story import OwnStory
from ops.demo.steps import Steps, StoryError
from ops.demo.story import Story
from ops.demo.worlds import EngineWorld, MemoryWorld
from ops.deployment import Deployment
from ops.output import CommandError, UsageError, confirm, narrate, say
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


def run_demo(stage: ChosenStage, *, engines: str, keep: bool, yes: bool) -> Demo:
    """Run all steps of the demo."""
    began = time.monotonic()
    if engines == "memory" and keep:
        raise UsageError(
            "--keep leaves the real engines running, and nothing is left of a demo in memory:"
            " leave out --engines memory or --keep"
        )
    if engines == "memory" and not stage.is_standard:
        raise UsageError(
            f"stage {stage.name} runs on the real engines only: leave out --engines memory"
        )
    if engines == "memory":
        narrate(OPENING)
        with ModelServer("minilm") as server:
            world = MemoryWorld(server.url, server.origin)
            error = _run(Story(world, narrate, began=began))
    else:
        folder = _empty_folder(stage, keep=keep, yes=yes)
        error = _run_on_engines(stage, folder, began, keep=keep)
    if stage.is_standard:
        after = NEXT_RUNNING if keep else NEXT
    else:
        after = NEXT_OWN_RUNNING if keep else NEXT_OWN.format(name=stage.name)
    return Demo(error=error, seconds=time.monotonic() - began, next=after)


def _empty_folder(stage: ChosenStage, *, keep: bool, yes: bool) -> Path:
    """Choose where the demo runs, and remove what is there: every demo shows the same."""
    if background.find_any() is not None or background.is_starting():
        raise UsageError(
            "a stack runs or starts here, and the demo needs an empty one: first `embedq down`"
        )
    if not keep:
        background.empty(background.demo_folder())
        return background.demo_folder()
    folder = background.folder_of(stage, "minilm")
    if background.has_documents(folder):
        confirm(
            f"The demo begins with an empty stack. Remove the documents of {stage.stack} that"
            f" earlier runs kept in {folder}?",
            yes=yes,
        )
        background.empty(folder)
    return folder


def _run_on_engines(stage: ChosenStage, folder: Path, began: float, *, keep: bool) -> str | None:
    narrate(OPENING)
    narrate(ENGINES)
    say(f"starting the stack {stage.stack} on this machine")
    try:
        running = background.up(
            lambda line: narrate(f"   {line}"),
            folder,
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
        world = EngineWorld(deployment, running.model_origin, lambda: _with_next_target(folder))
        # A stack that is kept stays as `embedq up` starts it.
        return _run(Story(world, narrate, began=began, changes_model=not keep))
    finally:
        if not keep:
            background.down(folder)


def _with_next_target(folder: Path) -> Deployment:
    """Deploy a second target: the stack is started again, on the same documents."""
    background.down(folder)
    stage = with_successor(folder / "stage.json", NEW, {"model": MODEL})
    background.up(lambda _: None, folder, stage=stage, short_lived=True)
    return running_here()


def _run(story: Steps) -> str | None:
    try:
        story.run()
    except StoryError as error:
        return str(error)
    return None
