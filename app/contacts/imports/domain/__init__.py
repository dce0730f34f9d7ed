"""The rules of an import, without I/O: what a file, a column, a row and an outcome mean."""
