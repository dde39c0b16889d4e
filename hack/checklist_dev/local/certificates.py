"""Creates keys and certificates of a control plane on loopback, in its data folder."""

import datetime
import ipaddress
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=3650)
SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
SERVER_ADDRESSES = ("127.0.0.1", "::1", "10.0.0.1")


@dataclass(frozen=True, slots=True)
class Credentials:
    """Files for kube-apiserver. `tokens`: the static token file, `token`: the administrator's token in it."""

    authority: Path
    certificate: Path
    key: Path
    service_account_key: Path
    tokens: Path
    token: str


def credentials_in(folder: Path) -> Credentials:
    """The credentials in `folder`, created (mode 0600) if missing."""
    files = Credentials(
        authority=folder / "ca.crt",
        certificate=folder / "apiserver.crt",
        key=folder / "apiserver.key",
        service_account_key=folder / "service-account.key",
        tokens=folder / "tokens.csv",
        token="",
    )
    # Written last, so all exist if it does.
    if not files.tokens.exists():
        _make(folder, files)
    token = files.tokens.read_text().split(",", 1)[0]
    return Credentials(files.authority, files.certificate, files.key, files.service_account_key, files.tokens, token)


def _make(folder: Path, files: Credentials) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    now = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)  # clocks differ

    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "checklist-dispatch control plane")])
    authority = (
        _certificate(authority_name, authority_name, authority_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_authority_usage(), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )

    server_key = ec.generate_private_key(ec.SECP256R1())
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in SERVER_NAMES]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in SERVER_ADDRESSES]
    server_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
    # Python 3.13 verifies strictly (RFC 5280) and requires the authority key identifier.
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    server = (
        _certificate(server_name, authority_name, server_key.public_key(), now)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(identifier, critical=False)
        .sign(authority_key, hashes.SHA256())
    )

    _write(files.authority, authority.public_bytes(serialization.Encoding.PEM))
    _write(files.certificate, server.public_bytes(serialization.Encoding.PEM))
    _write(files.key, _pem(server_key))
    _write(files.service_account_key, _pem(ec.generate_private_key(ec.SECP256R1())))
    _write(files.tokens, f'{secrets.token_urlsafe(32)},admin,admin,"system:masters"\n'.encode())


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + LIFETIME)
    )


def _authority_usage() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _write(path: Path, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123
        file.write(content)
