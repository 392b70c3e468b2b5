"""QUESTION -> INDEX: finds documents by meaning and by words, for applications and commands."""
