"""The executor API, and the page behind a run's link."""
