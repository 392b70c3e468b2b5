"""The demo: every promise shown once, on the real engines or in memory."""
