"""Outcome classes of attempts, for history, metrics and fairness (delivery profile, "Outcome")."""

from enum import StrEnum


class OutcomeClass(StrEnum):
    """`success` is a final status 200..299 within the time limit; every other class is a failed attempt.

    Which one is decided by how far the attempt came: no address (`dns`), none that may be dialled
    (`blocked_address`), no TCP connection (`connect`), no TLS session (`tls`), no valid HTTP answer (`protocol`), an
    answer that is not 2xx (`http_*`). `timeout` is the lack of progress at any of these stages.
    """

    SUCCESS = "success"
    HTTP_3XX = "http_3xx"
    HTTP_4XX = "http_4xx"
    HTTP_5XX = "http_5xx"
    TIMEOUT = "timeout"
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    BLOCKED_ADDRESS = "blocked_address"
    PROTOCOL = "protocol"
