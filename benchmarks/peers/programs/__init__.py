"""What runs in the peers' own environment: each program as its documentation shows it."""
