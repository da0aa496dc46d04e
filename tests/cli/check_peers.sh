#!/usr/bin/env bash
# Files that other tools read and write. Polygraphy's run results: their structure, and where the Python of ULPSCOPE_TEST_PYTHON
# has polygraphy and onnxruntime, by polygraphy itself in both directions.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

# two samples in Polygraphy's --save-inputs
python3 - "$inputs" <<'END' || fail "inputs"
import array, base64, json, sys, zipfile
def npy(data, scale):
    end = 10 + int.from_bytes(data[8:10], 'little')
    assert b"'<f4'" in data[:end]
    return data[:end] + array.array('f', [v * scale for v in array.array('f', data[end:])]).tobytes()
samples = []
with zipfile.ZipFile(sys.argv[1]) as file:
    for i, scale in enumerate((1, 0.5)):
        members = {name[:-4]: npy(file.read(name), scale) for name in file.namelist()}
        samples.append({name: {'array': base64.b64encode(data).decode(), 'polygraphy_class': 'ndarray'} for name, data in members.items()})
        with zipfile.ZipFile(f'sample{i}.npz', 'w') as one:
            for name, data in members.items():
                one.writestr(name + '.npy', data)
json.dump(samples, open('samples.json', 'w'))
END
expect 0 "two iterations" "$program" run "$model" -i samples.json -a fp32 -q -o fp32.json
expect 0 "all values" "$program" run "$model" -i samples.json -a fp16@a100 -q --all-values -o all.json
for i in 0 1; do
    expect 0 "sample $i" "$program" run "$model" -i sample$i.npz -a fp32 -q -o fp32-$i.npz
    expect 0 "sample $i, all values" "$program" run "$model" -i sample$i.npz -a fp16@a100 -q --all-values -o all-$i.npz
done
says 2 "two samples in an npz" "FILE.json" run "$model" -i samples.json -q -o no.npz
expect 0 "two samples, printed" "$program" run "$model" -i samples.json -q
[ "$(grep -c '^sample ' out)" = 2 ] && [ "$(grep -c '^logits ' out)" = 2 ] || fail "two samples, printed"
for i in 0 1; do
    says 0 "iteration $i is compared" "explained by fp32" compare "$model" fp32.json --iteration $i -i sample$i.npz -q
done
python3 - <<'END' || fail "Polygraphy's run results"
import base64, json, os, zipfile
for name, runner in (('fp32', 'ulpscope-fp32'), ('all', None)):
    results = json.load(open(name + '.json'))
    assert list(results) == ['lst', 'polygraphy_class'] and results['polygraphy_class'] == 'RunResults'
    (got, iterations), = results['lst']
    assert got == runner if runner else got.startswith('ulpscope-fp16@a100'), got
    assert len(iterations) == 2
    os.makedirs(name, exist_ok=True)
    for i, iteration in enumerate(iterations):
        assert list(iteration) == ['outputs', 'runtime', 'runner_name', 'polygraphy_class']
        assert iteration['runtime'] is None and iteration['runner_name'] == got and iteration['polygraphy_class'] == 'IterationResult'
        with zipfile.ZipFile(f'{name}-{i}.npz') as file:
            assert [n[:-4] for n in file.namelist()] == list(iteration['outputs'])
            for member in file.namelist():
                value = iteration['outputs'][member[:-4]]
                assert set(value) == {'values', 'polygraphy_class'} and value['polygraphy_class'] == 'LazyArray'
                assert set(value['values']) == {'array', 'polygraphy_class'} and value['values']['polygraphy_class'] == 'ndarray'
                assert base64.b64decode(value['values']['array'], validate=True) == file.read(member), member
        # as Polygraphy streams into a folder
        json.dump({'lst': [[got, [iteration]]], 'polygraphy_class': 'RunResults'}, open(f'{name}/{i:010}.json', 'w'))
END
for i in 0 1; do
    "$program" compare "$model" fp32.json --iteration $i -i sample$i.npz -q | sed "s|fp32\.json|fp32|g" >file.out
    "$program" compare "$model" fp32 --iteration $i -i sample$i.npz -q >folder.out
    cmp -s <(tr -s ' \n' ' ' <file.out) <(tr -s ' \n' ' ' <folder.out) || fail "iteration $i of a folder is not that of the file"
done
rm fp32/0000000000.json
expect 3 "a folder without its first iteration" "$program" compare "$model" fp32 -i sample0.npz -q

polygraphy=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))')/polygraphy
if ! python3 -c 'import onnxruntime, polygraphy; print("polygraphy", polygraphy.__version__)' 2>/dev/null || [ ! -x "$polygraphy" ]; then
    echo "polygraphy and onnxruntime are not installed: its files are compared by structure only"
else
    expect 0 "inspect data" "$polygraphy" inspect data fp32.json
    shows out "ulpscope-fp32 (2 iterations)" "inspect data"
    expect 0 "inspect data of all values" "$polygraphy" inspect data all.json --all
    expect 0 "--load-outputs" "$polygraphy" run "$model" --onnxrt --load-inputs samples.json --load-outputs fp32.json --atol 1e-4 --rtol 1e-4 --save-outputs ort.json
    shows out "Passed: 2/2 iterations" "--load-outputs"
    expect 1 "--load-outputs that differ" "$polygraphy" run "$model" --onnxrt --load-inputs samples.json --load-outputs all.json --atol 1e-7 --rtol 1e-7
    mkdir streamed
    expect 0 "a streamed folder" "$polygraphy" run "$model" --onnxrt --load-inputs samples.json --save-outputs streamed
    for recording in ort.json streamed; do
        for i in 0 1; do
            says 0 "$recording, iteration $i" "explained by fp32" compare "$model" "$recording" --iteration $i -i sample$i.npz -q
        done
        expect 3 "$recording has two iterations" "$program" compare "$model" "$recording" --iteration 2 -i sample0.npz -q
    done
fi

exit $failed
