"""Reads of the inbox: values for its pages. The number of statements does not depend on the number of rows."""
