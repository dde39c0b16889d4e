"""One controller per concern: `observe` receives watch events, a work queue reconciles the objects."""
