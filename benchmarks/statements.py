"""The ledger's statements taken apart: each is an UpdateItem, for which an engine says its units.

DynamoDB Local bills BatchExecuteStatement, and does not say what.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

STATEMENT = re.compile(
    r'UPDATE "(?P<table>[\w.-]+)"(?P<sets>(?: SET "\w+"=\?)+)(?P<removes>(?: REMOVE "\w+")*)'
    r" WHERE (?P<key>\w+)=\?(?P<conditions>(?: AND \w+=\?)*)"
)


@dataclass(frozen=True)
class Update:
    """What a statement does, and to which item."""

    table: str
    key: dict[str, Any]
    sets: dict[str, Any]
    removes: list[str]
    conditions: dict[str, Any]

    def request(self) -> dict[str, Any]:
        """Write it as an UpdateItem."""
        names = [*self.key, *self.sets, *self.removes, *self.conditions]
        values = {f":{name}": value for name, value in self.sets.items()}
        values |= {f":met_{name}": value for name, value in self.conditions.items()}
        conditions = [f"attribute_exists(#{name})" for name in self.key]
        conditions += [f"#{name} = :met_{name}" for name in self.conditions]
        expression = "SET " + ", ".join(f"#{name} = :{name}" for name in self.sets)
        if self.removes:
            expression += " REMOVE " + ", ".join(f"#{name}" for name in self.removes)
        return {
            "TableName": self.table,
            "Key": self.key,
            "UpdateExpression": expression,
            "ConditionExpression": " AND ".join(conditions),
            "ExpressionAttributeNames": {f"#{name}": name for name in names},
            "ExpressionAttributeValues": values,
        }


def update_of(statement: Mapping[str, Any]) -> Update:
    """Take a statement apart; there is no other kind than the ledger's."""
    found = STATEMENT.fullmatch(statement["Statement"])
    if found is None:
        raise ValueError(f"not a statement of the ledger: {statement['Statement']}")
    sets, removes = (re.findall(r'"(\w+)"', found[part]) for part in ("sets", "removes"))
    conditions = re.findall(r" AND (\w+)=", found["conditions"])
    values = iter(statement["Parameters"])
    return Update(
        table=found["table"],
        sets={name: next(values) for name in sets},
        key={found["key"]: next(values)},
        removes=removes,
        conditions={name: next(values) for name in conditions},
    )


def with_units(client: Any) -> Callable[..., Any]:
    """Return a handler of before-call.dynamodb.BatchExecuteStatement, to answer in its place.

    It makes the updates one by one by another client, and answers with their units, as AWS does.
    """

    def answer(params: Mapping[str, Any], **_: Any) -> Any:
        answers: list[dict[str, Any]] = []
        units: list[dict[str, Any]] = []
        for statement in json.loads(params["body"])["Statements"]:
            request = update_of(statement).request()
            wanted = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
            try:
                done = client.update_item(**request, **wanted, ReturnConsumedCapacity="INDEXES")
            except client.exceptions.ConditionalCheckFailedException as error:
                unmet = {"Code": "ConditionalCheckFailed", "Item": error.response.get("Item")}
                answers.append({"Error": unmet})
            else:
                answers.append({"TableName": request["TableName"]})
                units.append(done["ConsumedCapacity"])
        return AWSResponse(params["url"], 200, HTTPHeaders(), None), {
            "Responses": answers,
            "ConsumedCapacity": units,
        }

    return answer
