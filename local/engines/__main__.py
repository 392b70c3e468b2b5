"""Fetch every engine ahead of time: a step of `make setup`."""

import sys

from local.engines import EngineError, fetch_engines

if __name__ == "__main__":
    try:
        fetch_engines(print)
    except EngineError as error:
        sys.exit(str(error))
