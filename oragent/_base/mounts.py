"""Recognise network file systems, on which databases must not be."""

import re
from pathlib import Path

TABLE = Path("/proc/self/mounts")
# Their locks and shared memory do not work as a database needs. Shares of a virtual machine's host are not listed: only
# one machine uses them.
NETWORK_KINDS = """
    nfs nfs4 cifs smb3 smbfs afs ceph glusterfs lustre beegfs beegfs_nodev gpfs pvfs2 orangefs panfs wekafs ncpfs coda
    davfs fuse.ceph fuse.glusterfs fuse.sshfs fuse.s3fs fuse.davfs2 fuse.rclone fuse.gcsfuse fuse.juicefs fuse.beegfs
"""
NETWORK_FILE_SYSTEMS = frozenset(NETWORK_KINDS.split())
ESCAPE = re.compile(r"\\([0-7]{3})")


def network_file_system(path: Path, table: Path | None = None) -> str:
    """Return the kind of network file system that a path is on; empty for a local disk, or if unknown.

    Args:
        path: Path that need not exist.
        table: Table of mounts; None: that of the kernel.
    """
    try:
        lines = (table or TABLE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    resolved, kind, longest = path.resolve(), "", -1
    for mount in lines:
        words = mount.split(" ")
        if len(words) < 3:
            continue
        point = Path(ESCAPE.sub(lambda match: chr(int(match[1], 8)), words[1]))
        if (
            resolved.is_relative_to(point) and len(point.parts) >= longest
        ):  # of two at one point, the later hides the other
            kind, longest = words[2], len(point.parts)
    return kind if kind in NETWORK_FILE_SYSTEMS else ""
