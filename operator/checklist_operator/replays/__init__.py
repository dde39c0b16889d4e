"""Replays: requests for one delivery, and DeliveryReplays for many. `attempts` sends them."""
