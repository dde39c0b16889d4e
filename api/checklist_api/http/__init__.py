"""The HTTP basics under every route: server, request frame, bodies, answers, pages of lists, rate limits."""
