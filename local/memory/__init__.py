"""In-process engines: the same promises as the real ones, kept honest by tests/contract."""
