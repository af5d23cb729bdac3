"""Which file system a path lies on: what belongs on a disk of this machine must not lie on a network's."""

import re
from pathlib import Path

TABLE = Path("/proc/self/mounts")
# Their locks, and memory shared through them, are not what a database needs. Shares of a virtual machine's host are not
# among them: there is one machine that uses them.
WORDS = """
    nfs nfs4 cifs smb3 smbfs afs ceph glusterfs lustre beegfs beegfs_nodev gpfs pvfs2 orangefs panfs wekafs ncpfs coda
    davfs fuse.ceph fuse.glusterfs fuse.sshfs fuse.s3fs fuse.davfs2 fuse.rclone fuse.gcsfuse fuse.juicefs fuse.beegfs
"""
NETWORKS = frozenset(WORDS.split())
ESCAPE = re.compile(r"\\([0-7]{3})")


def network(path: Path, table: Path | None = None) -> str:
    """The kind of network file system that a path lies on; empty for a disk of this machine, or where nobody tells.

    Args:
        path: Path that may not be there yet.
        table: Table of what is mounted; None: the kernel's own.
    """
    try:
        lines = (table or TABLE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    place, found, longest = path.resolve(), "", -1
    for line in lines:
        words = line.split(" ")
        if len(words) < 3:
            continue
        point = Path(ESCAPE.sub(lambda match: chr(int(match[1], 8)), words[1]))
        if (
            place.is_relative_to(point) and len(point.parts) >= longest
        ):  # of two at one point, the later hides the other
            found, longest = words[2], len(point.parts)
    return found if found in NETWORKS else ""
