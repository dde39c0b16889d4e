"""Errors of OpenID sign-in. Messages are logged; `user_message` is shown to the person."""


class OidcFailed(Exception):
    """Base class. `status`: HTTP status of the error page."""

    status = 502
    user_message = "The response of the sign-in service is not valid, so you are not signed in. Try again."


class ProviderUnavailable(OidcFailed):
    """No response, a timeout, or an error response of the provider."""

    status = 503
    user_message = "Your organization's sign-in service is not responding. Try again in a minute."


class ProviderUntrusted(OidcFailed):
    """An invalid response: wrong issuer, signature or audience, too large, or a redirect."""


class SignInNotPending(OidcFailed):
    """The browser has no pending sign-in for this response."""

    status = 400
    user_message = (
        "This sign-in was started in another browser or tab, took longer than ten minutes, or was used already. "
        "Start again."
    )


class SignInDenied(OidcFailed):
    """The provider denied the sign-in."""

    status = 403
    user_message = "The sign-in service did not sign you in: you or it refused."


class EmailMissing(OidcFailed):
    status = 403
    user_message = (
        "The sign-in service did not send your e-mail address, which is needed to find your account. "
        "The operator of this service can request the scope `email`."
    )
