"""The provider's double: speaks Twilio's HTTP on the loopback, plays the leads' phones, and counts what they
really received.
"""
