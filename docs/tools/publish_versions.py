"""Put a built site among those of other versions: python docs/tools/publish_versions.py docs/_build/html FOLDER.

The folder then has one folder a version, ``versions.json`` with their names for the list in the sidebar, the newest first, and an
``index.html`` that leads to the newest. A site of the same version is replaced.
"""

import json
import shutil
import sys
from pathlib import Path

from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from oragent import __version__  # noqa: E402 - of this checkout, whichever copy is installed

INDEX = """<!doctype html>
<meta charset="utf-8">
<title>oragent</title>
<meta http-equiv="refresh" content="0; url={newest}/index.html">
<a href="{newest}/index.html">oragent {newest}</a>
"""


def publish(site: Path, folder: Path, version: str) -> list[str]:
    """Copy a site to its folder and return the versions, the newest first.

    Args:
        site: Built site.
        folder: Folder of all versions.
        version: Version of the site.
    """
    if not (site / "index.html").is_file():
        sys.exit(f"{site} has no index.html: build the site first by 'make docs'")
    target = folder / version
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(site, target)
    names = sorted(filter(_is_version, (path.name for path in folder.iterdir())), key=Version, reverse=True)
    newest = next((name for name in names if not Version(name).is_prerelease), names[0])
    # The newest release stands first, also before a later preview.
    names.insert(0, names.pop(names.index(newest)))
    (folder / "versions.json").write_text(json.dumps(names) + "\n", encoding="utf-8")
    (folder / "index.html").write_text(INDEX.format(newest=newest), encoding="utf-8")
    return names


def _is_version(name: str) -> bool:
    try:
        Version(name)
    except InvalidVersion:
        return False
    return True


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("expected two folders: the built site, and that of all versions")
    print(", ".join(publish(Path(sys.argv[1]), Path(sys.argv[2]), __version__)))
