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
# what split-k=cublas gives, three slices of whole 64 of 4,096 products, compare finds of the numbers alone; 3 of whole blocks of 16 give others
python "$program" "$source" "$work" <<'END' || fail "compare with slices of 64"
program, source, work = sys.argv[1:]
sys.path.insert(0, source + "/examples")
from onnx_writer import node, write_model
generator = np.random.default_rng(0)
x, w = (generator.standard_normal(shape, np.float32).astype(np.float16).astype(np.float32) for shape in ((64, 4096), (4096, 64)))
model, inputs, recorded = (f"{work}/{name}" for name in ("cut.onnx", "x.npz", "y.npz"))
write_model(model, [node("MatMul", "x w", "y", "deep")], {"x": x.shape}, ["y"], {"w": w}, opset=14)
np.savez(inputs, x=x)
subprocess.run([program, "run", model, "-i", inputs, "-a", "fp16@h100,split-k=cublas", "-q", "-o", recorded], check=True)
np.savez(recorded, x=x, y=np.load(recorded)["y"])
said = subprocess.run([program, "compare", model, "-i", inputs, recorded, "-a", "fp16@h100,split-k=auto", "--out", work + "/found"], capture_output=True, text=True).stdout
(found,) = json.load(open(work + "/found/compare.json"))["slices"]
if (found["slices"], found["tile"], found["found"], found["others"]) != (3, 64, True, "") or "is cut in 3 slices of whole 64 products" not in said:
    sys.exit(f"{found}\n{said}")
END
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
        for asked in (f"{name}@a100,split-k={S}", f"{name}@a100,split-k=auto"):
            done = subprocess.run([program, "compare", f"{work}/p.onnx", f"{work}/pr.npz", "-i", f"{work}/p.npz", "-a", asked, "-q", "--out", f"{work}/pc"], capture_output=True, text=True)
            found = json.load(open(f"{work}/pc/compare.json"))
            if "auto" in asked:
                slices = found["slices"][0]
                # FP32 sums rounded to BF16 once tell no count from another
                if done.returncode or not slices["found"] or slices.get("partials", "") != ("" if way == "wide" else f"partials={way}") or (way != "wide" and slices["slices"] != S):
                    sys.exit(f"{asked}, {way}: {done.stdout}")
            elif done.returncode != (way != "wide") or (done.returncode and found["cause"]["arithmetic"] != f"{asked},partials={way}"):
                sys.exit(f"{asked}, {way}: {done.stdout}")
END
python3 "$source/lab/compare_split_k.py" "$program" "$source/tests/data/split_k/h100_split_k.npz" --largest $((8192 * 1024)) || fail "products differ"

exit "$failed"
