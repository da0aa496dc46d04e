#!/usr/bin/env bash
# Audits of many samples: shards put together, an audit killed and resumed, ranks of mpirun, lists of samples: all give the bytes of
# one run, whose means and worst cases are those of audits of each sample.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

# Seven samples from one, of four shapes; some overflow in FP16, one has a NaN.
python3 - "$inputs" <<'END' || exit 99
import io, os, random, struct, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
member = archive.namelist()[0]
array = archive.read(member)
head = 10 + struct.unpack('<H', array[8:10])[0]
values = struct.unpack(f'<{(len(array) - head) // 4}f', array[head:])
assert b"'shape': (4, 16, 4)" in array[:head]
draw = random.Random(4)
os.mkdir('samples')
for i, batch in enumerate((4, 1, 3, 3, 2, 4, 1)):
    scale = 3e4 if i in (2, 5) else 1
    changed = [value * draw.random() * scale for value in values[:batch * 64]]
    if i == 5:
        changed[3] = float('nan')
    with zipfile.ZipFile(f'samples/s{i}.npz', 'w') as out:
        out.writestr(member, array[:head].replace(b'(4,', b'(%d,' % batch) + struct.pack(f'<{len(changed)}f', *changed))
END
audit=("$program" audit "$model" -i samples/ -a fp16,bf16 -q)
# the same bytes but for the costs
costs='^ +"(seconds|peak_bytes)"'
same() {
    cmp -s <(grep -vE "$costs" whole/report.json) <(grep -vE "$costs" "$1/report.json") || fail "$2: report.json differs"
    cmp -s whole/layers.csv "$1/layers.csv" || fail "$2: layers.csv differs"
    cmp -s whole/summary.txt "$1/summary.txt" || fail "$2: summary.txt differs"
}
expect 0 "one run" "${audit[@]}" -o whole
[ "$(grep -cE "$costs" whole/report.json)" = 5 ] || fail "the audit's seconds and bytes, and three arithmetics' seconds"

shows out "samples/s0.npz, samples/s1.npz," "names of several samples"
for i in 0 1 2 3 4 5 6; do expect 0 "sample $i" "$program" audit "$model" -i samples/s$i.npz -a fp16,bf16 -q -o "one$i"; done
python <<'END' || fail "means and worst cases"
whole = json.load(open('whole/report.json'))
ones = [json.load(open(f'one{i}/report.json')) for i in range(7)]
assert whole['sample_names'] == [f'samples/s{i}.npz' for i in range(7)]
checked = 0
def number(value):
    return float(value) if value is not None else math.nan
for l, lane in enumerate(whole['lanes']):
    for n, node in enumerate(lane['nodes']):
        for o, output in enumerate(node['outputs']):
            each = [one['lanes'][l]['nodes'][n]['outputs'][o] for one in ones]
            for view in ('entire', 'introduced'):
                rms = [number(e[view]['rms']) for e in each]
                mean = number(output['samples'][view + '_mean']['rms'])
                if any(math.isnan(r) for r in rms):
                    continue
                # sums of 7 terms in another order: 7 roundings of 2^-53
                assert abs(mean - math.fsum(rms) / 7) <= 8 * 2.0 ** -53 * max(rms), (node['name'], mean)
                if view == 'entire' and not any(e[view]['nonfinite'] for e in each):
                    assert number(output[view]['rms']) == max(rms)
                    worst = rms.index(max(rms))
                    assert whole['sample_names'][output['worst_sample']] == f"samples/s{worst}.npz"
                    assert output['dims'] == each[worst]['dims']
                checked += 1
assert checked > 10, checked
END

# an empty batch is not the worst sample: it has nothing to compare
python "$inputs" <<'END' || exit 99
archive = zipfile.ZipFile(sys.argv[1])
member = archive.namelist()[0]
array = archive.read(member)
head = 10 + struct.unpack('<H', array[8:10])[0]
with zipfile.ZipFile('nothing.npz', 'w') as out:
    out.writestr(member, array[:head].replace(b'(4,', b'(0,'))
END
for order in "nothing samples/s0" "samples/s0 nothing" "nothing"; do
    words=()
    for name in $order; do words+=(-i "$name.npz"); done
    expect 0 "$order" "$program" audit "$model" "${words[@]}" -a fp16,bf16 -q -o "with"
    [ "$order" = nothing ] || python <<'END' || fail "$order: the worst is the empty one"
for lane, alone in zip(*(json.load(open(f'{name}/report.json'))['lanes'] for name in ('with', 'one0'))):
    for node, other in zip(lane['nodes'], alone['nodes']):
        for output, only in zip(node['outputs'], other['outputs']):
            assert output['entire'] == only['entire'] and output['dims'] == only['dims'], (node['name'], output['entire'], only['entire'])
            assert json.load(open('with/report.json'))['sample_names'][output['worst_sample']] == 'samples/s0.npz'
END
done
fields with/report.json 'all(lane["verdict"].startswith("not judged: ") and "element to compare" in lane["verdict"] for lane in r["lanes"])' "nothing alone"

# the forecast over samples of several shapes: of each output the largest of all, where a sample by itself has it
for i in 0 1 2 3 4 6; do expect 0 "overflow of sample $i" "$program" overflow "$model" -i samples/s$i.npz -q -o "ahead$i"; done
rm -rf finite && mkdir finite && cp samples/s[0-46].npz finite
expect 0 "overflow of all" "$program" overflow "$model" -i finite -q -o ahead
python3 - <<'END' || fail "the forecast over samples of several shapes"
import json
names = [0, 1, 2, 3, 4, 6]
whole = json.load(open('ahead/overflow.json'))['lanes'][0]
ones = [json.load(open(f'ahead{i}/overflow.json'))['lanes'][0] for i in names]
checked = 0
for n, node in enumerate(whole['nodes']):
    for o, output in enumerate(node['outputs']):
        each = [one['nodes'][n]['outputs'][o] for one in ones]
        largest = [e['largest'] for e in each]
        assert output['largest'] == max(largest), (node['name'], output, largest)
        assert output['count'] == sum(e['count'] for e in each)
        first = next((i for i, e in enumerate(each) if e['overflowed']), None)
        if first is not None:
            assert output['sample'] == first and output['index'] == each[first]['index']
        checked += 1
assert checked > 10 and any(n['born'] for n in whole['nodes']), checked
END
says 3 "samples of several shapes in one comparison" "this command takes samples of one shape, \`audit\`, \`overflow\`, \`plan\` and \`tolerance\` of any" prove "$model" -i finite -a fp16 -q
lines err 1 "samples of several shapes in one comparison"

# searches on samples of several shapes: what they say of each is what its own audit says
expect 1 "a plan that is validated on NaN" "$program" plan "$model" -i finite -a bf16 --tolerance sqnr_db=60 --validate samples/s5.npz -q -o found
expect 0 "a plan for samples of several shapes" "$program" plan "$model" -i finite -a bf16 --tolerance sqnr_db=60 --validate finite/s6.npz -q -o found
expect 0 "formats for samples of several shapes" "$program" quantise "$model" -i finite --formats nvfp4,fp32 --tolerance sqnr_db=60 -q -o listed
for i in 0 1 2 3 4 6; do
    for what in found listed; do
        expect 0 "audit of sample $i with the plan $what" "$program" audit "$model" -i samples/s$i.npz --plan $what/plan.json -q -o "$what$i"
    done
done
python <<'END' || fail "searches on samples of several shapes"
names = [0, 1, 2, 3, 4, 6]
for what in ('found', 'listed'):
    found = json.load(open(f'{what}/plan.json'))
    samples = found['samples']
    assert found['met'] and [s['name'] for s in samples] == [f'finite/s{i}.npz' for i in names]
    for i, sample in zip(names, samples):
        lane, = json.load(open(f'{what}{i}/report.json'))['lanes']
        said, = {o['entire']['sqnr_db'] for n in lane['nodes'] for o in n['outputs'] if o['name'] == sample['output']}
        # the same run, measured by the same sums
        assert sample['metric'] == 'sqnr_db' and abs(said - sample['value']) <= 1e-9 * said, (what, i, said, sample)
        assert said >= 60
END
for i in 0 1 2 3 4 6; do
    expect 0 "tolerance of sample $i" "$program" tolerance "$model" -i samples/s$i.npz -a bf16 --trials 2 -q --json "tolerance$i.json"
done
expect 0 "one tolerance for samples of several shapes" "$program" tolerance "$model" -i finite -a bf16 --trials 2 -q --json tolerance.json
python <<'END' || fail "a tolerance for samples of several shapes"
whole, *ones = (json.load(open(f'tolerance{i}.json')) for i in ['', 0, 1, 2, 3, 4, 6])
assert whole['sample_count'] == 6 and [one['sample_count'] for one in ones] == [1] * 6
for o, output in enumerate(whole['outputs']):
    each = [one['outputs'][o] for one in ones]
    worst = max(each, key=lambda one: one['max_abs'])
    assert output['atol'] == max(one['atol'] for one in each) > 0
    assert {**output, 'sample': None, 'open': None} == {**worst, 'sample': None, 'open': None}
    assert output['sample'].startswith('finite/s') and output['sample'].split('/')[-1] == worst['sample'].split('/')[-1]
END
for k in 1 2 3; do expect 0 "shard $k" "${audit[@]}" --shard $k/3 --checkpoint shard$k; done
shows out "shard 3 of 3: 2 of 7 samples are finished in shard3" "a shard says what it did"
says 3 "a shard is missing" "sample 2 of 7, samples/s1.npz, is in none of the folders" audit --merge shard1 shard3 -o merged
lines err 1 "a shard is missing"
[ ! -e merged/report.json ] || fail "a partial report"
expect 0 "merge" "$program" audit --merge shard3 shard1 shard2 -o merged
same merged "merged shards"
expect 0 "shards in one folder" "${audit[@]}" --shard 2/2 --checkpoint both
expect 0 "shards in one folder" "${audit[@]}" --shard 1/2 --checkpoint both
expect 0 "shards in one folder" "$program" audit --merge both -o together
same together "shards in one folder"

# killed when one sample is finished, and when three are
for count in 1 3; do
    "${audit[@]}" --checkpoint killed -o resumed >/dev/null 2>&1 &
    process=$!
    for ((i = 0; i < 600; i++)); do
        [ "$(find killed -name 'sample-*.part' 2>/dev/null | wc -l)" -ge $count ] && break
        sleep 0.01
    done
    kill -9 $process 2>/dev/null
    wait $process 2>/dev/null
done
[ "$(find killed -name 'sample-*.part' | wc -l)" -ge 3 ] || fail "nothing was kept"
expect 0 "resume" "${audit[@]}" --checkpoint killed -o resumed
same resumed "killed and resumed"

# what does not belong together
says 3 "another arithmetic" "is of another audit: it has 'arithmetic bf16', this one 'arithmetic tf32'" audit "$model" -i samples -a fp16,tf32 -q --checkpoint killed
lines err 1 "another arithmetic"
shows err "give --checkpoint another folder, or the audit the same arguments" "another arithmetic"
says 3 "an arithmetic less" "it has 'arithmetic bf16' and this one has not" audit "$model" -i samples -a fp16 -q --checkpoint killed
says 3 "an arithmetic more" "this one has 'arithmetic tf32' and it has not" audit "$model" -i samples -a fp16,bf16,tf32 -q --checkpoint killed
expect 3 "another reference" "${audit[@]}" --reference fp64 --checkpoint killed
expect 3 "other samples" "$program" audit "$model" -i samples/s0.npz -a fp16,bf16 -q --checkpoint killed
cp samples/s6.npz kept.npz
cp samples/s1.npz samples/s6.npz
expect 3 "a changed sample" "${audit[@]}" --checkpoint killed
shows err "has changed since it was audited" "a changed sample"
cp kept.npz samples/s6.npz
cp killed/sample-000002.part kept.part
for at in 3 20 60 400 9000; do
    cp kept.part killed/sample-000002.part
    printf 'X' | dd of=killed/sample-000002.part bs=1 seek=$at conv=notrunc status=none
    expect 3 "a damaged part, at $at" "${audit[@]}" --checkpoint killed
    lines err 1 "a damaged part, at $at"
done
head -c 500 kept.part >killed/sample-000002.part
expect 3 "a part that was cut" "${audit[@]}" --checkpoint killed
rm killed/sample-000002.part
expect 0 "a part that was removed" "${audit[@]}" --checkpoint killed -o resumed
same resumed "a part made again"
expect 2 "a shard without a folder" "${audit[@]}" --shard 1/2
expect 2 "no shard" "${audit[@]}" --shard 3/2 --checkpoint z
expect 2 "a shard with a report" "${audit[@]}" --shard 1/2 --checkpoint z -o z
expect 2 "a shard with a page" "${audit[@]}" --shard 1/2 --checkpoint z --html z.html
expect 0 "merge to a page" "$program" audit --merge both --html page.html
grep -q '</html>' page.html || fail "merge to a page"
expect 2 "merge nothing" "$program" audit --merge
says 3 "merge no folder" "nowhere: is no folder that audit --checkpoint wrote" audit --merge nowhere
expect 0 "a shard of another audit" "$program" audit "$model" -i samples -a fp16,tf32 -q --shard 2/3 --checkpoint foreign
says 3 "merge a shard of another audit" "foreign/audit.part: is of another audit: it has 'arithmetic tf32', this one 'arithmetic bf16'; merge folders of one audit alone, and leave this one out" audit --merge shard1 foreign shard3
    "merge a shard of another audit"
mkdir elsewhere
expect 3 "merge elsewhere" env -C elsewhere "$program" audit --merge ../shard1 ../shard2 ../shard3
shows err "samples/, which the shards' arguments name: No such file or directory; run audit --merge in the folder where the shards were run" "merge elsewhere"
lines err 1 "merge elsewhere"
expect 0 "a folder below others" "$program" audit "$model" -i samples/s0.npz -a bf16 -q --checkpoint a/b/c
[ -e a/b/c/sample-000001.part ] || fail "a folder below others"
: >file
expect 3 "a file as a folder" "$program" audit "$model" -i samples/s0.npz -a bf16 -q --checkpoint file/c
lines err 1 "a file as a folder"
expect 0 "a shard of no sample" "${audit[@]}" --shard 9/9 --checkpoint last
shows out "shard 9 of 9: there is none of the 7 samples in it" "a shard of no sample"

# what a file of kernels holds is of the audit, not what it is called
names=$(python3 -c "import json; print(*[node['name'] for node in json.load(open('whole/report.json'))['lanes'][0]['nodes']][:2])")
read -r one two <<<"$names"
grouped=("$program" audit "$model" -i samples/s0.npz -a fp16,fuse=./groups.json -q --checkpoint grouped)
echo "{\"groups\": [{\"nodes\": [\"$one\"]}]}" >groups.json
expect 0 "a file of kernels" "${grouped[@]}"
expect 0 "the same file of kernels" "${grouped[@]}"
echo "{\"groups\": [{\"nodes\": [\"$two\"]}]}" >groups.json
expect 3 "another file of kernels" "${grouped[@]}"
shows err "is of another audit: it has 'groups " "another file of kernels"

# shares of an arithmetic that overflows are of 16 samples that lie evenly among all: those between them are not looked at
for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    printf 'samples/s2.npz\nsamples/s0.npz\n' >>every.txt
    printf 'samples/s2.npz\n' >>half.txt
done
for list in every half; do expect 0 "$list" "$program" audit "$model" -i $list.txt -a fp16 -q -o $list; done
python <<'END' || fail "shares of samples that lie evenly"
every, half = ([node.get('share') for node in json.load(open(f'{name}/report.json'))['lanes'][0]['nodes']] for name in ('every', 'half'))
assert every == half and any(share for share in every), (every, half)
END

# lists: relative to the list, a folder in it, comments
mkdir lists
printf '# samples\n\n../samples/s0.npz\n../samples\n' >lists/two.txt
expect 0 "a list" "$program" audit "$model" -i lists/two.txt -a bf16 -q -o listed
[ "$(grep -c 's0.npz"' listed/report.json)" -ge 2 ] || fail "a list of a file and a folder"
printf 'nothing.npz\n' >lists/wrong.txt
says 3 "a list of nothing" "lists/wrong.txt: line 1: lists/nothing.npz" audit "$model" -i lists/wrong.txt -q
: >lists/empty.txt
expect 3 "an empty list" "$program" audit "$model" -i lists/empty.txt -q

# one array is the input of a model that has one, whatever its name; a folder of them is samples, or one of each input's name
mkdir arrays named mixed
for i in 0 3; do python3 -c 'import sys, zipfile; a = zipfile.ZipFile(sys.argv[1]); open(sys.argv[2], "wb").write(a.read(a.namelist()[0]))' samples/s$i.npz arrays/x$i.npy; done
cp arrays/x3.npy "named/$(python3 -c 'import sys, zipfile; print(zipfile.ZipFile(sys.argv[1]).namelist()[0])' "$inputs")"
cp samples/s3.npz mixed/a.npz
: >mixed/labels.npy
printf 'arrays/x0.npy\narrays/x3.npy\n' >arrays.txt
printf 'samples/s0.npz\nsamples/s3.npz\n' >archives.txt
plain() { grep -vE "$costs" "$1/report.json" | sed 's,"[a-z.]*/[a-z0-9]*\.np[yz]","SAMPLE",; s,"named","SAMPLE",; /"arguments"/s, -i .*,,; s, -i [^ ]*,,g'; }
for pair in "arrays.txt archives.txt" "arrays archives.txt" "arrays/x3.npy samples/s3.npz" "named samples/s3.npz" "mixed samples/s3.npz"; do
    read -r given archive <<<"$pair"
    for kind in given archive; do expect 0 "arrays: ${!kind}" "$program" audit "$model" -i "${!kind}" -a bf16 -q -o $kind; done
    cmp -s <(plain given) <(plain archive) || fail "$given is not audited as $archive"
done
expect 0 "a forecast of a list" "$program" overflow "$model" -i arrays.txt -q
says 2 "samples behind --inputs" "'samples/s1.npz' is no model: give --inputs before each sample" audit "$model" -i samples/s0.npz samples/s1.npz
mkdir empty
says 3 "an empty folder" "empty: holds no sample" audit "$model" -i empty -q
: >one.pb
says 3 "one tensor of a sample" "one.pb: is one tensor of a sample; give the folder that it is in" audit "$model" -i one.pb -q
if [ -n "${ULPSCOPE_TEST_DATA:-}" ]; then
    says 3 "one array for several inputs" "is one array, and the model has 3 inputs; give an .npz, or a folder with NAME.npy for each" audit "$ULPSCOPE_TEST_DATA/models/tinybert_1l/model.onnx" -i arrays/x0.npy -q
fi

if grep -q '^#define HAVE_MPI 1' "$program_folder/config.h" && command -v mpirun >/dev/null; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    for ranks in ${ULPSCOPE_TEST_RANKS:-2}; do
        expect 0 "$ranks ranks" mpirun --oversubscribe -n "$ranks" "${audit[@]}" -t 1 -o ranks
        same ranks "$ranks ranks"
        rm -rf ranks
    done
    expect 0 "ranks with a checkpoint" mpirun --oversubscribe -n 2 "${audit[@]}" -t 1 --checkpoint of_ranks -o ranks
    same ranks "ranks with a checkpoint"

    # ranks that were given one shard share it; ranks with shards of their own do these, in folders of their own
    for k in 1 2; do
        expect 0 "shard $k over ranks" mpirun --oversubscribe -n 2 "${audit[@]}" -t 1 --shard $k/2 --checkpoint ranked
        [ "$(grep -c "samples are finished in ranked" out)" -eq 1 ] || fail "shard $k over ranks: said by one rank"
    done
    expect 0 "shards over ranks" "$program" audit --merge ranked -o ranks
    same ranks "shards over ranks"
    expect 0 "a shard for each rank" mpirun --oversubscribe -n 1 "${audit[@]}" -t 1 --shard 1/2 --checkpoint ranked1 : \
        -n 1 "${audit[@]}" -t 1 --shard 2/2 --checkpoint ranked2
    expect 0 "a shard for each rank" "$program" audit --merge ranked1 ranked2 -o ranks
    same ranks "a shard for each rank"
    expect 2 "a shard for one rank alone" mpirun --oversubscribe -n 1 "${audit[@]}" --shard 1/2 --checkpoint ranked3 : -n 1 "${audit[@]}"
    shows err "rank 1 of 2 has no --shard, and others have one" "a shard for one rank alone"
    mpirun --oversubscribe -n 2 "${audit[@]}" -t 1 >out 2>err
    grep -q "$(printf '\033')" out && fail "colours of mpirun's terminal are in a file"

    # A rank killed at random moments (when as many samples are finished): mpirun names it and ends the others, no more than the
    # sample of each is lost, and the same command goes on, to the bytes of one run.
    for ((i = 0; i < 40; i++)); do echo "samples/s$((i % 5)).npz"; done >forty.txt
    many=("$program" audit "$model" -i forty.txt -a fp16,bf16 -t 1)
    expect 0 "forty samples" "${many[@]}" -q -o whole
    RANDOM=7
    kills=2
    [ -z "${ULPSCOPE_TEST_LONG:-}" ] || kills=20
    for ((k = 0; k < kills; k++)); do
        rm -rf of_killed ranks
        victim=$((RANDOM % 3)) after=$((1 + RANDOM % 25))
        mpirun --oversubscribe -n 3 "${many[@]}" --checkpoint of_killed -o ranks >out 2>err &
        process=$!
        for ((i = 0; i < 3000; i++)); do
            [ "$(find of_killed -name 'sample-*.part' 2>/dev/null | wc -l)" -ge $after ] && break
            sleep 0.01
        done
        for child in $(pgrep -P $process); do
            tr '\0' '\n' <"/proc/$child/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$victim" && kill -9 "$child"
        done
        wait $process && fail "rank $victim, killed after $after samples: the audit ends well"
        shows err "rank $victim" "rank $victim, killed after $after samples"
        [ ! -e ranks/report.json ] || fail "a report of a part of the samples"
        finished=$(find of_killed -name 'sample-*.part' | wc -l)
        expect 0 "resumed after rank $victim was killed" mpirun --oversubscribe -n 2 "${many[@]}" --checkpoint of_killed -o ranks
        same ranks "resumed after rank $victim was killed"
        echo "rank $victim killed after $after: $finished of 40 samples were kept"
    done
    mpirun --oversubscribe -n 2 "$program" audit "$model" -i samples -a fp16,e99m3 -q >out 2>err && fail "ranks that fail end well"
else
    echo "not configured --with-mpi, or without mpirun: ranks are not tried"
    if ! grep -q '^#define HAVE_MPI 1' "$program_folder/config.h"; then
        expect 0 "ranks without MPI" env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 "$program" audit "$model" -i samples/s0.npz -a bf16
        shows err "started 2 processes, and this ulpscope was built without MPI" "ranks without MPI"
        expect 0 "the second rank without MPI" env PMI_SIZE=2 PMI_RANK=1 "$program" audit "$model" -i samples/s0.npz -a bf16
        lines err 0 "the second rank without MPI"
    fi
fi
exit $failed
