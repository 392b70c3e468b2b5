"""Runs the demo and says what to try next."""

import time

from ops.demo.memory_world import memory_world
from ops.demo.story import Story, StoryError

EXAMPLES = """\
examples:
  make demo                     the same, set up and all
  python -m ops demo            when everything is set up
"""


def run_demo() -> int:
    """Tell the story; return the exit code."""
    began = time.monotonic()
    _say("embedq: a write to DynamoDB ends in OpenSearch k-NN, whatever fails on the way.")
    _say("Everything below runs on this machine, with a real embedding model (MiniLM).")
    try:
        with memory_world() as world:
            Story(world, _say).tell()
    except StoryError as error:
        _say(f"\nThe demo stopped: {error}.")
        return 1
    _say(f"\nDone in {time.monotonic() - began:.0f} s. What to try next:")
    _say("   make test                 every promise, proved")
    _say("   make synth                the CloudFormation templates, no account needed")
    _say("   make deploy STAGE=dev     into your AWS account (README, Deploy)")
    return 0


def _say(text: str) -> None:
    print(text, flush=True)
