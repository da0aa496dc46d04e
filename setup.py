"""What is made here of the package: two modules, from the public headers, and copies of the library and the program.

The library is the file that ULPSCOPE_LIBRARY names, else build/libulpscope.so of this tree, which scripts/build makes first when
it is not there. The program is the file that ULPSCOPE_PROGRAM names, else build/ulpscope. What they need themselves (MPFR, libzip, ...)
is not copied: scripts/python-wheel makes a wheel with all of it inside."""

import os
import pathlib
import shutil
import subprocess
import sys

from setuptools import Distribution, setup

TREE = pathlib.Path(__file__).resolve().parent
INSIDE = TREE / "python" / "ulpscope" / "_lib"


class BinaryDistribution(Distribution):
    """Wheels are of one platform: the library is inside."""

    def has_ext_modules(self):
        return True


def prepare():
    subprocess.run([sys.executable, str(TREE / "scripts" / "python_declarations.py")], check=True)
    library = pathlib.Path(os.environ.get("ULPSCOPE_LIBRARY", TREE / "build" / "libulpscope.so"))
    if not library.exists() and "ULPSCOPE_LIBRARY" not in os.environ:
        if subprocess.run([str(TREE / "scripts" / "build")]).returncode:
            sys.exit("ulpscope: libulpscope could not be built; scripts/install-packages installs what that needs (Debian, Ubuntu)")
    program = pathlib.Path(os.environ.get("ULPSCOPE_PROGRAM", TREE / "build" / "ulpscope"))
    shutil.rmtree(INSIDE, ignore_errors=True)
    INSIDE.mkdir()
    shutil.copy(library.resolve(), INSIDE / "libulpscope.so.0")
    if program.exists():
        shutil.copy(program.resolve(), INSIDE / "ulpscope")


# egg_info and sdist ask for names alone
if not {"egg_info", "sdist", "dist_info"} & set(sys.argv):
    prepare()
setup(version=(TREE / "VERSION").read_text().strip(), distclass=BinaryDistribution)
