"""One file per question; each prints its figures and fails if something is wrong."""
