"""The command `ulpscope` of a wheel: a module beside the package, so that the program starts without numpy."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
from importlib.util import find_spec


def program() -> tuple[str | None, pathlib.Path | None]:
    """The program that came with the package and its folder, else the first on PATH that is not this script itself."""
    package = find_spec("ulpscope")
    for folder in (package.submodule_search_locations or []) if package else []:
        inside = pathlib.Path(folder) / "_lib"
        if (inside / "ulpscope").exists():
            return str(inside / "ulpscope"), inside
    own = os.path.dirname(os.path.realpath(sys.argv[0]))
    folders = [folder for folder in os.get_exec_path() if os.path.realpath(folder) != own]
    return shutil.which("ulpscope", path=os.pathsep.join(folders)), None


def main() -> None:
    found, inside = program()
    if found is None:
        sys.exit("ulpscope: the package has no program inside and none is on PATH: install a wheel (scripts/python-wheel) or ulpscope itself")
    environment = dict(os.environ)
    if inside is not None:  # the library lies beside the program
        before = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = f"{inside}:{before}" if before else str(inside)
    os.execve(found, ["ulpscope", *sys.argv[1:]], environment)
