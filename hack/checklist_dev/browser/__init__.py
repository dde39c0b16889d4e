"""A real browser against the real service, for the browser tests, the screenshots and the demo."""
