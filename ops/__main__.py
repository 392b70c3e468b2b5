"""`python -m ops`: the embedq command."""

import sys

from ops.cli import main

if __name__ == "__main__":
    sys.exit(main())
