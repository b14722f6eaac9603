"""Checks GPU synchronization code with the command ``fencepost`` that this package carries.

    >>> import fencepost
    >>> report = fencepost.check(text="kernel k { global x: u32 = 0; st [x], 1; }")
    >>> report.passes, [launch["verdict"] for launch in report.launches]
    (True, ['proved'])

Objects are those of ``fencepost check --format json``; the JSON Schema of the project describes them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, Union

__all__ = ["Error", "Report", "check", "command"]

_PathLike = Union[str, "os.PathLike[str]"]

#: Exit codes after which there is something to read: proved, violated, rejected, undecided.
_TOLD = (0, 1, 2, 3)


class Error(Exception):
    """The command could not be run, or ended by a bug of its own."""


@dataclass(frozen=True)
class Report:
    """What a check has found out."""

    #: 0 where everything is proved, 1 violated, 2 input rejected, 3 undecided.
    exit_code: int
    #: An object for each kernel and launch that was checked.
    launches: list[dict[str, Any]] = field(default_factory=list)
    #: An object for each warning.
    warnings: list[dict[str, Any]] = field(default_factory=list)
    #: An object for each input that was not checked, with its errors.
    rejected: list[dict[str, Any]] = field(default_factory=list)
    #: What the command wrote to standard error.
    messages: str = ""

    @property
    def passes(self) -> bool:
        """Whether the command passes: everything is proved, or known, or accepted."""
        return self.exit_code == 0

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The violations of all launches."""
        return [finding for launch in self.launches for finding in launch["findings"]]


def command() -> str:
    """The path of the command: the one of this package, else one on the search path."""
    name = "fencepost.exe" if os.name == "nt" else "fencepost"
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    # Installed for a user, or into a folder of its own with `pip install --target`.
    folders.append(sysconfig.get_path("scripts", f"{os.name}_user"))
    folders.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin"))
    for folder in folders:
        path = os.path.join(folder, name) if folder else ""
        if path and os.access(path, os.X_OK):
            return path
    found = shutil.which(name)
    if found is None:
        raise Error("the command `fencepost` is not there: reinstall the package, or put it on the search path")
    return found


def check(
    *paths: _PathLike,
    text: str | None = None,
    cwd: _PathLike | None = None,
    define: Mapping[str, int] | None = None,
    **options: Any,
) -> Report:
    """Checks files, folders, or a kernel as text.

    Without paths and text it checks what the ``fencepost.toml`` of the folder names. Other options are those of the command
    line with ``_`` for ``-``: a flag is ``True``, what may be given several times is a list.

    Raises :class:`Error` if the command cannot be run or ends by a bug of its own. That something is violated or rejected is
    no exception but in the report.
    """
    if text is not None and paths:
        raise ValueError("either paths or text, not both")
    arguments = [command(), "check", "--format", "json", "--color", "never"]
    for name, value in (define or {}).items():
        arguments += ["-D", f"{name}={value}"]
    for name, value in options.items():
        arguments += _option(name, value)
    arguments.append("--")
    arguments += [os.fspath(path) for path in paths] if text is None else ["-"]
    try:
        run = subprocess.run(
            arguments,
            input="" if text is None else text,
            cwd=cwd,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    except OSError as error:
        raise Error(f"{arguments[0]} cannot be run: {error}") from error
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    if run.returncode not in _TOLD or not lines and run.returncode:
        raise Error(f"`{' '.join(arguments)}` ended with {run.returncode}\n{run.stderr}")
    return Report(
        exit_code=run.returncode,
        launches=[line for line in lines if "findings" in line],
        warnings=[line for line in lines if "warning" in line],
        rejected=[line for line in lines if "errors" in line],
        messages=run.stderr,
    )


def _option(name: str, value: Any) -> Iterable[str]:
    """An option as words of the command line."""
    if name in ("format", "color", "watch", "trace", "graph"):
        raise TypeError(f"check() has no option {name!r}: it returns objects")
    word = "--" + name.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [word]
    if isinstance(value, (list, tuple)):
        return [part for one in value for part in (word, str(one))]
    return [word, str(value)]
