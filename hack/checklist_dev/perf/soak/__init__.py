"""`make soak`: everything at once at a steady rate for half an hour; stable measures must not grow."""
