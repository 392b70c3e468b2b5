"""pgai: its worker, as its command `pgai vectorizer worker --once` runs it.

https://github.com/timescale/pgai/blob/main/docs/vectorizer/worker.md
"""

import json
import os

from pgai.cli import vectorizer_worker
from pgai.vectorizer.vectorizer import TIKTOKEN_CACHE_DIR
from ready import note_begin


def main() -> None:
    """Work what is in the queue, once."""
    peer = json.loads(os.environ["PEER"])
    # The tokenizers that it brings along, instead of a download.
    os.environ["TIKTOKEN_CACHE_DIR"] = TIKTOKEN_CACHE_DIR
    note_begin(peer)
    vectorizer_worker(["-d", peer["database"], "--once", "--log-level", "WARN"])


if __name__ == "__main__":
    main()
