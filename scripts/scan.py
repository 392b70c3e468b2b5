"""Scan the templates of every stage with cdk-nag, cfn-lint and checkov.

What they find is in infrastructure/findings.toml with its reason, or is an error.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from infrastructure.app import pipeline_app
from infrastructure.config.file import read_context
from infrastructure.config.mistakes import ConfigError
from infrastructure.function_code import PLACEHOLDER

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "infrastructure/findings.toml"
REGIONS = ["us-east-1", "eu-west-1"]
UV = Path(sys.executable).with_name("uv")
# An environment of its own: checkov pins packages that others here need in newer versions.
CHECKOV = ROOT / "build/checkov"
CHECKOV_LOCK = ROOT / "requirements/checkov.txt"


@dataclass(frozen=True, order=True)
class Finding:
    """What one tool found: its rule, the stack, and the place in it."""

    rule: str
    stack: str
    place: str

    def __str__(self) -> str:
        return f"{self.rule} at {self.stack}: {self.place}"


@dataclass(frozen=True)
class Accepted:
    """An entry of the file."""

    rule: str
    at: str
    reason: str

    def covers(self, finding: Finding) -> bool:
        """Tell whether a finding is this one."""
        return self.rule == finding.rule and fnmatchcase(finding.place, self.at)


def accepted() -> list[Accepted]:
    """Read the file."""
    return [Accepted(**one) for one in tomllib.loads(FILE.read_text())["finding"]]


def unknown(found: Iterable[Finding], known: Sequence[Accepted]) -> list[Finding]:
    """Return the findings that no entry of the file covers."""
    return sorted({one for one in found if not any(entry.covers(one) for entry in known)})


def unused(found: Iterable[Finding], known: Iterable[Accepted]) -> list[Accepted]:
    """Return the entries of the file that cover nothing."""
    all_found = [*found]
    return [entry for entry in known if not any(map(entry.covers, all_found))]


def synthesize(out: Path, context: Mapping[str, Any]) -> None:
    """Write the templates of all stages, and cdk-nag's report, into a folder."""
    from aws_cdk import Validations
    from cdk_nag import AwsSolutionsChecks

    app = pipeline_app(context, code=PLACEHOLDER, outdir=out)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    # What it finds is in the report, and an error of the synthesis too.
    with contextlib.suppress(RuntimeError):
        app.synth()


def cdk_nag(out: Path) -> Iterator[Finding]:
    """Read cdk-nag's report."""
    report = json.loads((out / "validation-report.json").read_text())
    for plugin in report["pluginReports"]:
        for violation in plugin["violations"]:
            rule, _, detail = violation["ruleName"].removesuffix("]").partition("[")
            # Our own warnings stand in the same report.
            if rule.startswith("Annotation::embedq:"):
                continue
            for construct in violation["violatingConstructs"]:
                stack, _, path = construct["constructPath"].partition("/")
                place = path.removeprefix("Default/")
                yield Finding(rule, stack, f"{place} {detail}".strip())


def cfn_lint(out: Path) -> Iterator[Finding]:
    """Lint every template."""
    import cfnlint  # type: ignore[import-untyped]

    for path in sorted(out.glob("*.template.json")):
        text = path.read_text()
        types = {name: one["Type"] for name, one in json.loads(text)["Resources"].items()}
        for match in cfnlint.lint(text, regions=REGIONS):
            inside = [str(part) for part in match.path]
            if inside[:1] == ["Resources"] and len(inside) > 1:
                place = f"{types[inside[1]]}/{inside[1]}"
            else:
                place = "/".join(inside)
            yield Finding(match.rule.id, _stack(path.name), place)


def checkov(out: Path) -> Iterator[Finding]:
    """Run checkov over every template."""
    _install_checkov()
    options = ["--framework", "cloudformation", "--skip-download", "--soft-fail"]
    done = subprocess.run(
        [CHECKOV / "bin/checkov", *options, "--output", "json", "--quiet", "--directory", out],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"scan: checkov failed: {done.stderr[-2000:]}")
    report = json.loads(done.stdout)
    if report["summary"]["parsing_errors"]:
        raise SystemExit("scan: checkov could not read every template")
    for one in report["results"]["failed_checks"]:
        place = one["resource"].replace(".", "/", 1)
        yield Finding(one["check_id"], _stack(Path(one["file_path"]).name), place)


def _install_checkov() -> None:
    stamp = CHECKOV / "lock.txt"
    if stamp.is_file() and stamp.read_text() == CHECKOV_LOCK.read_text():
        return
    print("scan: installing checkov (190 MB, once)", file=sys.stderr)
    steps: tuple[tuple[str | Path, ...], ...] = (
        ("venv", "--clear", "--python", sys.executable, CHECKOV),
        ("pip", "sync", "--require-hashes", "--python", CHECKOV / "bin/python", CHECKOV_LOCK),
    )
    for step in steps:
        if subprocess.run([UV, *step, "--quiet"], check=False).returncode != 0:
            raise SystemExit("scan: checkov cannot be installed: is the package index reachable?")
    stamp.write_text(CHECKOV_LOCK.read_text())


def _stack(file_name: str) -> str:
    return file_name.removesuffix(".template.json")


def main(arguments: list[str] | None = None) -> int:
    """Scan every stage of a cdk.json; print what has no reason, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--all", action="store_true", help="run checkov too, and find reasons without a finding"
    )
    parser.add_argument("--stages", type=Path, default=ROOT / "cdk.json", help="the cdk.json")
    parser.add_argument("--synthesize", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.synthesize:
        try:
            # The flags of the CDK are those of the app, whichever stages are scanned.
            stages = read_context(options.stages)["stages"]
            synthesize(options.synthesize, {**read_context(ROOT / "cdk.json"), "stages": stages})
        except ConfigError as error:
            sys.exit(str(error))
        return 0
    with tempfile.TemporaryDirectory(prefix="embedq-scan-") as folder:
        # Another process: the CDK prints on its own what cdk-nag found, with or without a reason.
        command = [sys.executable, "-m", "scripts.scan", "--synthesize", folder]
        done = subprocess.run(
            [*command, "--stages", options.stages],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        if done.returncode != 0:
            print(done.stderr[-2000:], file=sys.stderr)
            return 1
        tools = (cdk_nag, cfn_lint, checkov) if options.all else (cdk_nag, cfn_lint)
        found = [one for tool in tools for one in tool(Path(folder))]
    return report(found, is_all=options.all)


def report(found: Sequence[Finding], *, is_all: bool) -> int:
    """Print what is wrong between findings and reasons, and return the exit code."""
    known, file = accepted(), FILE.relative_to(ROOT)
    lines = [
        f"{one}: correct the cause, or give a reason in {file}" for one in unknown(found, known)
    ]
    if is_all:
        idle = unused(found, known)
        lines += [f"{one.rule} at {one.at}: found no more, take it out of {file}" for one in idle]
    for line in lines:
        print(f"scan: {line}", file=sys.stderr)
    if not lines:
        print(f"scan: {len(found)} findings, each with its reason in {file}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
