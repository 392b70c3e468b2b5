"""The embedding provider of one-machine mode: an OpenAI-compatible server with planned faults."""
