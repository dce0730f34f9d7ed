"""What is done with handoffs. No operation commits; locks are taken contact → handoff → adviser."""
