"""Looking after a data directory: verify, repair, back up, restore."""
