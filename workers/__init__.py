"""The worker processes: lanes that drain work, arq that wakes them, leases for periodic jobs."""
