"""What carries the controllers: Kopf, leader election, timers, work queues, caches, log, metrics, health.

Nothing in here knows about deliveries.
"""
