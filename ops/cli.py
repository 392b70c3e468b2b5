"""The command line: one subcommand per task of an operator."""

import argparse
from collections.abc import Sequence

from ops.demo.run import EXAMPLES as DEMO_EXAMPLES
from ops.demo.run import run_demo


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    chosen = _parser().parse_args(arguments)
    return int(chosen.run(chosen))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="embedq", description="DynamoDB writes become searchable vectors in OpenSearch."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    demo = commands.add_parser(
        "demo",
        help="tell the whole story on this machine",
        description="Write, search, edit, delete, poison, break and heal: the whole story.",
        epilog=DEMO_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    demo.set_defaults(run=lambda _: run_demo())
    return parser
