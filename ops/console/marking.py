"""The words of a question, marked in a passage. Pure; a passage may hold any text."""

import re

from markupsafe import Markup, escape

LEAST_CHARACTERS = 3
# They are in nearly every passage, and say nothing about it.
COMMON = {"the", "and", "for", "are", "was", "with", "that", "this", "from", "into", "who", "what"}


def marked(passage: str, question: str) -> Markup:
    """Return a passage as HTML with the words of the question marked, everything else escaped."""
    asked = {word.lower() for word in re.findall(r"\w+", question)} - COMMON
    words = {word.rstrip("s") for word in asked if len(word) >= LEAST_CHARACTERS} - {""}
    if not words:
        return escape(passage)
    pattern = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    parts = re.split(rf"(\b(?:{pattern})\w{{0,3}}\b)", passage, flags=re.IGNORECASE)
    # What the group has matched stands at the odd places.
    return Markup("").join(
        Markup("<mark>{}</mark>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )
