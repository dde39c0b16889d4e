"""Classifies a transmission without a final answer: an outcome class, or a local fault.

aiohttp's errors end here. Details use our own texts, since aiohttp's contain resolved addresses.
"""

import os
import ssl

import aiohttp

from checklist_operator.faults import TRANSPORT_UNAVAILABLE, LocalFault
from checklist_operator.transport.dialing import LOCAL_ERRNOS, Progress, ResponseTooLarge
from checklist_operator.transport.outcome import OutcomeClass
from checklist_operator.transport.resolving import LookupFailed, ResolverUnavailable

Failure = tuple[OutcomeClass, str]


def classify(error: Exception, attempt: Progress, *, is_tls: bool) -> Failure:
    """Returns class and detail of an attempt that ended with `error`. Raises LocalFault when the cause is local."""
    if attempt.own_fault is not None or _is_local(error):
        raise LocalFault(TRANSPORT_UNAVAILABLE, _local_reason(error)) from error
    if isinstance(error, RuntimeError) and not attempt.connected:
        # The event loop refused the socket, so no byte was sent.
        raise LocalFault(TRANSPORT_UNAVAILABLE, "the event loop could not open a connection") from error
    match error:
        case TimeoutError() if attempt.connected:
            return OutcomeClass.TIMEOUT, "no answer in time"
        case TimeoutError() if attempt.dialled:
            return OutcomeClass.TIMEOUT, "no connection in time"
        case TimeoutError():
            return OutcomeClass.TIMEOUT, "the name was not resolved in time"
        case aiohttp.ClientConnectorError():
            return _classify_connecting(error, attempt, is_tls=is_tls)
        case ResponseTooLarge():
            return OutcomeClass.PROTOCOL, "too much was sent before an answer"
        case aiohttp.ClientOSError() if isinstance(error.__cause__, ssl.SSLError):
            return OutcomeClass.TLS, "the TLS session broke"
        case aiohttp.ClientOSError() | aiohttp.ServerDisconnectedError():
            return OutcomeClass.PROTOCOL, "the connection ended before an answer"
        case _:
            return OutcomeClass.PROTOCOL, "the answer was not valid HTTP"


def _classify_connecting(error: aiohttp.ClientConnectorError, attempt: Progress, *, is_tls: bool) -> Failure:
    match error:
        case aiohttp.ClientConnectorDNSError():
            why = error.os_error
            return OutcomeClass.DNS, str(why) if isinstance(why, LookupFailed) else "the name could not be resolved"
        case aiohttp.ClientConnectorCertificateError():
            return OutcomeClass.TLS, f"the certificate was refused: {_certificate_reason(error.certificate_error)}"
        case aiohttp.ClientConnectorSSLError():
            return OutcomeClass.TLS, "no TLS session could be made"
        case _ if attempt.dialled and _is_reset(error.os_error):
            # A refused TCP connection is never "reset", so this one was established and then closed.
            if is_tls:
                return OutcomeClass.TLS, "the connection ended during the TLS handshake"
            return OutcomeClass.PROTOCOL, "the connection ended before an answer"
        case _ if attempt.blocked and not attempt.dialled:
            return OutcomeClass.BLOCKED_ADDRESS, "the address is not allowed"
        case _:
            return OutcomeClass.CONNECT, f"no connection: {_errno_text(error.os_error)}"


def _local_reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorDNSError) and isinstance(error.os_error, ResolverUnavailable):
        return str(error.os_error)
    return "out of file descriptors or memory"


def _is_local(error: Exception) -> bool:
    match error:
        case aiohttp.ClientConnectorDNSError():
            return isinstance(error.os_error, ResolverUnavailable) or error.os_error.errno in LOCAL_ERRNOS
        case OSError():
            return error.errno in LOCAL_ERRNOS
        case _:
            return isinstance(error, MemoryError)


def _is_reset(error: OSError) -> bool:
    return isinstance(error, ConnectionResetError | ConnectionAbortedError | BrokenPipeError)


def _certificate_reason(reason: Exception) -> str:
    return reason.verify_message if isinstance(reason, ssl.SSLCertVerificationError) else "not valid"


def _errno_text(error: OSError) -> str:
    if error.errno is None:  # several errors in one
        return "none of the addresses answered"
    return os.strerror(error.errno).lower()
