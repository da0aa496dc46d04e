#!/usr/bin/env bash
# Six small networks in runtimes that are installed: in the Python ULPSCOPE_TEST_RUNTIMES, as scripts/install-runtimes makes one, or in that of tests.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python=${ULPSCOPE_TEST_RUNTIMES:-${ULPSCOPE_TEST_PYTHON:-python3}} ran=
for runtime in cpu qnn; do
    package=onnxruntime$([ $runtime = cpu ] || echo "_$runtime")
    "$python" -c "import numpy, $package" 2>/dev/null || { echo "no Python with $package: what $runtime gives is not compared"; continue; }
    ran=1
    mkdir $runtime
    (cd $runtime && "$python" "$source/tests/cli/runtime_networks.py" "$source/examples" "$program" $runtime) || fail $runtime
done
[ "$ran" ] || exit 77
exit $failed
