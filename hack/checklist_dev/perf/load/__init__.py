"""What bench and chaos share: a service whose processes can be killed, callers, and a receiver that misbehaves."""
