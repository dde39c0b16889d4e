"""Webhook deliveries for those who send runs: history, figures of endpoints, replay (`/v1/deliveries`)."""
