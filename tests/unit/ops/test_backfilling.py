"""A backfill that is watched from the command line."""

import time
from dataclasses import replace

import pytest

from functions.core.backfill_job import Estimate, Job, Only
from functions.core.settings import RetentionSettings
from ops import backfilling
from ops.deployment import Deployment
from ops.jobs import jobs_of
from tests.builders import NOW_MS

JOB = Job("job-1", "articles", "default", Only.ALL, 1, "me", "", NOW_MS, Estimate(9, 9, 90))


def interrupt(_: float) -> None:
    raise KeyboardInterrupt


def test_who_stops_watching_is_told_that_the_job_goes_on(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R43 R40: the function does the work; nothing of it is on stdout, which is the answer's."""
    outputs = deployment.outputs | {"Retention": RetentionSettings().model_dump_json()}
    stack = replace(deployment, outputs=outputs, stage="prod")
    jobs_of(stack).create(JOB)
    monkeypatch.setattr(time, "sleep", interrupt)

    with pytest.raises(KeyboardInterrupt):
        backfilling.watch(stack, JOB)

    printed = capsys.readouterr()
    assert printed.err == (
        "the backfill job-1 goes on: `embedq jobs --stage prod` shows how far it is,"
        " `embedq jobs cancel job-1 --stage prod` ends it\n"
    )
    assert printed.out == ""
