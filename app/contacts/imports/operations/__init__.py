"""Use cases of an import: start a run, and work on it batch by batch until it is done."""
