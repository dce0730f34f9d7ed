"""Pure rules of messaging: no I/O, no clock."""
