"""Text -> chunks by tokens, without any download: the splitter carries its vocabulary."""

from functools import cache

from semantic_text_splitter import TextSplitter

# Its vocabulary (cl100k) is that of all OpenAI embedding models.
VOCABULARY = "text-embedding-3-small"
# OpenAI counts a request's tokens as about a quarter of its UTF-8 bytes.
BYTES_PER_TOKEN = 4


def split(text: str, *, max_tokens: int) -> list[str]:
    """Split on structure first, so that an edit moves no boundary far away from it."""
    return [chunk for chunk in _splitter(max_tokens).chunks(text) if chunk.strip()]


def count_tokens(text: str, *, most: int) -> int:
    """Count at least what the provider will, and at most a quarter more; `most` is the limit
    that the text was split by.

    The splitter cannot count, but it can tell whether a text fits. An ordinary text fits into
    a quarter of its bytes, so that one question is enough.
    """
    guess = -(-len(text.encode()) // BYTES_PER_TOKEN)
    while guess < most and len(_splitter(guess).chunks(text)) > 1:
        guess = min(most, guess + max(1, guess // 4))
    return guess


@cache
def _splitter(max_tokens: int) -> TextSplitter:
    return TextSplitter.from_tiktoken_model(VOCABULARY, max_tokens)
