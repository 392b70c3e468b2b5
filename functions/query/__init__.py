"""COMMAND -> INDEX: commands look into the index through this function, and change nothing."""
