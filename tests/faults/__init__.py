"""Faults on real processes: workers killed, queues flushed, connections cut, callbacks doubled and lost.

`python -m tests.faults.long_run` is the long run; the tests beside it are its small versions.
"""
