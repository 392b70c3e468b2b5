"""LANES -> INDEX: every task ends as an entry, a tombstone or a recorded failure."""
