"""Between a run and the provider and the index: breakers, cooldown and pace."""
