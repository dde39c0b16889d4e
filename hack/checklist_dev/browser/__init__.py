"""A real browser against the real service: what the browser tests, the screenshots and the demo stand on."""
