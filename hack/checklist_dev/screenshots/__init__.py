"""`make screenshots`: every state of the web app, photographed for a critical eye."""
