"""Every alarm of the template, seen to begin with its fault and to end without it."""
