"""Pure rules of the advisers slice: the clock of a handoff, and who is given it."""
