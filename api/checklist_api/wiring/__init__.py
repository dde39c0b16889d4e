"""Creates and connects all objects. Only `app` imports it."""
