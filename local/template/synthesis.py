"""A stage and infrastructure/ -> its template for this machine, synthesized once per change."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from local.stages import CHECKOUT, STANDARD, ChosenStage
from local.template.stage import MINILM, LocalModel

# Everything that the app's code and settings consist of; the functions' own code is not in a
# template. Of functions/ the app imports core/ and the limits of providers alone.
INPUTS = (
    "infrastructure",
    "functions/core",
    "functions/adapters/bedrock_models.py",
    "functions/adapters/openai_limits.py",
    "local/template",
)
TIMEOUT_SECONDS = 300
KEPT = 5


class SynthesisError(Exception):
    """The stage could not be synthesized; the message is made of its mistakes."""


def local_template(
    *, cache: Path, stage: ChosenStage = STANDARD, model: LocalModel = MINILM
) -> str:
    """Return the template of a stage for this machine, without its addresses."""
    path = cache / f"{_fingerprint(stage, model)}.template.json"
    if not path.is_file():
        _synthesize(stage, model, path)
        _forget_old(cache)
    return path.read_text()


def _synthesize(stage: ChosenStage, model: LocalModel, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # A process of its own: the CDK's node and memory go with it.
    command = [sys.executable, "-m", "local.template.synthesize", str(stage.file), stage.name]
    done = subprocess.run(
        [*command, json.dumps(asdict(model)), str(path)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    if done.returncode:
        raise SynthesisError(done.stderr.strip()[-2000:])


def _fingerprint(stage: ChosenStage, model: LocalModel) -> str:
    digest = hashlib.sha256(f"{stage.name} {model} {version('aws-cdk-lib')}".encode())
    for path in (stage.file, *_input_files()):
        digest.update(f"\n{path}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def _input_files() -> Iterable[Path]:
    for name in INPUTS:
        path = CHECKOUT / name
        found = [path] if path.is_file() else path.rglob("*")
        yield from sorted(p for p in found if p.is_file() and p.suffix != ".pyc")


def _forget_old(cache: Path) -> None:
    newest_first = sorted(
        cache.glob("*.template.json"), key=lambda path: path.stat().st_mtime, reverse=True
    )
    for path in newest_first[KEPT:]:
        path.unlink(missing_ok=True)
