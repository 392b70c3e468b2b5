"""What the documents say is true: targets exist, samples are used."""

import re
import sys
from pathlib import Path

from tests.repo.checkout import ROOT, files, texts

BIN = Path(sys.executable).parent
TARGETS = ["help", "setup", "demo", "test", "check", "fix", "build", "synth", "deploy", "destroy"]
TARGETS += [
    "diff",
    "bench",
    "bench-peers",
    "bench-scale",
    "mutants",
    "storm",
    "simulate",
    "docs",
    "transcript",
    "pictures",
    "wheel",
    "clean",
    "lock",
]


def make_targets() -> dict[str, str]:
    """Return every target of the Makefile with its help text, empty where it has none."""
    rules = re.findall(
        r"^([a-z][a-z-]*):(?!=)[^#\n]*(?:## (.+))?$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    return dict(rules)


def named_targets(text: str) -> set[str]:
    """Return the targets that a document names in code: `make a b` or a line of a block."""
    commands = re.findall(r"(?:`|^\$? *)make ((?:[a-z][a-z-]*(?: |\b))+)", text, re.MULTILINE)
    return {word for command in commands for word in command.split()}


def document_texts() -> dict[str, str]:
    """Return every document for people."""
    return texts("*.md")


def test_every_target_is_there_and_has_a_help_text() -> None:
    """Newcomer: make help tells everything that make can do."""
    targets = make_targets()

    assert sorted(targets) == sorted(TARGETS)
    assert [name for name, text in targets.items() if not text] == []


def test_documents_name_only_targets_that_exist() -> None:
    """Newcomer: every make command in a document works."""
    unknown = {
        f"{path}: make {name}"
        for path, text in document_texts().items()
        for name in named_targets(text) - set(make_targets())
    }

    assert unknown == set()


def test_documents_name_only_programs_that_setup_installs() -> None:
    """Newcomer: every program of .venv in a document is there."""
    named = {
        (path, name)
        for path, text in texts().items()
        if path.endswith((".md", ".yaml"))
        for name in re.findall(r"\.venv/bin/([a-z-]+)", text)
    }

    assert {name for _, name in named} >= {"embedq", "pre-commit", "ruff"}
    assert [f"{path}: {name}" for path, name in named if not (BIN / name).exists()] == []


def test_a_target_is_found_in_prose_and_in_blocks() -> None:
    """Newcomer: the search for targets sees both forms, and no ordinary sentence."""
    text = "To make sure, run `make check test`.\n```\n$ make demo ARGS=--keep\nmake synth\n```\n"

    assert named_targets(text) == {"check", "test", "demo", "synth"}


def test_make_docs_runs_every_generator() -> None:
    """Docs: a page that `make docs` does not write goes stale."""
    generators = {
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        for path in files("*_doc.py")
    }

    assert set(re.findall(r"-m ([a-z._]+_doc)\b", (ROOT / "Makefile").read_text())) == generators


def test_every_sample_event_is_used_by_a_test() -> None:
    """Samples: a file in events/ that no test loads would rot."""
    tests = "\n".join(texts("tests/*.py").values())

    assert [path.name for path in files("events/*") if path.stem not in tests] == []


CHANGES = "provider lane metric failure-kind command setting chunker alarm local-engine"
CHANGES += " ledger-field entry-field function"


def test_contributing_names_the_files_of_every_change() -> None:
    """Newcomer: twelve common changes, each with files that are there."""
    [table] = re.findall(
        r"^## What a change touches\n(.*?)^## ",
        (ROOT / "CONTRIBUTING.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    rows = re.findall(r"^\| ([a-z ]+) \| (.*`.*) \|$", table, re.MULTILINE)

    assert [name.replace(" ", "-") for name, _ in rows] == CHANGES.split()
    named = [path for _, files in rows for path in re.findall(r"`([\w./]+[./][\w./]*)`", files)]
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert len(named) > 30
