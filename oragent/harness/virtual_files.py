"""Files in memory for programs that read input files and write output files: a guest cannot write to any disk."""

import builtins
import io
import os
import stat
from collections.abc import Collection, Mapping
from typing import Any, Self

from numpy.lib import _datasource


class VirtualFiles:
    """Lets ``open``, ``os.stat`` and what uses them see files in memory. Other paths are those of the process.

    Attributes:
        contents: Bytes of the inputs, and of the outputs that were written and closed.
    """

    def __init__(self, inputs: Mapping[str, bytes], outputs: Collection[str]) -> None:
        """Prepare the files.

        Args:
            inputs: Contents of the files that can be read, by path.
            outputs: Paths of the files that can be written.
        """
        self.contents = {_normalise(path): content for path, content in inputs.items()}
        self._outputs = {_normalise(path): path for path in outputs}
        self._saved: tuple[Any, ...] = ()

    def __enter__(self) -> Self:
        # NumPy keeps the function that opens files.
        openers: Any = vars(_datasource)["_file_openers"]
        openers._load()
        self._numpy = openers._file_openers
        self._saved = builtins.open, io.open, os.stat, os.makedirs, os.mkdir, self._numpy[None]
        self._set(self._open, self._open, self._stat, _do_nothing, _do_nothing, self._open)
        return self

    def __exit__(self, *_: object) -> None:
        self._set(*self._saved)

    def _set(self, *functions: Any) -> None:
        builtins.open, io.open, os.stat, os.makedirs, os.mkdir, self._numpy[None] = functions

    def outputs(self) -> dict[str, bytes]:
        """Return the outputs that were written, by path."""
        return {path: self.contents[full] for full, path in self._outputs.items() if full in self.contents}

    def _open(self, file: Any, mode: str = "r", buffering: int = -1, *args: Any, **kwargs: Any) -> Any:
        path = _normalise(file)
        is_output = path in self._outputs
        if not is_output and path not in self.contents:
            return self._saved[0](file, mode, buffering, *args, **kwargs)
        writes = any(letter in mode for letter in "wax+")
        if writes and not is_output:
            raise PermissionError(f"{path} can only be read")
        if not writes and path not in self.contents:
            raise FileNotFoundError(2, "No such file or directory", path)
        content = b"" if "w" in mode or "x" in mode else self.contents.get(path, b"")
        stream = _Stream(self.contents if writes else None, path, content, at_end="a" in mode)
        if "b" in mode:
            return stream
        names = ("encoding", "errors", "newline")
        options = dict(zip(names, args, strict=False)) | {name: kwargs[name] for name in names if name in kwargs}
        return io.TextIOWrapper(stream, **{"encoding": "utf-8", **{k: v for k, v in options.items() if v is not None}})

    def _stat(self, path: Any, *args: Any, **kwargs: Any) -> os.stat_result:
        content = self.contents.get(_normalise(path))
        if content is None:
            result: os.stat_result = self._saved[2](path, *args, **kwargs)
            return result
        return os.stat_result((stat.S_IFREG | 0o644, 0, 0, 1, 0, 0, len(content), 0, 0, 0))


class _Stream(io.BytesIO):
    """Stream of a file. Closing it stores what was written."""

    def __init__(self, store: dict[str, bytes] | None, path: str, content: bytes, *, at_end: bool) -> None:
        super().__init__(content)
        self._store, self._path = store, path
        if at_end:
            self.seek(0, io.SEEK_END)

    def close(self) -> None:
        """Store the content."""
        if not self.closed and self._store is not None:
            self._store[self._path] = self.getvalue()
        super().close()


def _do_nothing(*args: Any, **kwargs: Any) -> None:
    pass


def _normalise(path: Any) -> str:
    if isinstance(path, str | os.PathLike) and isinstance(text := os.fspath(path), str):
        return os.path.abspath(text)
    return ""
