"""One-machine mode: the deployed template, running here on real engines."""
