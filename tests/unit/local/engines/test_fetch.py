"""Pinned files arrive whole and checked, whatever the network does on the way."""

import subprocess
import sys
from errno import ECONNREFUSED
from pathlib import Path

import pytest

from local.engines.errors import ChecksumError, FetchError
from local.engines.fetch import Artifact, fetch_all
from local.engines.progress import FetchProgress
from tests.unit.local.engines.mirror import Mirror

CONTENT = bytes(range(256)) * 400


def fetch(*artifacts: Artifact) -> dict[Artifact, Path]:
    """Fetch without waiting between the tries."""
    return fetch_all(artifacts, FetchProgress(), pause=lambda _: None)


def part_of(artifact: Artifact, cache: Path) -> Path:
    """Return where a run that was broken off left its bytes."""
    part = cache / "maven" / f"{artifact.path}.{artifact.sha256[:12]}.part"
    part.parent.mkdir(parents=True)
    return part


def test_a_file_is_fetched_once(mirror: Mirror) -> None:
    """R82: engines come by pin from the mirror and stay in the user's cache."""
    artifact = mirror.hold("a", CONTENT)

    first = fetch(artifact)
    second = fetch(artifact)

    assert first == second
    assert first[artifact].read_bytes() == CONTENT
    assert mirror.ranges == [None]


def test_a_download_that_breaks_off_goes_on_where_it_was(mirror: Mirror) -> None:
    """R82: only the missing bytes are asked for again."""
    artifact = mirror.hold("a", CONTENT)
    mirror.break_after = [1000, 500]

    paths = fetch(artifact)

    assert paths[artifact].read_bytes() == CONTENT
    assert mirror.ranges == [None, "bytes=1000-", "bytes=1500-"]


def test_any_number_of_breaks_is_survived_while_bytes_arrive(mirror: Mirror) -> None:
    """R82: a slow line is not an unreachable one."""
    artifact = mirror.hold("a", CONTENT)
    mirror.break_after = [1000] * 20

    assert fetch(artifact)[artifact].read_bytes() == CONTENT


def test_the_bytes_of_an_earlier_run_are_used(mirror: Mirror, cache: Path) -> None:
    """R82: a download resumes in a new process."""
    artifact = mirror.hold("a", CONTENT)
    part_of(artifact, cache).write_bytes(CONTENT[:700])

    paths = fetch(artifact)

    assert paths[artifact].read_bytes() == CONTENT
    assert mirror.ranges == ["bytes=700-"]


def test_a_complete_part_needs_no_more_bytes(mirror: Mirror, cache: Path) -> None:
    """R82: killed between the last byte and the rename."""
    artifact = mirror.hold("a", CONTENT)
    part_of(artifact, cache).write_bytes(CONTENT)

    assert fetch(artifact)[artifact].read_bytes() == CONTENT


def test_damaged_bytes_of_an_earlier_run_are_fetched_anew(mirror: Mirror, cache: Path) -> None:
    """R82: a bad part file does not block the fetch for ever."""
    artifact = mirror.hold("a", CONTENT)
    part_of(artifact, cache).write_bytes(b"<html>please log in</html>")

    assert fetch(artifact)[artifact].read_bytes() == CONTENT


def test_a_server_without_ranges_sends_the_whole_file(mirror: Mirror) -> None:
    """R82: the answer to a resumed request may be the whole file."""
    artifact = mirror.hold("a", CONTENT)
    mirror.has_ranges = False
    mirror.break_after = [1000]

    assert fetch(artifact)[artifact].read_bytes() == CONTENT


def test_another_file_than_the_pinned_one_is_refused(mirror: Mirror, cache: Path) -> None:
    """R82: sha256 is checked, and a wrong file is not kept."""
    pinned = mirror.hold("a", CONTENT)
    other = mirror.hold("a", b"something else")

    with pytest.raises(ChecksumError) as refused:
        fetch(pinned)

    for part in (pinned.coordinate, pinned.sha256, other.sha256, mirror.url, "--engines memory"):
        assert part in str(refused.value)
    assert [path.suffix for path in cache.rglob("*") if path.is_file()] == [".lock"]


def test_an_unreachable_repository_is_one_clear_message(
    cache: Path,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R82: where Maven cannot be reached, the message names the way out."""
    monkeypatch.setenv("EMBEDQ_MAVEN_MIRROR", "http://127.0.0.1:9")

    with pytest.raises(FetchError) as failed:
        fetch(Artifact("org.example:a:jar:1.0", "0" * 64))

    assert str(failed.value) == (
        "Cannot fetch org.example:a:jar:1.0 from http://127.0.0.1:9/org/example/a/1.0/a-1.0.jar: "
        f"[Errno {ECONNREFUSED}] Connection refused. Set EMBEDQ_MAVEN_MIRROR to a Maven repository "
        "that this machine can reach, or run with `--engines memory`, which needs no download and "
        "no Java."
    )


def test_a_missing_file_is_not_asked_for_again(mirror: Mirror) -> None:
    """R82: a 404 does not pass by waiting."""
    with pytest.raises(FetchError, match="the server answered 404 Not Found"):
        fetch(Artifact("org.example:missing:jar:1.0", "0" * 64))

    assert mirror.ranges == [None]


def test_a_busy_server_is_asked_again(mirror: Mirror) -> None:
    """R82: 429 and 503 pass by waiting."""
    artifact = mirror.hold("a", CONTENT)
    mirror.refuse_with = [503, 429]

    assert fetch(artifact)[artifact].read_bytes() == CONTENT


def test_the_first_failure_ends_the_other_downloads(mirror: Mirror) -> None:
    """R82: a failed fetch tells so at once, not after the largest file."""
    endless = mirror.hold("endless", b"")
    mirror.endless.add(f"/{endless.path}")

    with pytest.raises(FetchError):
        fetch(Artifact("org.example:missing:jar:1.0", "0" * 64), endless)

    assert mirror.hung_up.wait(10)


def test_two_processes_fetch_a_file_together_once(mirror: Mirror) -> None:
    """R82: two first runs at the same time do not break each other."""
    artifact = mirror.hold("a", CONTENT)
    mirror.may_answer.clear()
    program = (
        "from local.engines.fetch import Artifact\n"
        "from local.engines.fetch import fetch_all\n"
        "from local.engines.progress import FetchProgress\n"
        "print('begun', flush=True)\n"
        f"fetch_all([{artifact!r}], FetchProgress())\n"
    )
    processes = []
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", program], cwd=Path.cwd(), stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        assert mirror.asked.wait(10)
        processes.append(process)

    mirror.may_answer.set()

    for process in processes:
        with process:
            assert process.wait(20) == 0
    assert fetch(artifact)[artifact].read_bytes() == CONTENT
    assert mirror.ranges == [None]
