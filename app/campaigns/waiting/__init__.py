"""Enrolments that wait for their turn: asked for while the person was busy elsewhere, tried again at the one door."""
