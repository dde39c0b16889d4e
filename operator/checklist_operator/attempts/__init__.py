"""Attempts to deliver an event, from the first one to the last replay: prepare, claim, send, record.

`prepare` reads what an attempt needs and whether it is due, `claim` makes it exclusive, `send` transmits it within the
limits, `record` writes its outcome; `pipeline` runs these steps. The controllers decide when an attempt is made.
"""
