"""HTTP basics: server, middleware, bodies, answers, pagination, rate limits."""
