"""The vocabulary: values and decisions, free of any SDK."""
