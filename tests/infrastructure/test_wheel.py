"""The wheel in an environment of another person: its names, its command, an app that uses it."""

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest

from embedq import __version__
from infrastructure.function_table import FUNCTIONS
from scripts.build_wheel import UV, build
from tests.infrastructure.synthesized import ROOT, Synthesized
from tests.run_folder import made_once

# Folders of the checkout that a package of another person may be called, too.
OUR_FOLDERS = ("functions", "infrastructure", "ops", "local", "scripts", "tests", "benchmarks")


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a built wheel and an environment that it is installed in."""

    def make(folder: Path) -> None:
        code = folder / "code"
        code.mkdir()
        for name in FUNCTIONS:
            (code / f"{name}.zip").write_bytes(f"PK {name}".encode())
        made = build(folder, code)
        uv(["venv", "--python", sys.executable, folder / "venv"])
        uv(["pip", "install", "--no-deps", "--python", folder / "venv/bin/python", made])
        # The locked packages of others come from the checkout: no test leaves this machine.
        [packages] = (folder / "venv/lib").glob("*/site-packages")
        (packages / "locked.pth").write_text(sysconfig.get_path("purelib"))

    return made_once(tmp_path_factory, "wheel", make)


def uv(arguments: list[str | Path]) -> None:
    """Run uv, which must need no network."""
    subprocess.run([UV, *arguments, "--quiet", "--offline"], check=True)


def run(home: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the installed environment, far from the checkout."""
    node = os.environ["JSII_NODE"]
    python, script = home / "venv/bin/python", home / "venv/bin/embedq"
    # The environment was made under another name, and a script of it starts with that name.
    program = [python, script] if command[0] == "embedq" else [python]
    return subprocess.run(
        [*program, *command[1:]],
        cwd=home,
        env={"HOME": os.environ["HOME"], "PATH": "", "JSII_NODE": node, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_app_of_another_person_synthesizes_with_the_wheel_alone(home: Path, tmp_path: Path) -> None:
    """R54 R01: table, secret, topics and VPC of the app, and the zips that are in the wheel."""
    app = str(ROOT / "tests/infrastructure/foreign_app.py")

    done = run(home, "python", "-I", app, str(tmp_path))

    assert done.returncode == 0, done.stderr
    template: dict[str, Any] = json.loads((tmp_path / "Shop.template.json").read_text())
    shop = Synthesized("shop", tmp_path, template)
    [table] = shop.resources("AWS::DynamoDB::GlobalTable")
    [stream] = shop.mappings(next(iter(shop.functions("enqueue"))))
    assert stream["EventSourceArn"] == f"{table}.StreamArn"
    private = {
        name
        for name, subnet in shop.resources("AWS::EC2::Subnet").items()
        if "PrivateSubnet" in name and not subnet["Properties"]["MapPublicIpOnLaunch"]
    }
    for folder in FUNCTIONS:
        [function] = shop.functions(folder).values()
        assert set(function["VpcConfig"]["SubnetIds"]) == private
    [domain] = shop.properties("AWS::OpenSearchService::Domain")
    assert set(domain["VPCOptions"]["SubnetIds"]) == private
    assert len(shop.resources("AWS::SNS::Topic")) == 2
    assert len(shop.resources("AWS::SecretsManager::Secret")) == 1
    deployed = {path.read_bytes() for path in tmp_path.glob("asset.*.zip")}
    assert deployed == {f"PK {name}".encode() for name in FUNCTIONS}


def test_command_of_the_wheel_answers(home: Path) -> None:
    """R40: help, version, and a stage in AWS; no stack runs from a package."""
    version = run(home, "embedq", "--version")
    shown = run(home, "embedq", "--help")
    stats = run(home, "embedq", "stats", "--stage", "shop", AWS_EC2_METADATA_DISABLED="true")
    here = run(home, "embedq", "up")

    assert (version.returncode, version.stdout) == (0, f"embedq {__version__}\n"), version.stderr
    assert shown.returncode == 0
    assert "dead" in shown.stdout
    assert (stats.returncode, stats.stdout) == (2, "")
    assert "the stack embedq-shop cannot be read: no AWS region is set" in stats.stderr
    assert here.returncode == 2
    assert here.stderr.startswith("embedq: an installed package runs no stack on this machine")


def test_every_module_of_the_wheel_can_be_imported_and_none_is_beside_the_package(
    home: Path,
) -> None:
    """R54 R01: a package of the user may be called functions, or tests, or local."""
    code = (
        "import importlib, importlib.util, pkgutil, embedq\n"
        "for one in pkgutil.walk_packages(embedq.__path__, 'embedq.'):\n"
        "    if not one.name.endswith('__main__'): importlib.import_module(one.name)\n"
        f"print([n for n in {OUR_FOLDERS} if importlib.util.find_spec(n)])"
    )

    done = run(home, "python", "-I", "-c", code)

    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_console_of_the_wheel_has_its_pages(home: Path) -> None:
    """R49 R54: templates and scripts are in the wheel, and every page can be made."""
    code = (
        "from pathlib import Path\n"
        "from embedq.ops.console import app\n"
        "here = Path(app.__file__).parent\n"
        "print(*sorted(p.name for p in here.glob('*/*') if p.suffix != '.pyc'))"
    )

    done = run(home, "python", "-I", "-c", code)

    folder = ROOT / "ops/console"
    own = sorted(path.name for path in folder.glob("[st]*/*") if path.suffix != ".pyc")
    assert (done.returncode, done.stdout.split()) == (0, own), done.stderr
    assert "overview.html" in own


def test_same_inputs_give_the_same_wheel(home: Path, tmp_path: Path) -> None:
    """R01: as the zips."""
    again = build(tmp_path, home / "code")

    digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (again, home / again.name)}
    assert len(digests) == 1


def test_wheel_asks_for_what_it_imports(home: Path) -> None:
    """R54 R01 R52: the CDK only of those who want the construct, scipy of those who measure."""
    [wheel] = home.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        [metadata] = [name for name in archive.namelist() if name.endswith("METADATA")]
        asked = message_from_bytes(archive.read(metadata)).get_all("Requires-Dist", [])
    cdk = {one.partition(">")[0] for one in asked if "extra == 'cdk'" in one}
    measures = {one.partition(">")[0] for one in asked if "extra == 'eval'" in one}
    others = {one.partition(">")[0] for one in asked if "extra" not in one}

    assert cdk == {"aws-cdk-lib", "constructs"}
    assert measures == {"ir-measures"}
    assert {"boto3", "click", "pydantic", "rich"} <= others
    assert not others & {"aws-lambda-powertools", "moto", "cdk-nag", "ir-measures"}


def test_construct_without_the_cdk_says_what_to_install(home: Path) -> None:
    """R54 R01: a line with the way out."""
    code = "import sys; sys.modules['aws_cdk'] = None; from embedq import EmbeddingPipeline"

    done = run(home, "python", "-I", "-c", code)

    assert done.stderr.splitlines()[-1] == (
        "ImportError: EmbeddingPipeline needs the CDK: pip install 'embedq[cdk]'"
    )
