"""The stack of a run, with nothing in it, and how far the run is."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.bench.site import PollerCalls, Site
from local.stack import local_stack
from local.template.stage import LocalModel
from ops.stack import local_deployment


@contextmanager
def running(model: LocalModel | None = None) -> Iterator[Site]:
    """Run a stack with hashed vectors: as large as OpenAI's, unless a model says otherwise."""
    polls = PollerCalls()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # OpenSearch runs as a user of its own.
        folder.chmod(0o755)
        with local_stack(folder, log=say, vectors="hashed", model=model, in_memory=True) as stack:
            yield Site(folder, stack, local_deployment(stack.endpoint_url), polls, say)


def say(text: str) -> None:
    """Tell how far it is, beside the table."""
    print(text, file=sys.stderr, flush=True)
