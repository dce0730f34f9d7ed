"""The reads of the lead's page: the person, the journey, the list."""
