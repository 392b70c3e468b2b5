"""embedq beside other programs that keep vectors of texts: the same work, the same kills."""
