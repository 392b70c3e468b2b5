"""Prices of embedding models in USD per million tokens, as of 2026-11-17.

List prices on demand, without discounts. A target's own price is its usd_per_million_tokens.

| provider | from |
|---|---|
| OpenAI | https://developers.openai.com/api/docs/models |
| Bedrock | https://aws.amazon.com/bedrock/pricing (us-east-1) |
| Voyage | https://docs.voyageai.com/docs/pricing |
| Gemini | https://ai.google.dev/gemini-api/docs/pricing |
"""

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
# An inference profile of Bedrock is a model with the area before it.
AREAS = ("us.", "eu.", "apac.", "jp.", "global.")


def price_of(model: str) -> float | None:
    """Return the price of a model; None: it is not known."""
    for area in AREAS:
        model = model.removeprefix(area)
    return USD_PER_MILLION_TOKENS.get(model)
