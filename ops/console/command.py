"""`embedq console`: serves the console page on this machine until Ctrl-C."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from ops.frame import Noun
from ops.numbers import Count
from ops.output import Answer

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("State")


class ConsoleAddress(Answer):
    """Where the console page is, until the command ends."""

    url: str
    stack: str
    allows_actions: bool

    def view(self) -> Iterable[str]:
        yield f"The console of {self.stack} is here until Ctrl-C:"
        yield f"  {self.url}"
        if not self.allows_actions:
            yield "It only shows; with --allow-actions it can also change the stack."


@NOUN.stack_command(
    click.Option(
        ["--port"],
        type=Count(0, 65535),
        default=0,
        help="The port on this machine; left out: a free one.",
    ),
    click.Option(
        ["--allow-actions"],
        is_flag=True,
        help="Let the page change the stack: redrive, pause, backfill, each with a reason.",
    ),
    examples=["console", "console --allow-actions", "console --stage prod --port 8400"],
)
def console(
    deployment: "Deployment", *, port: int = 0, allow_actions: bool = False
) -> Iterator[ConsoleAddress]:
    """Show the stack as a page in the browser: health, queues, failures, documents, search.

    It is served to this machine only, under an address that holds a secret.
    """
    # Loaded only now: no other command needs a web server.
    from ops.console.serving import ConsoleServer

    place = deployment.place
    with ConsoleServer(deployment, port=port, allows_actions=allow_actions) as server:
        yield ConsoleAddress(url=server.url, stack=place, allows_actions=allow_actions)
        server.run()
