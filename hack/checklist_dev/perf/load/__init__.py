"""The load rig: a service whose processes can be killed, clients, and receivers that misbehave."""
