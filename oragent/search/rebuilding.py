"""A new database for a run that has lost its own: what is left of it are its elites' files."""

from oragent._base.errors import StoreError
from oragent._base.files import network_file_system
from oragent.search.folder import RunFolder
from oragent.search.store import Store, is_blank

MOST_BYTES = 200_000  # of a program; what is longer is none of ours
SUFFIXES = ("", "-wal", "-shm")


def rebuild_run(folder: RunFolder) -> int:
    """Begin the run anew with its elites: they are scored again beside the seed when it goes on.

    What was lost stays lost: which candidates there were beside them, what models answered, what was spent. A database
    that is there is kept as ``run.db.broken``.

    Returns:
        How many programs it begins with.

    Raises:
        StoreError: if nothing is left, the database can still be read, or another process searches there.
    """
    if network_file_system(folder.path):
        raise StoreError(f"{folder.path} lies on a network: copy it to a disk of this machine, and rebuild it there")
    with folder.locked():
        if _is_whole(folder):
            raise StoreError(f"{folder.database} can be read and holds rounds: 'oragent resume' goes on with it")
        sources = _read_sources(folder)
        if not sources:
            raise StoreError(f"nothing is left in {folder.path} to rebuild from: neither candidates/ nor best.py")
        for suffix in SUFFIXES:
            old = folder.database.with_name(folder.database.name + suffix)
            if old.is_file():
                old.replace(old.with_name(f"{folder.database.name}.broken{suffix}"))
        with Store(folder.database) as store:
            store.found(sources)
    return len(sources)


def _is_whole(folder: RunFolder) -> bool:
    try:
        if is_blank(folder.database):
            return False
        with Store(folder.database, readonly=True) as store:
            return bool(store.records(0))
    except (StoreError, ValueError, TypeError, KeyError):  # corrupted, as SQLite or we say
        return False


def _read_sources(folder: RunFolder) -> list[str]:
    """The texts of what is left, each once; the head line of ``best.py`` is a comment and no other program."""
    files = [file for file in folder.found_elites() if file.stat().st_size <= MOST_BYTES]
    return list(dict.fromkeys(file.read_text(encoding="utf-8", errors="replace") for file in files))
