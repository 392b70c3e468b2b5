"""A target on Bedrock through the whole stack: throttled, refused in part, searched."""

from decimal import Decimal

from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.identity import DocumentId, row_key
from functions.core.ledger_row import LedgerRow, Status
from local.provider.faults import Fault, FaultKind
from local.stack import LocalStack
from ops import searching
from ops.demo.provider import Provider
from ops.stack import local_deployment
from tests.stack.own_stage import OWN
from tests.waiting import until

TARGET, POISON = "bedrock", "plugh"
NAMES = ["a brass hinge for a door", "a wheel of a bicycle", f"a {POISON} that is refused"]


def test_throttled_and_refused_documents_on_bedrock(stack: LocalStack) -> None:
    """R17 R23 R24 R82: two 429 spend no attempt, a refused text fails alone, no key is there."""
    deployment = local_deployment(stack.endpoint_url, OWN.stack)
    settings, source = deployment.target(TARGET), deployment.source("parts")
    provider = Provider(stack.model_origin)
    provider.set_faults(
        Fault(FaultKind.RATE_LIMITED, requests=2, seconds=1, model=settings.model),
        Fault(FaultKind.POISON, marker=POISON, model=settings.model),
    )
    try:
        keys = []
        for number, name in enumerate(NAMES, start=7001):
            item = {"part": Decimal(number), "digest": b"bedrock", "name": name}
            deployment.client("dynamodb").put_item(TableName=source.table, Item=to_dynamodb(item))
            # As the index names it: a number, and bytes in base64.
            keys.append(row_key(TARGET, "parts", DocumentId(f"{number}|YmVkcm9jaw==")))

        def rows() -> list[LedgerRow]:
            found = deployment.ledger.read(keys)
            return [found[key] for key in keys if key in found]

        ends = [Status.COMPLETED, Status.COMPLETED, Status.FAILED]
        until(lambda: [row.status for row in rows()] == ends, "each document has ended")
    finally:
        provider.set_faults()

    *good, refused = rows()
    assert [(row.progress.attempts, row.errors) for row in good] == [(1, ()), (1, ())]
    assert refused.outcome.reason is not None
    assert refused.outcome.reason.startswith("invalid_input: the provider answered 400 Validation")
    [found] = searching.find(deployment, "brass hinge", target=TARGET, most=1)
    assert found.document_id == good[0].task.document_id
    assert (settings.provider, settings.dimensions) == ("bedrock", 512)
    assert deployment.secret_arn(TARGET) == ""
    assert deployment.secret_arn("large")

    # Other tests compare this table with its indexes.
    for number in range(7001, 7001 + len(NAMES)):
        key = to_dynamodb({"part": Decimal(number), "digest": b"bedrock"})
        deployment.client("dynamodb").delete_item(TableName=source.table, Key=key)
    until(lambda: {row.status for row in rows()} == {Status.DELETED}, "all are deleted")
