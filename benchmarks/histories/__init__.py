"""Random histories of the whole protocol in memory: the index must end equal to the table."""
