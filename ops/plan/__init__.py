"""From documents, tokens and limits to concurrency, time and dollars; `embedq plan` shows them."""
