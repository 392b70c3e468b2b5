"""TABLE -> LANES: items that no stream record speaks of, and the proof that none is missing."""
