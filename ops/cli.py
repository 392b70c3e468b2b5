"""The command line: one subcommand per task of an operator."""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from functions.adapters.opensearch_http import OpenSearchError
from functions.core.control import Part
from functions.core.failure import FailureError
from functions.core.lane import PRIORITIES
from local import background
from local.engines import EngineError
from ops import breakers, dead_letters, documents, logs, recovery, statistics, stuck
from ops.deployment import Deployment, UsageError, connect


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    chosen = _parser().parse_args(arguments)
    try:
        return int(chosen.run(chosen) or 0)
    except (UsageError, EngineError, background.NotStartedError) as error:
        print(f"embedq: {error}", file=sys.stderr)
        return 2
    except (FailureError, OpenSearchError, ClientError, BotoCoreError) as error:
        print(f"embedq: the stack does not answer as it should: {error}", file=sys.stderr)
        return 3
    except BrokenPipeError:
        # The reader has seen enough: `embedq logs | head`.
        sys.stdout = None
        return 0
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="embedq",
        description="DynamoDB writes become searchable vectors in OpenSearch.",
        epilog="COMMAND --help tells more, with examples. Without --stage a command looks at the"
        " stack that runs here; with it, at that stage in your AWS account.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_local_commands(commands)
    _add_document_commands(commands)
    _add_operator_commands(commands)
    _add_breaker_commands(commands)
    return parser


def _add_local_commands(commands: Any) -> None:
    _add(
        commands, "up", "start the whole stack on this machine", _up, "up", "up --hashed"
    ).add_argument(
        "--hashed", action="store_true", help="hashed vectors instead of the model: for load tests"
    )
    _add(commands, "down", "stop the stack that runs here", _down, "down")
    demo = _add(
        commands,
        "demo",
        "tell the whole story: write, search, edit, delete, poison, break, heal",
        _demo,
        "demo",
        "demo --keep",
        "demo --engines memory",
    )
    demo.add_argument(
        "--engines",
        choices=("real", "memory"),
        default="real",
        help="memory needs no download and no Java (default: real)",
    )
    demo.add_argument("--keep", action="store_true", help="leave the stack running afterwards")
    shown = _add(
        commands,
        "logs",
        "show what the functions of the stack that runs here have logged",
        lambda chosen: logs.show(chosen.function, follow=chosen.follow, say=say),
        "logs",
        "logs embed --follow",
    )
    shown.add_argument("function", nargs="?", help="a part of the function's name (default: all)")
    shown.add_argument("--follow", action="store_true", help="go on until Ctrl-C")


def _add_document_commands(commands: Any) -> None:
    put = _add_remote(
        commands,
        "put",
        "write a document to its table, as an application would",
        lambda deployment, chosen: documents.put(deployment, chosen.item, source=chosen.source),
        """put '{"id": "a", "title": "Hello", "body": "World"}'""",
    )
    put.add_argument("item", help="the item as JSON")
    put.add_argument("--source", help="which source, if there are several")
    status = _add_remote(
        commands,
        "status",
        "tell the state and the error history of one document",
        lambda deployment, chosen: documents.status(
            deployment, chosen.document, source=chosen.source, target=chosen.target
        ),
        "status tortoise-and-hare",
        "status a --stage prod --source articles",
    )
    status.add_argument("document", help="the document's id; of a composite key: PARTITION|SORT")
    status.add_argument("--source", help="which source, if there are several")
    status.add_argument("--target", help="which target, if there are several")
    search = _add_remote(
        commands,
        "search",
        "find documents by meaning",
        _search,
        'search "a clever bird"',
        'search "harvest" --filter author=aesop --most 3',
    )
    search.add_argument("query", help="what to look for, in any words")
    search.add_argument("--most", type=int, default=5, help="how many at the most (default: 5)")
    search.add_argument(
        "--filter", action="append", default=[], metavar="FIELD=VALUE", help="by metadata"
    )
    search.add_argument("--target", help="which target, if there are several")


def _add_operator_commands(commands: Any) -> None:
    _add_remote(
        commands,
        "stats",
        "count documents by status and messages by lane",
        lambda deployment, _: statistics.stats(deployment),
        "stats",
        "stats --stage prod",
    )
    waiting = _add_remote(
        commands,
        "stuck",
        "list open documents that nothing happens to, oldest first",
        lambda deployment, chosen: stuck.stuck(deployment, hours=chosen.hours),
        "stuck",
        "stuck --hours 1 --stage prod",
    )
    waiting.add_argument(
        "--hours", type=float, default=24.0, help="for how long at least (default: 24)"
    )
    _add_remote(
        commands,
        "recover",
        "send every open document again: for a queue that was lost or purged",
        lambda deployment, _: recovery.recover(deployment),
        "recover",
    )
    again = _add_remote(
        commands,
        "requeue",
        "send one document again, with all its attempts, at any priority",
        lambda deployment, chosen: recovery.requeue(
            deployment,
            chosen.document,
            lane=chosen.lane,
            source=chosen.source,
            target=chosen.target,
        ),
        "requeue tortoise-and-hare --lane high",
    )
    again.add_argument("document", help="the document's id; of a composite key: PARTITION|SORT")
    again.add_argument(
        "--lane", choices=[str(lane) for lane in PRIORITIES], default="normal", help="its priority"
    )
    again.add_argument("--source", help="which source, if there are several")
    again.add_argument("--target", help="which target, if there are several")
    dead = commands.add_parser("dead", help="dead letters: what needs a person")
    inside = dead.add_subparsers(metavar="COMMAND", required=True)
    _add_remote(
        inside,
        "list",
        "list failed documents, grouped by cause",
        lambda deployment, _: dead_letters.dead_list(deployment),
        "dead list",
    )


def _add_breaker_commands(commands: Any) -> None:
    _add_remote(
        commands,
        "breakers",
        "tell which targets are stopped, since when and why",
        lambda deployment, _: breakers.breakers(deployment),
        "breakers --stage prod",
    )
    _add_switch(commands, "pause", "stop the work of a target; nothing is lost", breakers.pause)
    _add_switch(commands, "resume", "let a stopped target go on, lane by lane", breakers.resume)


def _add_switch(commands: Any, name: str, summary: str, switch: Callable[..., list[str]]) -> None:
    added = _add_remote(
        commands,
        name,
        summary,
        lambda deployment, chosen: switch(
            deployment, target=chosen.target, part=chosen.part, reason=chosen.reason
        ),
        f'{name} --reason "the key is being replaced"',
        f'{name} --part index --stage prod --reason "the domain is being resized"',
    )
    added.add_argument("--reason", required=True, help="why: it is logged and shown")
    added.add_argument(
        "--part",
        choices=[str(part) for part in Part],
        default=str(Part.PROVIDER),
        help="of the provider deletes go on, of the index nothing does (default: provider)",
    )
    added.add_argument("--target", help="which target, if there are several")


def _add(
    commands: Any,
    name: str,
    summary: str,
    run: Callable[[argparse.Namespace], int | None],
    *examples: str,
) -> argparse.ArgumentParser:
    added: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog="examples:\n" + "\n".join(f"  embedq {example}" for example in examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    added.set_defaults(run=run)
    return added


def _add_remote(
    commands: Any,
    name: str,
    summary: str,
    run: Callable[[Deployment, argparse.Namespace], list[str]],
    *examples: str,
) -> argparse.ArgumentParser:
    def told(chosen: argparse.Namespace) -> None:
        say("\n".join(run(connect(chosen.stage), chosen)))

    added = _add(commands, name, summary, told, *examples)
    added.add_argument("--stage", help="a stage in AWS (default: the stack that runs here)")
    return added


def _demo(chosen: argparse.Namespace) -> int:
    # The provider's SDK takes a second to import: only who needs it waits.
    from ops.demo.run import run_demo

    return run_demo(engines=chosen.engines, keep=chosen.keep)


def _search(deployment: Deployment, chosen: argparse.Namespace) -> list[str]:
    from ops import searching

    hits = searching.find(
        deployment,
        chosen.query,
        target=chosen.target,
        most=chosen.most,
        filters=chosen.filter,
    )
    return searching.show(hits)


def say(text: str) -> None:
    """Print at once, also into a pipe."""
    print(text, flush=True)


def _up(chosen: argparse.Namespace) -> None:
    found = background.find_any()
    if found:
        _, running = found
    else:
        folder = background.HASHED_FOLDER if chosen.hashed else background.FOLDER
        running = background.up(say, folder, vectors="hashed" if chosen.hashed else "minilm")
    say(
        f"The stack runs. Any AWS client reaches it with\n"
        f"  AWS_ENDPOINT_URL={running.endpoint_url} AWS_REGION=us-east-1\n"
        f"  AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local"
    )


def _down(_: argparse.Namespace) -> None:
    ended = [background.down(folder) for folder in background.FOLDERS]
    say("The stack is stopped." if any(ended) else "No stack runs here.")
