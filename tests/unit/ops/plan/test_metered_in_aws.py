"""What CloudWatch has metered of a stage since a plan was made."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from functions.core.names import METRICS_NAMESPACE
from ops.deployment import Deployment
from ops.output import UsageError
from ops.plan.metered import TOKENS, checked, in_aws, write_units

NOW = datetime.now(UTC)
STAGE = [{"Name": "service", "Value": "embed"}, {"Name": "stage", "Value": "prod"}]
TABLE = [{"Name": "TableName", "Value": "ledger"}]
INDEX = [*TABLE, {"Name": "GlobalSecondaryIndexName", "Value": "open"}]


@pytest.fixture
def prod(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        session = boto3.Session(region_name="us-east-1")
        outputs = {"LedgerTable": "ledger", "ErrandsQueueUrl": "https://sqs/1/embedq-prod-errands"}
        yield Deployment(outputs, session, stage="search-of-shop")


def put(prod: Deployment, namespace: str, metric: str, value: float, **rest: object) -> None:
    data = {"MetricName": metric, "Value": value, "Timestamp": NOW, **rest}
    prod.client("cloudwatch").put_metric_data(Namespace=namespace, MetricData=[data])


def test_metrics_of_the_stage_are_summed_since_the_plan(prod: Deployment) -> None:
    """R50: those of other stages, and of the time before, are not its matter.

    The stack may have any name: metrics have that of the stage.
    """
    other = [STAGE[0], {"Name": "stage", "Value": "dev"}]
    before = NOW - timedelta(hours=2)
    put(prod, METRICS_NAMESPACE, TOKENS, 100, Dimensions=STAGE)
    put(prod, METRICS_NAMESPACE, TOKENS, 20, Dimensions=STAGE)
    put(prod, METRICS_NAMESPACE, TOKENS, 3, Dimensions=other)
    put(prod, METRICS_NAMESPACE, TOKENS, 4, Dimensions=STAGE, Timestamp=before)

    found = in_aws(prod, NOW - timedelta(hours=1))

    assert +found == Counter({TOKENS: 120})


def test_units_are_those_of_the_table_and_its_index(prod: Deployment) -> None:
    """R50: DynamoDB meters them apart."""
    put(prod, "AWS/DynamoDB", "ConsumedWriteCapacityUnits", 300, Dimensions=TABLE)
    put(prod, "AWS/DynamoDB", "ConsumedWriteCapacityUnits", 400, Dimensions=INDEX)

    assert write_units(prod, NOW - timedelta(hours=1)) == 700


def test_file_that_is_no_plan_gets_one_line(prod: Deployment, tmp_path: Path) -> None:
    """R50: it names the command that makes one."""
    path = tmp_path / "plan.json"
    path.write_text("{}")

    with pytest.raises(UsageError, match=r"is no plan: make one with `embedq plan --json"):
        checked(prod, path)
