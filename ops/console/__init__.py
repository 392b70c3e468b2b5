"""The console: a page for the browser over the same functions that the commands use."""
