"""SQL of an import, in plain sight."""
