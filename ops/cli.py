"""The command line: one subcommand per task of an operator."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from functions.adapters.opensearch_http import OpenSearchError
from functions.core.failure import FailureError
from local import background
from local.engines import EngineError
from ops import documents, logs
from ops.command import add, add_remote, say
from ops.deployment import Deployment, UsageError
from ops.operator_commands import add_breaker_commands, add_operator_commands


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
    add_operator_commands(commands)
    add_breaker_commands(commands)
    return parser


def _add_local_commands(commands: Any) -> None:
    add(
        commands, "up", "start the whole stack on this machine", _up, "up", "up --hashed"
    ).add_argument(
        "--hashed", action="store_true", help="hashed vectors instead of the model: for load tests"
    )
    add(commands, "down", "stop the stack that runs here", _down, "down")
    demo = add(
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
    shown = add(
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
    put = add_remote(
        commands,
        "put",
        "write a document to its table, as an application would",
        lambda deployment, chosen: documents.put(deployment, chosen.item, source=chosen.source),
        """put '{"id": "a", "title": "Hello", "body": "World"}'""",
    )
    put.add_argument("item", help="the item as JSON")
    put.add_argument("--source", help="which source, if there are several")
    status = add_remote(
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
    search = add_remote(
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
