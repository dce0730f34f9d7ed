"""The work of each lane, one file each; thin over the operations."""
