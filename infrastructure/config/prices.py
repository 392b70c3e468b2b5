"""List prices in USD, on demand, without discounts and free tiers, as of PRICES_OF.

Of embedding models per million tokens; a target's own price is its usd_per_million_tokens. Of AWS
in us-east-1: other regions cost up to a third more. Prices change: look them up before you decide
by them.

| prices of | from |
|---|---|
| AWS | https://aws.amazon.com/SERVICE/pricing, SERVICE as in dynamodb or opensearch-service |
| OpenAI | https://developers.openai.com/api/docs/models |
| Bedrock | https://aws.amazon.com/bedrock/pricing (us-east-1) |
| Voyage | https://docs.voyageai.com/docs/pricing |
| Gemini | https://ai.google.dev/gemini-api/docs/pricing |
"""

PRICES_OF = "2026-11-17"

USD_PER_MILLION_TOKENS = {
    "text-embedding-3-small": 0.02,
    "text-embedding-3-large": 0.13,
    "text-embedding-ada-002": 0.10,
    "amazon.titan-embed-text-v1": 0.10,
    "amazon.titan-embed-text-v2:0": 0.02,
    "cohere.embed-english-v3": 0.10,
    "cohere.embed-multilingual-v3": 0.10,
    "cohere.embed-v4:0": 0.12,
    "voyage-3-large": 0.18,
    "voyage-3.5": 0.06,
    "voyage-3.5-lite": 0.02,
    "voyage-4": 0.06,
    "voyage-4-large": 0.12,
    "voyage-4-lite": 0.02,
    "gemini-embedding-001": 0.15,
}
USD_PER_MILLION = {
    "dynamodb_write_unit": 0.625,
    "dynamodb_read_unit": 0.125,
    "sqs_standard_call": 0.40,
    "sqs_fifo_call": 0.50,
    "lambda_call": 0.20,
    "lambda_gb_second": 13.3334,  # arm64
    "eventbridge_event": 1.00,
}
USD_PER_GB = {"logs": 0.50}
USD_PER_GB_MONTH = {"dynamodb": 0.25, "opensearch_gp3": 0.122}
# Data nodes of OpenSearch Service.
USD_PER_HOUR = {
    "t3.small.search": 0.036,
    "t3.medium.search": 0.073,
    "r6g.large.search": 0.167,
    "r6g.xlarge.search": 0.335,
    "r6g.2xlarge.search": 0.669,
    "r6g.4xlarge.search": 1.339,
    "r6g.8xlarge.search": 2.677,
    "r6g.12xlarge.search": 4.016,
}
# An inference profile of Bedrock is a model with the area before it.
AREAS = ("us.", "eu.", "apac.", "jp.", "global.")


def price_of(model: str) -> float | None:
    """Return the price of a model; None: it is not known."""
    for area in AREAS:
        model = model.removeprefix(area)
    return USD_PER_MILLION_TOKENS.get(model)
