"""Where everything is built and handed to who uses it. Only `app` imports it."""
