"""A table that is full before the stack: filled in, compared and mended."""
