"""Sign-in with an OpenID provider."""
