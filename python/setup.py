"""Two files of the package are made here: the declarations, from the public headers, and a copy of the library.

The library is the file that ULPSCOPE_LIBRARY names, else build/.libs/libulpscope.so of this tree (scripts/build). Without
one the package uses an installed libulpscope. What libulpscope itself needs (MPFR, libzip, ...) is not copied:
scripts/python-wheel makes a wheel with all of it inside."""

import os
import pathlib
import shutil
import subprocess
import sys

from setuptools import Distribution, setup

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent


class BinaryDistribution(Distribution):
    """Wheels are of one platform when the library is inside."""

    def has_ext_modules(self):
        return any((HERE / "ulpscope" / "_lib").glob("*"))


def prepare():
    subprocess.run([sys.executable, str(TREE / "scripts" / "python_declarations.py")], check=True)
    inside = HERE / "ulpscope" / "_lib"
    library = pathlib.Path(os.environ.get("ULPSCOPE_LIBRARY", TREE / "build" / ".libs" / "libulpscope.so"))
    shutil.rmtree(inside, ignore_errors=True)
    if library.exists():
        inside.mkdir()
        shutil.copy(library.resolve(), inside / "libulpscope.so.0")
    else:
        print(f"ulpscope: there is no {library}; the package will look for an installed libulpscope")


if (TREE / "include" / "ulpscope.h").exists():
    prepare()
setup(version=(TREE / "VERSION").read_text().strip(), distclass=BinaryDistribution)
