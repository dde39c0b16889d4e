"""`make chaos`: kill the service at random under load, then account for every answer, event, attempt and run."""
