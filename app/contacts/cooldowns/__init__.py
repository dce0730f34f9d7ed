"""Cool-downs: a rest for the whole person after a journey has ended, across all campaigns."""
