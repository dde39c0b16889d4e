"""`make soak`: everything at once at a steady rate for half an hour; what should stay as it is must not grow."""
