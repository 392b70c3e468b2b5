"""The `embedq` command: thin over functions.*, one file per noun; never in a zip."""
