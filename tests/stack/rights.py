"""Which rights of IAM the calls of a command need, and which docs/rights.md gives."""

import json
import re
from collections import defaultdict
from dataclasses import replace
from typing import Any

import boto3

from ops.deployment import Deployment
from tests.repo.checkout import ROOT

# Rights that are not named as the call is.
# https://docs.aws.amazon.com/service-authorization/latest/reference/
NAMES = {
    "dynamodb:BatchExecuteStatement": "dynamodb:PartiQLUpdate",
    "lambda:Invoke": "lambda:InvokeFunction",
    "monitoring:GetMetricData": "cloudwatch:GetMetricData",
    "s3:HeadBucket": "s3:ListBucket",
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
}
LOOKING = (
    "status timeline stats lanes stuck breakers health search eval wait get actions verify plan"
)
LOOKS = {*LOOKING.split(), "jobs list", "budget show", "dead list", "dead causes", "dead show"}
# The page says what these need besides.
OTHERS = {"put", "delete", "embed"}


class Rights:
    """Collects what is called, by the command that is run."""

    def __init__(self) -> None:
        self.command = ""
        self._needed: dict[str, set[str]] = defaultdict(set)

    def watch(self, deployment: Deployment) -> Deployment:
        """Return the same stack, with clients whose calls are seen."""
        known = deployment.session.get_credentials()
        assert known is not None
        session = boto3.Session(
            known.access_key, known.secret_key, region_name=deployment.session.region_name
        )
        session.events.register("before-call", self._seen)
        return replace(deployment, session=session)

    def missing(self) -> dict[str, set[str]]:
        """Return what commands have needed and the page does not give."""
        looks = granted("looks")
        acts = looks | granted("acts")
        found = {
            command: needed - (looks if command in LOOKS else acts)
            for command, needed in self._needed.items()
            if command not in OTHERS
        }
        return {command: rights for command, rights in found.items() if rights}

    def _seen(self, model: Any, **_: Any) -> None:
        call = f"{model.service_model.signing_name}:{model.name}"
        self._needed[self.command].add(NAMES.get(call, call))


def granted(name: str) -> set[str]:
    """Return the actions of a policy of the page."""
    page = (ROOT / "docs/rights.md").read_text()
    [policy] = re.findall(rf"<!-- {name} -->\n```json\n(.*?)```", page, re.DOTALL)
    actions = (one["Action"] for one in json.loads(policy)["Statement"])
    return {right for one in actions for right in ([one] if isinstance(one, str) else one)}
