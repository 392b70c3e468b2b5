"""CONTROL -> MAPPINGS: a target that cannot work receives nothing, until a probe has passed."""
