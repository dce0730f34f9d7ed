"""Runnable measurements; never part of the test run."""
