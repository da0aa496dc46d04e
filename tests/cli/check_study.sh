#!/usr/bin/env bash
# ulpscope study: its files beside each other, a study killed and resumed, refusals in a line, names that are hostile.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

sweeps=(--sweep 'e8m{3..9}' --sweep 'fp16,round={rne,rz,sr}' --sweep 'e8m7,order={sequential,pairwise,blocked:8}')
study=("$program" study "$model" -i "$inputs" -q --trials 6 --seed 5 "${sweeps[@]}")
expect 0 "a study" "${study[@]}" --tolerance 1e-2 --node head/Gemm --json whole.json --csv whole.csv --html whole.html
shows out "suffices for 0.01" "which setting is enough"
shows out "significant bits" "trials"
shows out "page: whole.html" "the page"
[ -s err ] && fail "-q is not quiet"
awk 'length > 100 && !/: / && !/^  do / { exit 1 }' out || fail "a table of more than 100 columns" # a proposed command is whole
python3 - <<'END' || fail "whole.json, whole.csv"
import csv, json, math
study = json.load(open('whole.json'))
assert study['schema'] == 2 and study['trials'] == 6 and study['seed'] == 5
places = study['places']
assert [p['kind'] for p in places[:2]] == ['output', 'node'] and {p['kind'] for p in places[2:]} == {'group'}
rows = list(csv.DictReader(open('whole.csv')))
assert len(rows) == len(study['settings']) * len(places)
for i, row in enumerate(rows):
    setting, p = study['settings'][i // len(places)], i % len(places)
    point = setting['points'][p]
    assert row['setting'] == setting['text'] and row['place'] == places[p]['name']
    number = float(row['relative']) if row['relative'] else None
    assert number is None and point['relative'] is None or abs(number - point['relative']) <= 1e-8 * number
# the law of the JSON is the line through the JSON's points
for series in study['series']:
    for p, fit in enumerate(series['fits']):
        x = [series['x'][i] for i in range(fit['first'], fit['last'] + 1)]
        y = [math.log2(study['settings'][series['settings'][i]]['points'][p]['relative']) for i in range(fit['first'], fit['last'] + 1)]
        if len(x) != fit['count']:
            continue
        n, mx, my = len(x), sum(x) / len(x), sum(y) / len(y)
        slope = sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)
        assert abs(slope - fit['slope']) < 1e-9, (series['name'], p, slope, fit['slope'])
        assert abs(math.sqrt(sum((b - my - slope * (a - mx)) ** 2 for a, b in zip(x, y)) / n) - fit['residual']) < 1e-9
assert any(series['fits'] for series in study['series'])
END
# an output of a setting is judged as an audit in that arithmetic judges it, by the same task
for task in signal classify; do
    expect 0 "a study, $task" "$program" study "$model" -i "$inputs" -q --sweep 'e8m{2..7}' --task $task --json graded.json
    for bits in 2 4 7; do
        expect 0 "its twin" "$program" audit "$model" -i "$inputs" -a e8m$bits --task $task -q --no-attribute -o twin
        python3 - "$bits" <<'END' || fail "the verdict on e8m$bits as $task"
import json, sys
settings = {setting['text']: setting for setting in json.load(open('graded.json'))['settings']}
grade = json.load(open('twin/report.json'))['lanes'][0]['outputs'][0]['judged']['grade']
assert settings['e8m' + sys.argv[1]]['points'][0]['grade'] == grade, grade
END
    done
done
# NaN in an input is judged nowhere, unless it is meant
PYTHONPATH=$source/examples python3 - <<'END' || fail "an input with NaN"
import numpy as np
from onnx_writer import node, write_model

write_model("passed.onnx", [node("Exp", "x", "y")], {"x": (4, 8)}, ["y"], {}, opset=13)
x = np.linspace(.1, 1, 32, dtype="f").reshape(4, 8)
x[1, 2] = np.nan
np.savez("passed.npz", x=x)
END
for meant in "" --allow-nonfinite-inputs; do
    expect 0 "NaN $meant" "$program" study passed.onnx -i passed.npz -q --sweep 'e8m{2..7}' $meant --checkpoint nan --json nan.json
    expect 0 "its twin" "$program" audit passed.onnx -i passed.npz -a e8m2 $meant -q --no-attribute -o twin
    python3 - "$meant" <<'END' || fail "NaN is judged: $meant"
import json, sys
grade = json.load(open('nan.json'))['settings'][0]['points'][0]['grade']
judged = json.load(open('twin/report.json'))['lanes'][0]['outputs'][0]['judged']['grade']
assert grade == (judged if sys.argv[1] else 'not judged') and judged != 'not judged', (grade, judged)
END
done

# killed when one setting is finished, and when four are
for count in 1 4; do
    rm -rf kept
    "${study[@]}" -t 1 --checkpoint kept >/dev/null 2>&1 &
    process=$!
    for ((i = 0; i < 1000; i++)); do
        [ "$(find kept -name 'setting-*.part' 2>/dev/null | wc -l)" -ge $count ] && break
        sleep 0.01
    done
    kill -9 $process 2>/dev/null
    wait $process 2>/dev/null
    [ "$(find kept -name 'setting-*.part' | wc -l)" -ge $count ] || fail "no setting was kept before the end"
    expect 0 "resumed" "$program" study "$model" -i "$inputs" --trials 6 --seed 5 "${sweeps[@]}" --checkpoint kept --json resumed.json
    shows err "settings were in kept already" "what is there is said"
    expect 0 "again, in one run" "${study[@]}" --json plain.json
    cmp -s resumed.json plain.json || fail "a resumed study has other bits"
done
for file in kept/*.part; do printf damaged | dd of="$file" bs=1 seek=300 conv=notrunc 2>/dev/null; break; done
expect 3 "a damaged file" "${study[@]}" --checkpoint kept
lines err 1 "a damaged file"

# several shapes: the law over the size; the error of rows that do not meet does not depend on how many there are
expect 0 "sizes" "$program" study "$model" -q --sweep 'e8m{5,9}' --shape patches=8x16x4 --shape patches=16x16x4 --shape patches=32x16x4 --shape patches=64x16x4
shows out "the error of logits does not depend on n" "sizes"
[ "$(grep -c ', logits$' out)" = 8 ] || fail "a row for each setting and size"
mkdir v1.0
several=("$program" study "$model" -q --sweep 'e8m{5..7}' --tolerance 1e-1)
expect 0 "files of several shapes" "${several[@]}" --shape patches=2x16x4 --shape patches=4x16x4 --json v1.0/x.json --csv x.csv --html v1.0/x --checkpoint shapes
shows out "shape patches 4x16x4" "each shape is named"
shows out "page: v1.0/x-shape-2" "the page of each shape"
for i in 1 2; do
    expect 0 "shape $i alone" "${several[@]}" --shape patches=$((2 * i))x16x4 --json alone.json --csv alone.csv --checkpoint shapes
    cmp -s alone.json v1.0/x-shape-$i.json && cmp -s alone.csv x-shape-$i.csv && [ -s v1.0/x-shape-$i ] || fail "files of shape $i differ from its own"
done
[ "$(find shapes -name 'setting-*.part' | wc -l)" = 6 ] || fail "settings of two shapes in one folder"
cp "$model" m-shape-2.json
"$program" study m-shape-2.json -q --sweep fp16 --shape patches=2x16x4 --shape patches=4x16x4 --json m.json >out 2>err && fail "a shape's file over the model"
cmp -s "$model" m-shape-2.json && [ ! -e m-shape-1.json ] || fail "the model is written over, or work was done"
lines err 1 "a shape's file over the model"
expect 2 "no sweep" "$program" study "$model" -i "$inputs" -q
expect 2 "an unknown rounding" "$program" study "$model" -i "$inputs" -q --sweep 'fp16,round={rne,xx}'
lines err 1 "an unknown rounding"
shows err "round=xx" "an unknown rounding"
expect 2 "many settings" "$program" study "$model" -i "$inputs" -q --sweep 'e{2..100}m{1..100}'
expect 2 "an unknown node" "$program" study "$model" -i "$inputs" -q --sweep 'fp16' --node head/Gem
shows err 'did you mean "head/Gemm"' "an unknown node"
expect 2 "a hostile sweep" "$program" study "$model" -i "$inputs" -q --sweep $'\e[31mfp16{'
grep -q $'\e' err && fail "an escape reaches the terminal"
expect 2 "the model as output" "$program" study "$model" -i "$inputs" -q --sweep fp16 --json "$model"
expect 2 "a tolerance below 0" "$program" study "$model" -i "$inputs" -q --sweep fp16 --tolerance=-1
expect 5 "no memory" "$program" study "$model" -i "$inputs" -q --sweep fp16 --max-memory 10K
expect 3 "no model" "$program" study nothing.onnx --sweep fp16
exit $failed
