"""Twilio: sending and look-ups over its SDK, webhooks and their signatures, error codes."""
