"""CloudWatch Logs' answers about the functions' lines, from the files that the runner writes."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.responses import Response

from local.aws_client import local_arn
from local.endpoint.messages import Request
from local.endpoint.protocols import AwsError, json_answer, parameters
from local.log_lines import LoggedLine, lines_of

# All processes of a function write into one file.
STREAM = "local"
MOST_EVENTS = 10_000
KNOWN = "describe-log-groups, describe-log-streams, filter-log-events and get-log-events"
_SYMBOLS = ("{", "[", "?", "%")


class LogGroups:
    """One group for each function, with one stream."""

    def __init__(self) -> None:
        self._folder = Path()
        self._functions: Mapping[str, str] = {}  # by group

    def serve(self, folder: Path, functions: Mapping[str, str]) -> None:
        """Answer from the files of a folder, each named after its function."""
        self._folder = folder
        self._functions = functions

    def answer(self, request: Request) -> Response:
        """Answer a call that reads; refuse all others."""
        given = parameters(request)
        match request.action:
            case "DescribeLogGroups":
                return json_answer(200, {"logGroups": self._groups(given)})
            case "DescribeLogStreams":
                return json_answer(200, {"logStreams": self._streams(given)})
            case "FilterLogEvents":
                events = self._page(given, "nextToken")
                return json_answer(200, events | {"searchedLogStreams": []})
            case "GetLogEvents":
                page = self._page(given, "nextToken")
                end = page.get("nextToken", given.get("nextToken", "0"))
                tokens = {"nextForwardToken": end, "nextBackwardToken": "0"}
                return json_answer(200, {"events": page["events"], **tokens})
        raise AwsError(
            "NotRunHere", f"on one machine CloudWatch Logs answers {KNOWN} only: see `embedq logs`"
        )

    def _groups(self, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        start, part = given.get("logGroupNamePrefix", ""), given.get("logGroupNamePattern", "")
        return [
            {
                "logGroupName": group,
                "arn": f"{local_arn('logs', f'log-group:{group}')}:*",
                "logGroupArn": local_arn("logs", f"log-group:{group}"),
                "storedBytes": self._size(group),
                "metricFilterCount": 0,
            }
            for group in sorted(self._functions)
            if group.startswith(start) and part in group
        ]

    def _streams(self, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        lines = self._lines(given)
        if not lines:
            return []
        return [
            {
                "logStreamName": STREAM,
                "firstEventTimestamp": _ms(lines[0]),
                "lastEventTimestamp": _ms(lines[-1]),
                "storedBytes": 0,
            }
        ]

    def _page(self, given: Mapping[str, Any], token: str) -> dict[str, Any]:
        """Return the lines that are asked for, from where the last page ended."""
        words = _words(given.get("filterPattern") or "")
        first, last = given.get("startTime", 0), given.get("endTime")
        streams = given.get("logStreamNames") or [given.get("logStreamName", STREAM)]
        found = [
            (number, line)
            for number, line in enumerate(self._lines(given))
            if first <= _ms(line)
            and (last is None or _ms(line) < last)
            and all(word in line.line for word in words)
            and STREAM in streams
        ]
        begin = int(given.get(token) or 0)
        limit = min(int(given.get("limit", MOST_EVENTS)), MOST_EVENTS)
        later = [one for one in found if one[0] >= begin]
        events = [_event(number, line) for number, line in later[:limit]]
        rest = later[limit:]
        return {"events": events} | ({"nextToken": str(rest[0][0])} if rest else {})

    def _lines(self, given: Mapping[str, Any]) -> list[LoggedLine]:
        group = given.get("logGroupName") or given.get("logGroupIdentifier", "")
        path = self._path(group.rpartition("log-group:")[2] or group)
        return lines_of(path) if path.exists() else []

    def _size(self, group: str) -> int:
        path = self._path(group)
        return path.stat().st_size if path.exists() else 0

    def _path(self, group: str) -> Path:
        if group not in self._functions:
            raise AwsError(
                "ResourceNotFoundException",
                f"The specified log group does not exist: {group}; there are"
                f" {', '.join(sorted(self._functions)) or 'none'}",
            )
        return self._folder / f"{self._functions[group]}.log"


def _words(pattern: str) -> list[str]:
    """Read the simple patterns: words that all are in the line, or one phrase in quotes.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
    """
    pattern = pattern.strip()
    if pattern.startswith('"') and pattern.endswith('"') and len(pattern) > 1:
        return [str(json.loads(pattern))]
    if pattern.startswith(_SYMBOLS) or '"' in pattern or " -" in f" {pattern}":
        raise AwsError(
            "NotRunHere",
            f"the filter pattern {pattern} is not run on one machine: name words that a line holds,"
            " or one phrase in double quotes; `embedq logs --document ID` finds a document",
        )
    return pattern.split()


def _event(number: int, line: LoggedLine) -> dict[str, Any]:
    at = _ms(line)
    return {
        "logStreamName": STREAM,
        "timestamp": at,
        "ingestionTime": at,
        "message": line.line,
        "eventId": f"{number:056}",
    }


def _ms(line: LoggedLine) -> int:
    return int((line.at or datetime.fromtimestamp(0, UTC)).timestamp() * 1000)
