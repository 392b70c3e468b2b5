"""The parts of the model server: vectors, OpenAI's rules for a request, and planned faults."""
