"""Saved queries of Logs Insights: the questions that an operator asks the logs."""

from aws_cdk import aws_logs as logs
from constructs import Construct

from infrastructure.names import pascal, stack_name
from infrastructure.parts import Parts

_LINE = "fields @timestamp, service, message, document_id, version, lane, attempt, failure, reason"
QUERIES = {
    "one document": f'{_LINE}, trace_id | filter document_id = "ID" | sort @timestamp asc',
    "one trace": f"{_LINE} | filter trace_id like /ROOT/ | sort @timestamp asc",
    "causes": 'filter message in ["failure_bulk", "failure_isolated"]'
    " | stats sum(documents) as failed, min(@timestamp) as first, max(@timestamp) as last"
    " by failure, reason | sort failed desc",
    "slowest": f"{_LINE}, freshness_ms | filter ispresent(freshness_ms)"
    " | sort freshness_ms desc | limit 50",
    "most expensive": "filter ispresent(tokens)"
    " | stats sum(tokens) as paid, count(*) as versions by source, document_id"
    " | sort paid desc | limit 50",
    "what changed since": 'filter level in ["WARNING", "ERROR"]'
    " | stats min(@timestamp) as first, max(@timestamp) as last, count(*) as lines"
    " by service, message | sort first desc",
    "errors": f'{_LINE}, exception_name, exception | filter level = "ERROR"'
    " | sort @timestamp desc | limit 50",
}


def save_queries(scope: Construct, parts: Parts) -> None:
    """Save each query for the logs of every function, in a folder of the stage."""
    groups = [function.log_group.log_group_name for function in parts.functions.values()]
    for name, query in QUERIES.items():
        logs.CfnQueryDefinition(
            scope,
            pascal(*name.split(), "query"),
            name=f"{stack_name(parts.stage)}/{name}",
            query_string=query,
            log_group_names=groups,
        )
