"""STREAM -> LANES: every change becomes one task of its newest version."""
