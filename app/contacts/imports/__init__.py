"""Import of lead lists: file, mapping, check and run."""
