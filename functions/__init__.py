"""Everything that goes into the Lambda zips."""
