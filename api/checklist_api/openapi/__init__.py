"""The OpenAPI document and the reference at `/docs`."""
