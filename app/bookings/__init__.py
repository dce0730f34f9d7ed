"""Visits that leads have booked: what the engine needs of them."""
