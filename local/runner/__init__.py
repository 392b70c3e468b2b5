"""One-machine mode's Lambda: functions as processes, event source mappings as AWS documents them."""
