"""LEDGER -> LANES: what is owed and has no message gets one again; what is over is cleared."""
