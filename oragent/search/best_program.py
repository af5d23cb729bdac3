"""Best program of a run, committed or not, and the file that holds it."""

from dataclasses import replace
from functools import partial

from oragent.search.candidate import Candidate, Committed, Elite
from oragent.search.folder import RunFolder
from oragent.search.program_header import describe_program, format_comments
from oragent.search.run_archive import RunArchive
from oragent.search.store import RoundNote, Store


class BestProgram:
    """Best scored program of a run, which is written to ``best.py`` as soon as it is known.

    Attributes:
        elite: Best scored program, committed or not; None before the first score. Other threads may read it.
    """

    def __init__(self, folder: RunFolder, store: Store, run_archive: RunArchive, notes: list[RoundNote]) -> None:
        self._folder, self._store, self._run_archive, self._notes = folder, store, run_archive, notes
        self.elite: Elite | None = None

    def take_committed(self, elite: Elite, candidate: Candidate) -> None:
        """Write the new best program of the archive, unless a better one of an unfinished round is written already."""
        if not self._is_outdone(elite):
            self.elite = elite
            self._write(elite, candidate)

    def take_scored(self, number: int, candidate: Candidate) -> None:
        """Write a candidate of an unfinished round if it is a new best, because its round may take an hour."""
        elite, best = Elite.of(candidate, id=f"round {number}"), self._run_archive.archive.best
        if best is None or self._is_outdone(elite) or not self._run_archive.archive.beats(elite, best):
            return
        if self.elite is not None and self.elite.source == elite.source:
            return
        self.elite = elite
        self._write(elite, candidate)

    def withdraw(self) -> None:
        """Return to the best committed program, because the best one failed its check."""
        self.elite = None
        best = self._run_archive.archive.best
        if best is not None:
            self._write(best, self._find_record(best).candidate)

    def _is_outdone(self, elite: Elite) -> bool:
        return self.elite is not None and self._run_archive.archive.beats(self.elite, elite)

    def _find_record(self, elite: Elite) -> Committed:
        records = self._store.records(int(elite.id.partition(".")[0]))
        return next(record for record in records if record.id == elite.id)

    def _write(self, elite: Elite, candidate: Candidate) -> None:
        """Write the file of the best program, with a header about the program."""
        limits, problem = self._folder.config.limits, self._folder.problem
        lines = describe_program(problem, limits, elite, candidate.parents, self._notes)
        # The file needs no array of the run.
        elite = replace(elite, source=self._store.complete_program(elite.source))
        self._folder.write_best(elite, partial(format_comments, lines))
