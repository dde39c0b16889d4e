"""Replays: requests for one delivery, and DeliveryReplays that ask for many. The attempts are made by `attempts`."""
