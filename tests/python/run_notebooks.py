"""Run the code of notebooks, cell by cell, in the folder that they are in: run_notebooks.py FOLDER."""
import contextlib
import io
import json
import os
import pathlib
import sys

import ulpscope


def run(path):
    document = json.loads(path.read_text())
    world, printed = {"__name__": "__main__"}, io.StringIO()
    cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells):
        if cell["outputs"] or cell["execution_count"] is not None:
            sys.exit(f"{path.name}: cell {number} is committed with its output")
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), world)
        except ulpscope.MissingPackageError as missing:
            print(f"{path.name}: skipped: {missing}")
            return
        except BaseException:
            print(printed.getvalue())
            raise
    if not cells or not printed.getvalue():
        sys.exit(f"{path.name} shows nothing")
    print(f"{path.name}: {len(cells)} cells")


def main():
    os.chdir(sys.argv[1])
    paths = sorted(pathlib.Path().glob("*.ipynb"))
    if len(paths) < 6:
        sys.exit("notebooks are missing")
    for path in paths:
        run(path)


main()
