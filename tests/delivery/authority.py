"""A certificate authority of the tests."""

import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from checklist_operator.transport.sender import tls_context

HOST = "hooks.example"
_DAYS = timedelta(days=2)


@dataclass
class Authority:
    """A certificate authority of the test, and the context of a sender that trusts it."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def make(cls, folder: Path) -> Self:
        key, name = ec.generate_private_key(ec.SECP256R1()), _name("authority of the test")
        builder = _builder(name, name, key).add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        return cls(folder, key, builder.sign(key, hashes.SHA256()))

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def trusting(self) -> ssl.SSLContext:
        context = tls_context()
        context.load_verify_locations(cadata=self.pem)
        return context

    def chain_file(
        self,
        *,
        host: str = HOST,
        also: Sequence[str] = (),
        starts: timedelta = -_DAYS,
        ends: timedelta = _DAYS,
        own: bool = False,
        padding: int = 0,
    ) -> Path:
        """A key and a certificate for `host` in one file; `own`: signed by itself; `padding`: bytes without use."""
        key, name = ec.generate_private_key(ec.SECP256R1()), _name(host[:64])
        builder = _builder(name, name if own else self.certificate.subject, key, starts, ends)
        names = x509.SubjectAlternativeName([_general_name(one) for one in (host, *also)])
        builder = builder.add_extension(names, critical=False)
        if padding:
            nonsense = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.55555.1"), bytes(padding))
            builder = builder.add_extension(nonsense, critical=False)
        certificate = builder.sign(key if own else self.key, hashes.SHA256())
        file = self.folder / f"{certificate.serial_number:x}.pem"
        pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        private = key.private_bytes(pem, pkcs8, serialization.NoEncryption())
        file.write_bytes(private + certificate.public_bytes(pem))
        return file

    def server_context(self, **options: Any) -> ssl.SSLContext:
        """A receiver's side, with a certificate of these options of `chain_file`."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.chain_file(**options))
        return context


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    starts: timedelta = -_DAYS,
    ends: timedelta = _DAYS,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now + starts).not_valid_after(now + ends)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
