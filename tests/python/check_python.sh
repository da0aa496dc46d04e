#!/usr/bin/env bash
# The Python package from the tree: its declarations beside the C compiler's, its numbers, examples, errors; the notebooks; mypy where a Python has it.
set -u
. "${top_srcdir:-.}/tests/python/package.sh"
"$python" "$source/tests/python/check_declarations.py" "$source/include" || exit 1
"$python" "$source/tests/python/check_package.py" "$program" "$source" || exit 1
"$python" "$source/tests/python/check_dropin.py" "$source" || exit 1
"$python" "$source/tests/python/check_study.py" "$source" || exit 1
"$python" "$source/tests/python/run_notebooks.py" "$source/examples/notebooks" || exit 1
if "$python" -c 'import mypy' 2>/dev/null; then
    (cd "$work" && "$python" -m mypy --config-file "$source/pyproject.toml" --cache-dir "$work/mypy") || exit 1
else
    echo "$python has no mypy: types were not checked"
fi
