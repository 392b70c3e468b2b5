"""LEDGER -> LANES: what is open and has no message gets one again."""
