"""What a million documents of 1 KB cost by the counts of this run and dated list prices. Pure."""

from dataclasses import dataclass

from benchmarks.bench.row import Row
from infrastructure.config.prices import (
    PRICES_OF,
    USD_PER_GB,
    USD_PER_MILLION,
    USD_PER_MILLION_TOKENS,
)

DOCUMENTS = 1_000_000
# Of OpenAI: the other names are models of others.
OPENAI = "text-embedding-"


@dataclass(frozen=True)
class Usage:
    """What one document takes of each thing that is billed."""

    write_units: float
    read_units: float
    sqs_calls: float
    is_fifo: bool
    invocations: float
    gb_seconds: float
    events: float
    log_bytes: float
    tokens: float


def parts(usage: Usage) -> dict[str, float]:
    """Return the dollars of a million documents, by the part of AWS that bills them."""
    queue = "sqs_fifo_call" if usage.is_fifo else "sqs_standard_call"
    return {
        "DynamoDB": usage.write_units * USD_PER_MILLION["dynamodb_write_unit"]
        + usage.read_units * USD_PER_MILLION["dynamodb_read_unit"],
        "SQS": usage.sqs_calls * USD_PER_MILLION[queue],
        "Lambda": usage.invocations * USD_PER_MILLION["lambda_call"]
        + usage.gb_seconds * USD_PER_MILLION["lambda_gb_second"],
        "EventBridge": usage.events * USD_PER_MILLION["eventbridge_event"],
        "logs": usage.log_bytes * DOCUMENTS / 1e9 * USD_PER_GB["logs"],
    }


def provider(usage: Usage) -> tuple[str, float]:
    """Return the cheapest model of OpenAI, and the dollars of a million documents."""
    models = {n: p for n, p in USD_PER_MILLION_TOKENS.items() if n.startswith(OPENAI)}
    model = min(models, key=lambda name: models[name])
    return model, usage.tokens * DOCUMENTS / 1_000_000 * models[model]


def rows(usages: dict[str, Usage]) -> list[Row]:
    """Compare what AWS bills with what the provider does, for each lane."""
    found = []
    for lane, usage in usages.items():
        shares = parts(usage)
        aws = sum(shares.values())
        model, paid = provider(usage)
        note = ", ".join(f"{part} {100 * one / aws:.0f} %" for part, one in shares.items())
        found.append(
            Row(
                f"dollars of AWS per million documents of 1 KB, {lane}",
                aws,
                "USD",
                f"provider, {model}, {usage.tokens:.0f} tokens a document: {paid:.2f} USD;"
                f" list prices of {PRICES_OF}, without storage and the domain",
                limit=paid,
                note=note,
            )
        )
    return found
