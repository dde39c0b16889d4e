"""Infrastructure of the controllers: Kopf, leader election, timers, work queues, caches, log, metrics, health.

It is independent of deliveries.
"""
