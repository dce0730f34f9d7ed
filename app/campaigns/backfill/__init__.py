"""Cool-downs for ends that have none: data from before, or from before a length was set."""
