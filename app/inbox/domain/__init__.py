"""What may be written to a lead, and how a thread reads. Pure."""
