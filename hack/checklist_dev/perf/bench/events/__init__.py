"""Requests and events: how many a second, how soon, at twice the capacity."""
