"""Self-signed certificates for one run: only processes with the key can join the cluster."""

import datetime
import os
from pathlib import Path

from oragent.evaluation.cluster.cluster_settings import Certificates

NAME = "oragent cluster"
MARGIN = datetime.timedelta(days=2)  # a clock may be off by so much
VALID = datetime.timedelta(days=365)


def make_certificates(folder: Path) -> Certificates:
    """Write a key and its certificate, which is also who signs it.

    Args:
        folder: Folder that nobody else can read.

    Raises:
        OSError: if they cannot be written.
    """
    from cryptography import x509  # optional
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - MARGIN)
        .not_valid_after(now + VALID)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public, private = folder / "certificate.pem", folder / "key.pem"
    public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    with open(os.open(private, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secret)
    return Certificates(public, public, private)
