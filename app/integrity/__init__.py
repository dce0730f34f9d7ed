"""What must always be true, what is stuck, and the runner that looks."""
