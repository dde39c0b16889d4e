"""Attempts to deliver an event, from the first one to the last replay: prepare, claim, send, record.

`prepare` reads what an attempt needs and whether it is due, `claim` makes sure that one process makes it, `send`
transmits it within the limits, `record` writes what came of it; `pipeline` goes through these in order. When an attempt
is made is the business of the controllers.
"""
