#!/usr/bin/env bash
# The ONNX backend on ONNX's test cases beside build/conformance, and Polygraphy's command line with the package's runner, where a
# Python has onnx and polygraphy. ULPSCOPE_TEST_LONG=1: all cases, and those that onnx itself generates.
set -u
. "${top_srcdir:-.}/tests/python/package.sh"
done=0
cases=/usr/share/libonnx-testdata/data/node
if [ -n "${ULPSCOPE_TEST_DATA:-}" ] && [ -f "$ULPSCOPE_TEST_DATA/onnx/node.tar.xz" ]; then
    tar xJf "$ULPSCOPE_TEST_DATA/onnx/node.tar.xz" -C "$work" && cases=$work/node
fi
if ! "$python" -c 'import sys, onnx.backend.test; sys.exit(tuple(map(int, onnx.__version__.split(".")[:2])) < (1, 19))' 2>/dev/null; then
    echo "$python has no onnx of 1.19 or later: its backend was not tested"
elif [ ! -d "$cases" ]; then
    echo "there is neither ULPSCOPE_TEST_DATA nor $cases: the ONNX backend was not tested"
else
    every=12; [ -n "${ULPSCOPE_TEST_LONG:-}" ] && every=1
    EVERY=$every "$python" "$source/tests/python/check_backend.py" "${top_builddir:-.}/conformance" "$cases" ${ULPSCOPE_TEST_LONG:+--suite} || exit 1
    done=1
fi
if "$python" -c 'import polygraphy' 2>/dev/null; then
    # what pip would write beside the package
    mkdir "$work/ulpscope-0.dist-info"
    printf 'Metadata-Version: 2.1\nName: ulpscope\nVersion: 0\n' >"$work/ulpscope-0.dist-info/METADATA"
    { echo '[polygraphy.run.plugins]'; grep -A1 'polygraphy.run.plugins' "$source/pyproject.toml" | tail -1 | tr -d '"'; } >"$work/ulpscope-0.dist-info/entry_points.txt"
    polygraphy() { (cd "$work" && "$python" -c 'import sys; from polygraphy.tools import main; sys.argv[0] = "polygraphy"; sys.exit(main())' "$@"); }
    digits=$source/examples/digits/model.onnx
    polygraphy run "$digits" --ulpscope --ulpscope-arith fp32 fp64 --input-shapes 'patches:[2,16,4]' --save-inputs "$work/in.json" \
        --save-outputs "$work/out.json" --atol 1e-3 >"$work/log" 2>&1 || { tail -20 "$work/log"; echo "polygraphy run --ulpscope failed"; exit 1; }
    polygraphy run "$digits" --ulpscope --ulpscope-arith fp32 fp16 --input-shapes 'patches:[2,16,4]' --atol 1e-6 >"$work/log" 2>&1 &&
        { echo "polygraphy saw no difference of fp32 and fp16"; exit 1; }
    grep -q 'Difference exceeds tolerance' "$work/log" || { tail -20 "$work/log"; echo "polygraphy ended in another way"; exit 1; }
    # its outputs are those of the program on its inputs: --load-outputs compares bit for bit
    "$program" run "$digits" -i "$work/in.json" -a fp32 --outputs "$work/mine.json" >/dev/null || exit 1
    polygraphy run "$digits" --ulpscope --ulpscope-arith fp32 --load-inputs "$work/in.json" --load-outputs "$work/mine.json" --atol 0 --rtol 0 >"$work/log" 2>&1 ||
        { tail -20 "$work/log"; echo "polygraphy's run differs from the program's"; exit 1; }
    polygraphy run "$digits" --ulpscope --onnx-outputs mark all --input-shapes 'patches:[1,16,4]' >"$work/log" 2>&1 && grep -q 'block/norm1/Sum_out' "$work/log" ||
        { tail -20 "$work/log"; echo "polygraphy's marked outputs were not run"; exit 1; }
    echo "polygraphy run --ulpscope: runs, differs, equals the program, marks outputs"
    done=1
else
    echo "$python has no polygraphy: its plugin was not tested"
fi
[ $done = 1 ] || exit 77
