"""A function that cannot start."""

raise RuntimeError("no settings")
