"""Programs of the checkout itself: setup, locks, packages. Never in a zip."""
