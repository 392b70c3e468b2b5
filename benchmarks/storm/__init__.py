"""The storm: the whole stack on real engines while everything around it fails, and a verdict."""
