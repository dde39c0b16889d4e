"""The OpenAPI document, assembled from the subjects' operations and models, and the reference at `/docs`."""
