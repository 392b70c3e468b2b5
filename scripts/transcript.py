"""Runs the demo and puts what it printed into the README, as `make transcript`."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- transcript -->\n```\n).*?(```\n<!-- end -->)", re.DOTALL)


class NoBlockError(Exception):
    """The README has no place for the transcript."""


def with_transcript(readme: str, transcript: str) -> str:
    """Replace what stands between the marks."""
    found, count = BLOCK.subn(lambda marks: marks[1] + transcript.strip() + "\n" + marks[2], readme)
    if count != 1:
        raise NoBlockError("README.md: the marks <!-- transcript --> and <!-- end --> are gone")
    return found


def main() -> int:
    """Run the demo; change the README only if it ended well."""
    done = subprocess.run(
        [sys.executable, "-m", "ops", "demo"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print(done.stdout)
    if done.returncode == 0:
        README.write_text(with_transcript(README.read_text(), "$ make demo\n" + done.stdout))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
