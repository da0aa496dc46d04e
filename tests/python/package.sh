# For tests of the Python package: a Python with numpy, the package with its declarations in a folder of the build's, and the
# shared library of the build. Sets python, source, program; `work` goes away.
python=${ULPSCOPE_TEST_PYTHON:-python3}
source=$(cd "${top_srcdir:-.}" && pwd)
build=$(cd "${top_builddir:-.}" && pwd)
program=$build/ulpscope
export ULPSCOPE_LIBRARY=$build/libulpscope.so
[ -f "$ULPSCOPE_LIBRARY" ] || { echo "no shared library was built: skipped"; exit 77; }
command -v "$python" >/dev/null || { echo "$python is not there: skipped"; exit 77; }
"$python" -c 'import sys, numpy; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || { echo "$python is older than 3.9 or has no numpy: skipped"; exit 77; }
# a library built for a sanitizer needs its run time first
nm -D "$ULPSCOPE_LIBRARY" | grep -q '__asan_init\|__tsan_init' && { echo "a library with sanitizers cannot be loaded by Python: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$source/python/ulpscope" "$source/python/ulpscope_program.py" "$work"
"$python" "$source/scripts/python_declarations.py" "$work/ulpscope" || exit 1
export PYTHONPATH=$work PYTHONDONTWRITEBYTECODE=1
