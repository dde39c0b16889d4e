"""A certificate authority of the tests."""

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from checklist_operator.delivery.sender import tls_context

HOST = "hooks.example"


@dataclass
class Authority:
    """A certificate authority of the test, and the context of a sender that trusts it."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def make(cls, folder: Path) -> Self:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority of the test")])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=2))
            .not_valid_after(now + timedelta(days=2))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(folder, key, certificate)

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
        starts: timedelta = timedelta(days=-2),
        ends: timedelta = timedelta(days=2),
        own: bool = False,
        padding: int = 0,
    ) -> Path:
        """A key and a certificate for `host`, in one file; `own`: signed by itself; `padding`: bytes without use."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name if own else self.certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + starts)
            .not_valid_after(now + ends)
            .add_extension(x509.SubjectAlternativeName([_general_name(host)]), critical=False)
        )
        if padding:
            nonsense = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.55555.1"), bytes(padding))
            builder = builder.add_extension(nonsense, critical=False)
        certificate = builder.sign(key if own else self.key, hashes.SHA256())
        file = self.folder / f"{host}-{certificate.serial_number:x}.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        return file

    def server_context(self, **options: Any) -> ssl.SSLContext:
        """A receiver's side, with a certificate of these options of `chain_file`."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.chain_file(**options))
        return context


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
