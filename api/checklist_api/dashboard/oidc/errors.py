"""Errors of OpenID providers. Messages are for the log; `words` is what the person reads."""


class OidcFailed(Exception):
    """Base. `status`: what the page that tells of it is answered with."""

    status = 502
    words = "The sign-in service gave an answer that cannot be trusted, so nobody was signed in."


class ProviderUnavailable(OidcFailed):
    """No answer, too late, or the provider says so itself."""

    status = 503
    words = "The sign-in service of your organization does not answer at the moment. Please try again in a minute."


class ProviderUntrusted(OidcFailed):
    """An answer that is not as it must be: another issuer, no good signature, not for us, too large, a redirect."""


class SignInNotBegun(OidcFailed):
    """The browser has no sign-in under way that this answer belongs to."""

    status = 400
    words = (
        "This sign-in was begun in another browser or tab, took longer than ten minutes, or was used already. "
        "Please begin again."
    )


class SignInDenied(OidcFailed):
    """The provider signed nobody in."""

    status = 403
    words = "The sign-in service did not sign you in: you or it refused."


class EmailMissing(OidcFailed):
    status = 403
    words = (
        "The sign-in service did not tell your e-mail address, which says what you may do here. "
        "Whoever runs this service can ask it for the scope `email`."
    )
