"""A package folder is thinned to what runs, and zipped to the same bytes."""

import os
import zipfile
from pathlib import Path

import pytest

from scripts.package_folder import thin, write_zip


def write(folder: Path, *names: str) -> None:
    """Create files with their own name as content."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def left(folder: Path) -> set[str]:
    """Return what is in the folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_thinning_keeps_code_metadata_and_licences(tmp_path: Path) -> None:
    """R01: importlib.metadata still finds the version; tests, stubs and notes are gone."""
    keep = {
        "lib/code.py",
        "lib/native.so",
        "lib/data.json",
        "lib/testing/tool.py",
        "lib-1.dist-info/METADATA",
        "lib-1.dist-info/licenses/LICENSE",
    }
    drop = {
        "bin/tool",
        "lib/code.pyi",
        "lib/__pycache__/code.cpython-313.pyc",
        "lib/tests/test_code.py",
        "lib/sub/tests/data.json",
        "lib-1.dist-info/RECORD",
        "lib-1.dist-info/INSTALLER",
        "lib-1.dist-info/direct_url.json",
    }
    write(tmp_path, *keep, *drop)

    thin(tmp_path, services=set())

    assert left(tmp_path) == keep


def test_only_the_models_of_used_aws_services_stay(tmp_path: Path) -> None:
    """R01: botocore's models are most of its size; a function uses a handful."""
    write(
        tmp_path,
        "botocore/data/endpoints.json",
        "botocore/data/sqs/2012/service-2.json",
        "botocore/data/ec2/2016/service-2.json",
        "boto3/data/ec2/2016/resources-1.json",
    )

    thin(tmp_path, services={"sqs", "unrelated word"})

    assert left(tmp_path) == {
        "botocore/data/endpoints.json",
        "botocore/data/sqs/2012/service-2.json",
    }


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    """R01: neither time, mode nor order of writing shows in the zip."""
    first, second = tmp_path / "first", tmp_path / "second"
    write(first, "b.py", "a/c.py")
    write(second, "a/c.py", "b.py")
    os.utime(second / "b.py", (1, 1))
    (second / "b.py").chmod(0o600)

    write_zip(first, tmp_path / "first.zip")
    write_zip(second, tmp_path / "second.zip")

    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()


def test_entries_have_a_fixed_mode_and_time(tmp_path: Path) -> None:
    """R01: Lambda runs as another user than the one who built the zip; no clock shows in it."""
    write(tmp_path / "in", "a.py")
    (tmp_path / "in/a.py").chmod(0o600)

    write_zip(tmp_path / "in", tmp_path / "out.zip")

    [entry] = zipfile.ZipFile(tmp_path / "out.zip").infolist()
    assert entry.external_attr >> 16 & 0o777 == 0o644
    assert entry.date_time == (1980, 1, 1, 0, 0, 0)


def test_a_zip_that_breaks_off_leaves_the_last_one(tmp_path: Path) -> None:
    """R01: the zip appears whole or not at all."""
    (tmp_path / "out.zip").write_text("last one")
    write(tmp_path / "in", "a.py")
    (tmp_path / "out.part").mkdir()

    with pytest.raises(IsADirectoryError):
        write_zip(tmp_path / "in", tmp_path / "out.zip")

    assert (tmp_path / "out.zip").read_text() == "last one"
