"""The program embedq: `.venv/bin/embedq` and `python -m ops`."""

import sys

INTERRUPTED = 130


def main() -> int:
    """Load the commands and run one; Ctrl-C while they are loaded leaves no stack trace either."""
    try:
        from ops import cli

        return cli.main()
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
