"""The simulator's HTTP: the provider's API, the control API, and the phones' pages."""
