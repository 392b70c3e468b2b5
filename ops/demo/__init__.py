"""The demo: one story, told on the real engines or in memory."""
