"""Warmline: an adviser workspace driven by a campaign engine that is a state machine."""
