"""Signing in with an OpenID provider."""
