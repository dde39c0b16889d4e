"""The web surfaces in `api/web/`: their build, checks, tests, generated types and development server.

`node` and `build` use the standard library only: the wheel's build hook runs them in an environment of its own.
"""
