"""One module per box outside; the only place where SDK errors are seen."""
