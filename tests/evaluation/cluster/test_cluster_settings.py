"""What --cluster may say; nothing goes over a network in the open."""

import asyncio
from pathlib import Path

import pytest

from oragent._base.errors import ConfigError
from oragent.cli.app import main
from oragent.evaluation.cluster.cluster_settings import Certificates, ClusterKind, parse_cluster
from oragent.evaluation.cluster.connect import connect_cluster
from oragent.evaluation.problem import load_problem


@pytest.mark.parametrize(
    ("word", "kind", "expected"),
    [
        ("local:4", ClusterKind.LOCAL, 4),
        ("slurm", ClusterKind.SLURM, 4),
        ("pbs", ClusterKind.PBS, 4),
        ("lsf", ClusterKind.LSF, 4),
    ],
)
def test_who_starts_workers_is_a_word(word: str, kind: ClusterKind, expected: int) -> None:
    found = parse_cluster(word)
    assert (found.kind, found.expected) == (kind, expected)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tcp://localhost:8786", "tcp://[::1]:8786", "tls://node1:1"]
)
def test_a_scheduler_is_its_address(address: str) -> None:
    assert parse_cluster(address).address == address


@pytest.mark.parametrize("host", ["10.0.0.5", "node1", "0.0.0.0", "127.0.0.1.example.org", "[fe80::1]", "localhost.x"])
def test_beyond_this_machine_a_link_is_encrypted(host: str) -> None:
    with pytest.raises(ConfigError):
        parse_cluster(f"tcp://{host}:8786")


@pytest.mark.parametrize(
    "word",
    [
        "local",
        "local:",
        "local:x",
        "local:0",
        "local:9999",
        "nfs",
        "ucx://a:1",
        "tls://",
        "tls://a",
        "tls://a:x",
        "tcp://:1",
    ],
)
def test_what_is_none_is_said_in_one_line(word: str) -> None:
    with pytest.raises(ConfigError) as found:
        parse_cluster(word)
    assert word in str(found.value)
    assert "\n" not in str(found.value)


def test_a_file_says_more(tmp_path: Path) -> None:
    for name in ("ca.pem", "me.pem", "me.key"):
        (tmp_path / name).touch()
    file = tmp_path / "cluster.yaml"
    file.write_text(
        "kind: address\naddress: tls://a:1\ntls: {ca: ca.pem, certificate: me.pem, key: me.key}\nwait_s: 5\n"
    )
    found = parse_cluster(str(file))
    assert found.tls == Certificates(tmp_path / "ca.pem", tmp_path / "me.pem", tmp_path / "me.key")
    assert found.wait_s == 5
    file.write_text("kind: slurm\njobs: 3\ncores: 8\n")
    assert parse_cluster(str(file)).expected == 24


def test_a_scheduler_leaves_a_file_too(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text('{"address": "tls://a:1"}')
    assert parse_cluster(str(file)).address == "tls://a:1"
    for text in ("", "[]", "{}", '{"address": "tcp://10.1.1.1:1"}', '{"address": 3}'):
        file.write_text(text)
        with pytest.raises(ConfigError):
            parse_cluster(str(file))


@pytest.mark.parametrize(
    "text",
    [
        "kind: slurm\njobz: 3\n", "kind: cloud\n", "kind: address\n", "kind: slurm\naddress: tls://a:1\n", "jobs: 0\nkind: pbs",
        "kind: address\naddress: tcp://10.0.0.1:5\n", 'kind: slurm\nqueue: "a\\nrm -rf"\n',
        "kind: address\naddress: tls://a:1\ntls: {ca: no.pem, certificate: no.pem, key: no.pem}\n",
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_named(text: str, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError):
        parse_cluster(str(file))


def test_the_command_line_says_it_in_one_line(capsys, monkeypatch) -> None:
    monkeypatch.setattr(
        "sys.argv", ["oragent", "run", "bpp_online", "--cluster", "tcp://10.0.0.5:8786", "--evaluations", "3"]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code not in (0, None)
    assert "not encrypted" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("word", "missing"), [("local:2", "distributed"), ("local:2", "cryptography"), ("slurm", "dask_jobqueue")]
)
def test_what_is_not_installed_is_named_with_what_to_install(word, missing, toy, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("oragent.evaluation.cluster.connect.find_spec", lambda name: None if name == missing else name)

    async def connect() -> None:
        async with connect_cluster(parse_cluster(word), load_problem(toy), tmp_path):
            pass

    with pytest.raises(ConfigError, match=missing):
        asyncio.run(connect())
