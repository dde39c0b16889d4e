"""What the person with a run's link does: the executor API, and the page behind the link."""
