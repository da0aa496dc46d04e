#!/usr/bin/env bash
# split-k=cublas against an H100: recorded products whose k was cut, where the Python of ULPSCOPE_TEST_PYTHON has numpy and onnx.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
expect 2 "no such table" "$program" list fp16@a100,split-k=cublas
expect 0 "TF32" "$program" list tf32@h100,split-k=cublas
expect 0 "FP32" "$program" list fp32,split-k=cublas
expect 2 "no such products" "$program" list fp16@h100,acc=fp16,factor=fp8-e4m3,split-k=cublas
expect 2 "partial sums of nothing" "$program" list fp16@a100,partials=serial
expect 2 "partial sums of FP32" "$program" list tf32@a100,split-k=2,partials=serial
expect 0 "partial sums" "$program" list bf16@a100,split-k=2,partials=workspace
expect 2 "rows without a table" "$program" list fp16@h100,rows=8
expect 0 "rows" "$program" list fp16@h100,split-k=cublas,rows=8
python3 -c 'import numpy; from onnx import helper' 2>/dev/null || { echo "no numpy and onnx in python3"; [ "$failed" = 0 ] && exit 77; exit "$failed"; }
# partial sums stored in BF16 or FP16: slices' sums are those of products of their own, which numpy rounds and adds; compare finds and names each way
python "$program" "$source" "$work" <<'END' || fail "partial sums in the storage format"
program, source, work = sys.argv[1:]
sys.path.insert(0, source + "/examples")
from onnx_writer import node, write_model
def bf16(x):
    bits = x.view("u4").astype("u8")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype("u4").view("f4")
generator, M, N, K, S = np.random.default_rng(5), 24, 32, 1024, 4
for name, stored in (("bf16", bf16), ("fp16", lambda x: x.astype("f2").astype("f4"))):
    x, w = (stored(generator.uniform(-1, 1, shape).astype("f4")) for shape in ((M, K), (K, N)))
    def run(x, w, arithmetic):
        write_model(f"{work}/p.onnx", [node("MatMul", "x w", "y")], {"x": x.shape}, ["y"], {"w": w}, opset=14)
        np.savez(f"{work}/p.npz", x=x)
        subprocess.run([program, "run", f"{work}/p.onnx", "-i", f"{work}/p.npz", "-a", arithmetic, "-q", "-o", f"{work}/py.npz"], check=True, stdout=subprocess.DEVNULL)
        return np.load(f"{work}/py.npz")["y"]
    parts = [run(x[:, K * s // S:K * (s + 1) // S], w[K * s // S:K * (s + 1) // S], f"tf32@a100,factor={name}") for s in range(S)]
    def fold(each, after):
        total = after(each(parts[0]))
        for part in parts[1:]:
            total = after(total + each(part))
        return stored(total)
    same = lambda x: x
    ways = {"wide": fold(same, same), "workspace": fold(stored, same), "serial": fold(same, stored), "rounded": fold(stored, stored)}
    for way, wanted in ways.items():
        got = run(x, w, f"{name}@a100,split-k={S},partials={way}")
        if not np.array_equal(got, wanted):
            sys.exit(f"{name}, {way}: {np.mean(got == wanted)}")
        np.savez(f"{work}/pr.npz", y=wanted)
        asked = f"{name}@a100,split-k={S}"
        done = subprocess.run([program, "compare", f"{work}/p.onnx", f"{work}/pr.npz", "-i", f"{work}/p.npz", "-a", asked, "-q", "--out", f"{work}/pc"], capture_output=True, text=True)
        found = json.load(open(f"{work}/pc/compare.json"))
        if done.returncode != (way != "wide") or (done.returncode and found["cause"]["arithmetic"] != f"{asked},partials={way}"):
            sys.exit(f"{asked}, {way}: {done.stdout}")
END
python3 "$source/lab/compare_split_k.py" "$program" "$source/tests/data/split_k/h100_split_k.npz" --largest $((8192 * 1024)) || fail "products differ"

exit "$failed"
