"""Workers as jobs of a batch system: SLURM, PBS, LSF. dask-jobqueue writes the scripts; this module submits them."""

import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError, SandboxError
from oragent._base.text_format import one_line
from oragent.evaluation.cluster.cluster_settings import Certificates, ClusterKind, ClusterSettings
from oragent.sandbox.isolation.environment import environment_by_hand

WORKER = "oragent.evaluation.cluster.worker"
# Time limit of a command of the batch system.
CALL_S = 60.0
# Variables that configure these systems.
VARIABLES = re.compile(r"(?:SLURM|SBATCH|SQUEUE|SCANCEL|PBS|LSF|LSB|EGO|MUNGE)_?\w*|KRB5\w+")
LOOK_S = 20.0
# A job that ends earlier counts as failed.
HASTY_S = 60.0
# Consecutive failed jobs, after which no more are submitted.
HASTY = 3
# Seconds after which a worker that finds no scheduler ends.
DEATH_S = 300


@dataclass(frozen=True)
class BatchSystem:
    """Commands of a batch system."""

    submit: tuple[str, ...]
    cancel: tuple[str, ...]
    listing: tuple[str, ...]
    standard_input: bool = False


SYSTEMS: Mapping[ClusterKind, BatchSystem] = {
    ClusterKind.SLURM: BatchSystem(("sbatch",), ("scancel",), ("squeue", "-h", "-o", "%A", "-j")),
    ClusterKind.PBS: BatchSystem(("qsub",), ("qdel",), ("qstat",)),
    ClusterKind.LSF: BatchSystem(("bsub",), ("bkill",), ("bjobs", "-noheader", "-o", "jobid"), standard_input=True),
}
NUMBER = re.compile(r"\d+")
IMPORTING = threading.Lock()


def _job_classes() -> dict[ClusterKind, Any]:
    """Import the classes that write job scripts.

    Importing them installs a handler of SIGINT, which works in the main thread only and which the engine does not want.
    So ``signal.signal`` is disabled during the import.
    """
    with IMPORTING:
        take, signal.signal = signal.signal, lambda *_: None
        try:
            # Imported here because they are optional and slow to import.
            from dask_jobqueue.lsf import LSFJob
            from dask_jobqueue.pbs import PBSJob
            from dask_jobqueue.slurm import SLURMJob
        finally:
            signal.signal = take
    return {ClusterKind.SLURM: SLURMJob, ClusterKind.PBS: PBSJob, ClusterKind.LSF: LSFJob}


def job_script(cluster_config: ClusterSettings, address: str, tls: Certificates, logs: Path, name: str) -> str:
    """Return the script of a job."""
    job_class = _job_classes()[cluster_config.kind]
    files = {"ca-file": tls.ca, "cert": tls.certificate, "key": tls.key}
    words = [word for kind, path in files.items() for word in (f"--tls-{kind}", shlex.quote(str(path)))]
    if cluster_config.kind is ClusterKind.LSF:
        account_options = {"project": cluster_config.account, "lsf_units": "mb"}
        # LSF expects hours and minutes only.
        walltime = cluster_config.walltime.rpartition(":")[0]
    else:
        account_options, walltime = {"account": cluster_config.account}, cluster_config.walltime
    job = job_class(
        scheduler=address,
        name=name,
        job_name="oragent",
        cores=cluster_config.cores,
        memory=cluster_config.memory,
        processes=1,
        nanny=False,
        interface=cluster_config.interface,
        death_timeout=DEATH_S,
        worker_command=WORKER,
        worker_extra_args=words,
        job_extra_directives=list(cluster_config.directives),
        job_script_prologue=list(cluster_config.prologue),
        log_directory=str(logs),
        python=shlex.quote(sys.executable),
        queue=cluster_config.queue,
        walltime=walltime,
        **account_options,
    )
    return str(job.job_script())


class BatchJobs:
    """Keeper of a number of jobs in a batch system, which replaces jobs that ended."""

    def __init__(
        self,
        cluster_config: ClusterSettings,
        tls: Certificates,
        folder: Path,
        event: Callable[[str], None],
        look_s: float = LOOK_S,
    ) -> None:
        self._where, self._tls, self._folder, self._event, self._look_s = cluster_config, tls, folder, event, look_s
        self._system = SYSTEMS[cluster_config.kind]
        # Time of submission by job number.
        self._jobs: dict[str, float] = {}
        self._closed, self._lock = threading.Event(), threading.Lock()
        self._submitted = self._hasty = 0
        if shutil.which(self._system.submit[0]) is None:
            raise ConfigError(
                f"--cluster {cluster_config.kind} needs {self._system.submit[0]}, which is not on the PATH: "
                "run it where you submit jobs"
            )

    def start(self, address: str) -> None:
        """Cancel jobs of an earlier scheduler, and submit all jobs for the scheduler at an address."""
        self._cancel_jobs()
        first = not self._submitted
        with self._lock:
            for _ in range(self._where.jobs):
                self._submit_job(address)
        self._address = address
        if first:
            threading.Thread(target=self._replace_ended_jobs, daemon=True).start()

    def close(self) -> None:
        """Cancel all jobs."""
        self._closed.set()
        self._cancel_jobs()

    def _submit_job(self, address: str) -> None:
        self._submitted += 1
        name = f"oragent-{self._submitted}"
        path = self._folder / f"{name}.sh"
        path.write_text(job_script(self._where, address, self._tls, self._folder / "logs", name), encoding="utf-8")
        path.chmod(0o700)
        text = path.read_text(encoding="utf-8") if self._system.standard_input else None
        words = self._system.submit if self._system.standard_input else (*self._system.submit, str(path))
        answer = self._call_command(words, text)
        match = NUMBER.search(answer)
        if match is None:
            raise SandboxError(f"{words[0]} does not print the number of the job: {_one_line(answer)}")
        number = match.group() if self._where.kind is not ClusterKind.PBS else answer.split()[0]
        self._jobs[number] = time.monotonic()
        self._event(f"job {number} submitted")

    def _replace_ended_jobs(self) -> None:
        """Replace jobs that ended at their time limit or were preempted."""
        while not self._closed.wait(self._look_s):
            with suppress(SandboxError), self._lock:
                for number in self._find_ended_jobs():
                    age_s = time.monotonic() - self._jobs.pop(number)
                    self._hasty = self._hasty + 1 if age_s < max(HASTY_S, 2 * self._look_s) else 0
                    again = self._hasty <= HASTY and not self._closed.is_set()
                    self._event(
                        f"job {number} ended after {age_s:.0f} s"
                        + ("" if again else f"; no more are submitted: see {self._folder / 'logs'}")
                    )
                    if again:
                        self._submit_job(self._address)

    def _find_ended_jobs(self) -> list[str]:
        if not self._jobs:
            return []
        words = self._system.listing
        if self._where.kind is ClusterKind.SLURM:
            words += (",".join(self._jobs),)
        listing = self._call_command(tuple(words), None, strict=self._where.kind is not ClusterKind.SLURM)
        known_jobs = set(NUMBER.findall(listing))
        return [number for number in self._jobs if NUMBER.findall(number)[0] not in known_jobs]

    def _cancel_jobs(self) -> None:
        with self._lock:
            if self._jobs:
                with suppress(SandboxError):
                    self._call_command((*self._system.cancel, *self._jobs), None)
            self._jobs.clear()

    def _call_command(self, words: tuple[str, ...], text: str | None, *, strict: bool = True) -> str:
        variables = environment_by_hand(VARIABLES.fullmatch)
        # No namespace: helpers of PBS and LSF identify the user with rights of root, which they would lose there.
        try:
            ended = subprocess.run(
                words, input=text, env=variables, capture_output=True, text=True, errors="replace", timeout=CALL_S
            )
        except (OSError, subprocess.SubprocessError) as problem:
            raise SandboxError(f"{words[0]} cannot be called: {problem}") from None
        if ended.returncode and strict:
            raise SandboxError(f"{words[0]} fails: {_one_line(ended.stderr or ended.stdout)}")
        return ended.stdout


def _one_line(text: str) -> str:
    return one_line(text, 300, "") or "it prints nothing"
