"""Small worlds for tests, made by the real operations."""
