"""HTTP basics: server, middleware, bodies, responses, pagination, rate limits."""
