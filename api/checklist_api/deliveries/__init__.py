"""Webhook deliveries for owners: history, endpoint statistics, replay (`/v1/deliveries`)."""
