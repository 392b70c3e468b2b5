"""Runs what pages show and puts what was printed into them, as `make transcript`.

README.md has the demo; docs/first-hour.md and docs/tutorial.md have many commands, each with its
answer.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
FIRST_HOUR = ROOT / "docs" / "first-hour.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"
BLOCK = re.compile(r"(<!-- transcript -->\n```\n).*?(```\n<!-- end -->)", re.DOTALL)
STAGE = re.compile(r"<!-- stage -->\n```json\n(.*?)```", re.DOTALL)
# What a checkout has beside its files, the same as others or not.
SHARED = ("node_modules", "build")
OWN = (".git", ".venv", ".local", "cdk.json", "cdk.out", "mutants", "__pycache__")
CACHES = (".*_cache", ".mypy*", ".hypothesis", ".coverage*")
CONSOLE = re.compile(r"(```console\n)(.*?)(```\n)", re.DOTALL)
PROMPT = "$ "
END = "-- end of command"
# What differs from run to run, and what is put in its place before two runs are compared.
CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?( UTC|Z)?"), "TIME"),
    (re.compile(r"(localhost|127\.0\.0\.1):\d+"), "HOST"),
    (re.compile(r"\b\d{13}\b"), "VERSION"),
    (re.compile(r"\b\d+(\.\d+)? (s|ms)\b"), "DURATION"),
    (re.compile(r"\b0\.\d+\b"), "SCORE"),
    (re.compile(r"(?<=--cursor )\S+"), "TOKEN"),
    (re.compile(r"[ \t]+"), " "),
)

Run = Callable[[str], str]


class NoBlockError(Exception):
    """The README has no place for the transcript."""


class CommandLine:
    """One shell for the commands of a page, in a checkout, with a folder of its own for stacks.

    What commands say beside their answer is left out, unless they fail.
    """

    def __init__(self, folder: Path, checkout: Path = ROOT) -> None:
        self._errors = folder / "stderr"
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        modules = os.pathsep.join(filter(None, [str(checkout), os.environ.get("PYTHONPATH")]))
        own = {"PATH": path, "PYTHONPATH": modules, "EMBEDQ_FOLDER": str(folder), "AWS_PAGER": ""}
        self._shell = subprocess.Popen(
            ["bash", "--norc"],
            cwd=checkout,
            env={**os.environ, **own},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, command: str) -> str:
        """Run a command and return what it printed."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        end = f'status=$?; echo; echo "{END} $status"'
        self._shell.stdin.write(f"{{ {command}\n}} 2>{self._errors} </dev/null; {end}\n")
        self._shell.stdin.flush()
        lines: list[str] = []
        for line in self._shell.stdout:
            if line.startswith(END):
                is_failed = line.split()[-1] != "0"
                errors = self._errors.read_text() if is_failed else ""
                return "".join(lines).removesuffix("\n") + errors
            lines.append(line)
        raise RuntimeError(f"the shell ended in: {command}")

    def close(self) -> None:
        """End the stack, if one runs, and the shell."""
        self.run("embedq down")
        self._shell.communicate("exit\n")


def with_transcript(readme: str, transcript: str) -> str:
    """Replace what stands between the marks."""
    found, count = BLOCK.subn(lambda marks: marks[1] + transcript.strip() + "\n" + marks[2], readme)
    if count != 1:
        raise NoBlockError("README.md: the marks <!-- transcript --> and <!-- end --> are gone")
    return found


def played(page: str, run: Run) -> str:
    """Run every command of a page, and put its answer below it."""

    def replaced(block: re.Match[str]) -> str:
        return block[1] + _played_block(block[2], run) + block[3]

    return CONSOLE.sub(replaced, page)


def _played_block(block: str, run: Run) -> str:
    lines = block.splitlines()
    commands: list[list[str]] = []
    for line in lines:
        if line.startswith(PROMPT):
            commands.append([line])
        elif commands and commands[-1][-1].endswith("\\"):
            commands[-1].append(line)
    shown = []
    for command in commands:
        typed = "\n".join(command)
        answer = run(typed.removeprefix(PROMPT)).rstrip()
        shown.append(f"{typed}\n{answer}\n" if answer else f"{typed}\n")
    return "".join(shown)


def normalised(page: str) -> str:
    """Take out what differs from run to run: times, ports, versions, scores."""
    for pattern, word in CHANGING:
        page = pattern.sub(word, page)
    return page


def play_first_hour() -> str:
    """Run the commands of the first hour on a stack of their own; return the page."""
    with _folder() as folder:
        return _play(FIRST_HOUR, CommandLine(folder))


def play_tutorial() -> str:
    """Run the commands of the tutorial in a copy of the checkout that has its stage."""
    [stage] = STAGE.findall(TUTORIAL.read_text())
    with _folder() as folder:
        checkout = folder / "checkout"
        shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns(*SHARED, *OWN, *CACHES))
        for name in SHARED:
            (checkout / name).symlink_to(ROOT / name)
        command = checkout / ".venv" / "bin" / "embedq"
        command.parent.mkdir(parents=True)
        installed = (ROOT / ".venv" / "bin" / "embedq").read_text()
        command.write_text(installed.replace(f"'{ROOT}'", f"'{checkout}'"))
        command.chmod(0o755)
        settings = checkout / "cdk.json"
        settings.write_text(json.dumps({"context": {"stages": json.loads(stage)}}))
        return _play(TUTORIAL, CommandLine(folder, checkout))


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        # The user of OpenSearch has to enter it.
        Path(name).chmod(0o755)
        yield Path(name)


def _play(page: Path, shell: CommandLine) -> str:
    try:
        return played(page.read_text(), shell.run)
    finally:
        shell.close()


def main() -> int:
    """Run the demo, the first hour and the tutorial; change pages only if the demo could be run."""
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
        FIRST_HOUR.write_text(play_first_hour())
        TUTORIAL.write_text(play_tutorial())
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
