"""Values of ``--cluster``: local workers, a scheduler, a batch system, or a settings file; and certificates."""

import datetime
import ipaddress
import json
import os
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from annotated_types import Ge, Gt
from pydantic.dataclasses import dataclass

from oragent._base import settings
from oragent._base.errors import ConfigError
from oragent._base.settings import STRICT

FORMS = "local:N, tcp://HOST:PORT, tls://HOST:PORT, slurm, pbs, lsf, or a file (.yaml, or a scheduler's .json)"
MAX_LOCAL = 512


NAME = "oragent cluster"
# Tolerated error of a clock.
MARGIN = datetime.timedelta(days=2)
VALID = datetime.timedelta(days=365)


class ClusterKind(StrEnum):
    """Ways of starting the workers."""

    LOCAL = "local"
    ADDRESS = "address"
    SLURM = "slurm"
    PBS = "pbs"
    LSF = "lsf"


BATCH = (ClusterKind.SLURM, ClusterKind.PBS, ClusterKind.LSF)


@dataclass(frozen=True, config=STRICT)
class Certificates:
    """Files with which the two ends of a connection authenticate each other."""

    ca: Path
    certificate: Path
    key: Path


@dataclass(frozen=True, config=STRICT)
class ClusterSettings:
    """Settings of the cluster on which evaluations run.

    Attributes:
        address: Address of a running scheduler.
        tls: Certificates for it; None: those of Dask's own configuration.
        jobs: Number of jobs to submit to a batch system.
        cores: Concurrent evaluations per job, one core each.
        walltime: Time limit of a job, in the format of the batch system.
        queue: Queue or partition; None: the default of the batch system.
        directives: Additional directives for the head of a job's script, without their prefix.
        prologue: Shell commands before the worker starts, such as ``module load``.
        interface: Network interface at which workers on other machines reach the scheduler; None: this machine's name.
        shared: Folder that all machines can access, for certificates and logs of jobs; None: one in the home folder.
        wait_s: Seconds without any worker after which a run stops (it can be resumed); None: ten minutes, or a day for
            batch systems.
        straggler_s: Seconds that an evaluation may be late before a second copy starts on another worker.
    """

    kind: ClusterKind
    address: str | None = None
    tls: Certificates | None = None
    workers: Annotated[int, Ge(1)] = 1
    jobs: Annotated[int, Ge(1)] = 4
    cores: Annotated[int, Ge(1)] = 1
    memory: str = "4GiB"
    walltime: str = "01:00:00"
    queue: str | None = None
    account: str | None = None
    directives: tuple[str, ...] = ()
    prologue: tuple[str, ...] = ()
    interface: str | None = None
    shared: Path | None = None
    wait_s: Annotated[float, Gt(0)] | None = None
    straggler_s: Annotated[float, Gt(0)] = 30.0

    def __post_init__(self) -> None:
        if (self.kind is ClusterKind.ADDRESS) != (self.address is not None):
            raise ValueError("give an address if and only if kind is address")
        if self.address is not None:
            _require_encryption(self.address)
        if self.kind is ClusterKind.LOCAL and self.workers > MAX_LOCAL:
            raise ValueError(f"{self.workers} workers on one machine are too many: at most {MAX_LOCAL}")
        for text in (self.memory, self.walltime, self.queue or "", self.account or "", *self.directives):
            if not text.isprintable():
                raise ValueError(f"{text!r} has characters that a job's script cannot contain")

    @property
    def patience_s(self) -> float:
        """Seconds without any worker after which a run stops."""
        return self.wait_s or (86_400.0 if self.kind in BATCH else 600.0)

    @property
    def expected(self) -> int:
        """Expected number of concurrent evaluations; 0 if only the scheduler knows it."""
        return {ClusterKind.LOCAL: self.workers, ClusterKind.ADDRESS: 0}.get(self.kind, self.jobs * self.cores)

    @property
    def joining(self) -> int:
        """Minimum number of expected workers."""
        return {ClusterKind.LOCAL: self.workers, ClusterKind.ADDRESS: 1}.get(self.kind, self.jobs)


def parse_cluster(word: str) -> ClusterSettings:
    """Parse a value of ``--cluster``.

    Raises:
        ConfigError: The value is unknown or invalid, or leads to another machine without encryption.
    """
    try:
        if word == ClusterKind.LOCAL or word.startswith("local:"):
            return ClusterSettings(ClusterKind.LOCAL, workers=_worker_count(word))
        if "://" in word:
            return ClusterSettings(ClusterKind.ADDRESS, address=word)
        if word in BATCH:
            return ClusterSettings(ClusterKind(word))
    except ValueError as problem:
        raise ConfigError(f"--cluster {word}: {_reason_text(problem)}") from None
    path = Path(word)
    if not path.is_file():
        raise ConfigError(f"--cluster {word} is unknown, and no such file exists: give {FORMS}")
    if path.suffix == ".json":
        return _read_scheduler_file(path)
    return _read_settings_file(path)


def _worker_count(word: str) -> int:
    _, _, count = word.partition(":")
    if not count.isdecimal():
        raise ValueError("give the number of workers: local:4")
    return int(count)


def _read_settings_file(path: Path) -> ClusterSettings:
    """Read a settings file; paths in it are relative to its folder."""
    settings_of_file = settings.build_settings(ClusterSettings, settings.load_settings_tree(path), [], str(path))
    if settings_of_file.tls is None:
        return settings_of_file
    files = {name: path.parent / file for name, file in vars(settings_of_file.tls).items() if isinstance(file, Path)}
    if missing := [str(file) for file in files.values() if not file.is_file()]:
        raise ConfigError(f"{path}: the file {missing[0]} does not exist")
    return replace(settings_of_file, tls=Certificates(**files))


def _read_scheduler_file(path: Path) -> ClusterSettings:
    """Read the file in which a Dask scheduler publishes its address."""
    try:
        address = json.loads(path.read_text(encoding="utf-8"))["address"]
        return ClusterSettings(ClusterKind.ADDRESS, address=str(address))
    except (OSError, UnicodeDecodeError, KeyError, TypeError) as problem:
        raise ConfigError(f"{path} is not a scheduler file: {problem!r}") from None
    except ValueError as problem:
        raise ConfigError(f"{path}: {_reason_text(problem)}") from None


def _require_encryption(address: str) -> None:
    """Raise a ValueError if an address is invalid, or leads to another machine without encryption."""
    parts = urlsplit(address)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme not in ("tcp", "tls") or not host or not port:
        raise ValueError(f"{address} is not an address of a scheduler, such as tls://node1:8786")
    if parts.scheme == "tcp" and not _is_loopback(host):
        raise ValueError(
            f"{address} is on another machine and not encrypted: anyone on that network could run programs "
            "here; start the scheduler with certificates and give tls://"
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _reason_text(problem: ValueError) -> str:
    """Return the message of an error in one line, without the text that pydantic adds."""
    errors = getattr(problem, "errors", None)
    text = str(errors()[0]["msg"]) if callable(errors) else str(problem)
    return text.removeprefix("Value error, ")


def make_certificates(folder: Path) -> Certificates:
    """Write a key and its self-signed certificate into a folder, readable only for this user."""
    # Imported here because the package is optional.
    from cryptography import x509
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
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(pem, form, serialization.NoEncryption())
    public, private = folder / "certificate.pem", folder / "key.pem"
    public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    with open(os.open(private, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secret)
    return Certificates(public, public, private)
