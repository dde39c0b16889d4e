"""`make chaos`: kills the service at random under load, then accounts for every answer, event, attempt and run."""
