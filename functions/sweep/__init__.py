"""LEDGER -> LANES: an open document without a message gets one again; tombstones are purged."""
