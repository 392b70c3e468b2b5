"""The browser of the tests: the Chromium that setup has installed as locked, or the system's."""

import json
import os
import platform
import shutil
import subprocess
import tarfile
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).resolve().parents[1]
PACKED = ROOT / "node_modules/@sparticuz/chromium"
AXE = ROOT / "node_modules/axe-core/axe.min.js"
SYSTEM = ("chromium", "chromium-browser", "google-chrome")
NONE = (
    "no browser: `make setup` installs one on Linux with x86-64; elsewhere install Chromium, so"
    f" that one of {', '.join(SYSTEM)} is on the path"
)
# Fonts of the package, and those of the machine for what it lacks.
FONTS = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/fonts</dir><dir>/usr/share/fonts</dir><cachedir>{folder}/cache</cachedir>
<alias><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
</fontconfig>
"""
UNPACK = """\
const {readFileSync, writeFileSync} = require("fs");
const {brotliDecompressSync} = require("zlib");
const [packed, folder] = process.argv.slice(1);
for (const name of ["chromium", "al2023.tar", "fonts.tar"]) {
  const content = readFileSync(`${packed}/bin/${name}.br`);
  writeFileSync(`${folder}/${name}`, brotliDecompressSync(content));
}
"""


def browser_program() -> Path | None:
    """Return a Chromium that runs here; None if there is none."""
    is_fit = (platform.system(), platform.machine()) == ("Linux", "x86_64")
    if is_fit and (PACKED / "package.json").is_file():
        return _unpacked() / "chromium"
    found = next(filter(None, map(shutil.which, SYSTEM)), None)
    return Path(found) if found else None


def browser_environment(program: Path) -> dict[str, str]:
    """Return the environment with the libraries and fonts that a bare machine lacks."""
    folder = program.parent
    if not (folder / "fonts.conf").is_file():
        return dict(os.environ)
    return {
        **os.environ,
        "LD_LIBRARY_PATH": str(folder / "lib"),
        "FONTCONFIG_FILE": str(folder / "fonts.conf"),
    }


def _unpacked() -> Path:
    version = json.loads((PACKED / "package.json").read_text())["version"]
    folder = ROOT / "build" / f"browser-{version}"
    folder.parent.mkdir(exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            part = Path(f"{folder}.part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            node = os.environ["JSII_NODE"]
            subprocess.run([node, "-e", UNPACK, str(PACKED), str(part)], check=True)
            for name in ("al2023.tar", "fonts.tar"):
                with tarfile.open(part / name) as archive:
                    archive.extractall(part, filter="data")
                (part / name).unlink()
            (part / "chromium").chmod(0o755)
            (part / "fonts.conf").write_text(FONTS.format(folder=folder))
            part.rename(folder)
    return folder
