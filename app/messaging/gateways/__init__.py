"""Providers behind one port: `base` is the port, each folder beside it a provider."""
