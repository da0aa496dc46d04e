"""Record single matrix instructions of an NVIDIA GPU where sums are zero, underflow or cancel: the part `units` of lab/record_h200.py.

Every instruction is compiled on its own by nvcc (sm_90a) and gets raw patterns: INSTRUCTION.{A,B,C,D} with A [tile][M][K], B [tile][N][K]
(column n of B is row n here), C and D [tile][M][N], as in h200_mma.npz and h200_wgmma.npz. Tile t is in regime t mod len(REGIMES).
"""
import concurrent.futures
import ctypes
import os
import subprocess
import tempfile

import numpy as np

# An operand type: exponent bits, fraction bits, bits of its register's element, and the highest exponent field that is finite for every fraction.
OPERANDS = {"f16": (5, 10, 16, 30), "bf16": (8, 7, 16, 254), "tf32": (8, 10, 32, 254), "e4m3": (4, 3, 8, 14), "e5m2": (5, 2, 8, 30), "f64": (11, 52, 64, 2046)}
ACCUMULATORS = {"f32": (8, 23, 32, 254), "f16": (5, 10, 16, 30), "f64": OPERANDS["f64"]}
# How a thread holds an accumulator: C type, constraint, registers, elements of a row before the rows 8 further down.
REGISTERS = {"f32": ("float", "f", 4, 2), "f16": ("uint32_t", "r", 2, 1), "f64": ("double", "d", 2, 2)}

MMA = [("f16", 16, "f32"), ("f16", 8, "f32"), ("f16", 16, "f16"), ("f16", 8, "f16"), ("bf16", 16, "f32"), ("bf16", 8, "f32"), ("tf32", 8, "f32"), ("tf32", 4, "f32"),
       ("e4m3", 32, "f32"), ("e5m2", 32, "f32"), ("e4m3", 32, "f16"), ("e5m2", 32, "f16"), ("f64", 4, "f64")]
WGMMA = [("f16", 16, "f32"), ("f16", 16, "f16"), ("bf16", 16, "f32"), ("tf32", 8, "f32"), ("e4m3", 32, "f32"), ("e5m2", 32, "f32"), ("e4m3", 32, "f16"), ("e5m2", 32, "f16")]

# Operands whose results were measured singly before: all of a row or column, in turn.
NAMED = {"f16": [(0x8001, 0x1000), (0x8001, 0x1800)], "bf16": [(0x9900, 0x1900)], "tf32": [(0x99000000, 0x19000000)]}

SOURCE = """
#include <cstdint>
typedef {word} word;
typedef {sum} sum;

/* Lane l has row l / 4, and of every four words in it word l % 4. */
__global__ void product(const uint8_t *A, const uint8_t *B, const uint8_t *C, uint8_t *D)
{{
    const int lane = threadIdx.x % 32, row = blockIdx.x * {m} + threadIdx.x / 32 * 16 + lane / 4, quarter = lane % 4;
    word a[{a_count}];
    sum d[{d_count}];
    for (int r = 0; r < {a_count}; r++)
        a[r] = *(const word *)(A + (row + r % 2 * 8) * {row_bytes} + (r / 2 * 4 + quarter) * sizeof(word));
    for (int i = 0; i < {d_count}; i++)
        d[i] = *(const sum *)(C + ((row + i / {d_row} * 8) * 8 + 2 * quarter + i % {d_row}) * {sum_bytes});
{body}
    for (int i = 0; i < {d_count}; i++)
        *(sum *)(D + ((row + i / {d_row} * 8) * 8 + 2 * quarter + i % {d_row}) * {sum_bytes}) = d[i];
}}

extern "C" int run(const void *A, size_t a, const void *B, size_t b, const void *C, void *D, size_t d, int tiles)
{{
    uint8_t *memory;
    cudaMalloc(&memory, a + b + 2 * d);
    cudaMemcpy(memory, A, a, cudaMemcpyHostToDevice);
    cudaMemcpy(memory + a, B, b, cudaMemcpyHostToDevice);
    cudaMemcpy(memory + a + b, C, d, cudaMemcpyHostToDevice);
    product<<<tiles, {threads}>>>(memory, memory + a, memory + a + b, memory + a + b + d);
    cudaMemcpy(D, memory + a + b + d, d, cudaMemcpyDeviceToHost);
    cudaFree(memory);
    return cudaGetLastError();
}}
"""
MMA_BODY = """
    word b[{b_count}];
    for (int r = 0; r < {b_count}; r++)
        b[r] = *(const word *)(B + (blockIdx.x * 8 + lane / 4) * {row_bytes} + (r * 4 + quarter) * sizeof(word));
    asm volatile("mma.sync.aligned.{instruction} {{{d}}}, {{{a}}}, {{{b}}}, {{{d}}};" : {outputs} : {inputs});
"""
# B's 8 rows of 32 bytes lie in shared memory as two matrices of 8 rows of 16 bytes, not swizzled.
WGMMA_BODY = """
    __shared__ __align__(256) uint32_t b[64];
    if (threadIdx.x < 64)
        b[threadIdx.x] = *(const uint32_t *)(B + (blockIdx.x * 8 + threadIdx.x / 4 % 8) * 32 + (threadIdx.x / 32 * 4 + threadIdx.x % 4) * 4);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const uint64_t address = (uint64_t)__cvta_generic_to_shared(b) >> 4 & 0x3FFF, descriptor = address | 8ull << 16 | 8ull << 32;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.{instruction} {{{d}}}, {{{a}}}, {b}, p, 1, 1{transpose}; }}"
                 : {outputs} : {inputs}, "l"(descriptor));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
"""


def source_of(unit_class, operand, k, accumulator):
    bits = OPERANDS[operand][2]
    sum_type, constraint, d_count, d_row = REGISTERS[accumulator]
    double = operand == "f64"
    row_bytes = k * bits // 8
    a_count = 1 if double else row_bytes // 8
    b_count = max(a_count // 2, 1)
    mma = unit_class == "mma"
    m = 64 if not mma else 8 if double else 16
    places = iter(range(100))

    def operands(count):
        return ",".join(f"%{next(places)}" for _ in range(count))
    fields = {"d": operands(d_count), "a": operands(a_count), "b": operands(b_count if mma else 1), "b_count": b_count, "row_bytes": row_bytes}
    kind = "d" if double else "r"
    fields["outputs"] = ", ".join(f'"+{constraint}"(d[{i}])' for i in range(d_count))
    fields["inputs"] = ", ".join([f'"{kind}"(a[{i}])' for i in range(a_count)] + [f'"{kind}"(b[{i}])' for i in range(b_count if mma else 0)])
    fields["transpose"] = ", 0" if operand in ("f16", "bf16") else ""
    if mma:
        fields["instruction"] = f"m{m}n8k{k}.row.col.{accumulator}.{operand}.{operand}.{accumulator}"
    else:
        fields["instruction"] = f"m64n8k{k}.{accumulator}.{operand}.{operand}"
    body = (MMA_BODY if mma else WGMMA_BODY).format(**fields)
    return SOURCE.format(word="double" if double else "uint32_t", sum=sum_type, m=m, a_count=a_count, d_count=d_count, d_row=d_row, row_bytes=row_bytes,
                         sum_bytes=ACCUMULATORS[accumulator][2] // 8, body=body, threads=32 if mma else 128)


def build(folder, name, text):
    """The library of an instruction, or what nvcc says."""
    path = os.path.join(folder, name)
    with open(path + ".cu", "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run(["nvcc", "-gencode", "arch=compute_90a,code=sm_90a", "-shared", "-Xcompiler", "-fPIC", "-o", path + ".so", path + ".cu"], capture_output=True, text=True, check=False)
    return (path + ".so", "") if done.returncode == 0 else (None, done.stderr[:600])


def run(library, a, b, c):
    d = np.empty_like(c)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (a, b, c, d)]
    size = ctypes.c_size_t
    status = ctypes.CDLL(library).run(pointers[0], size(a.nbytes), pointers[1], size(b.nbytes), pointers[2], pointers[3], size(d.nbytes), ctypes.c_int(len(a)))
    if status:
        raise RuntimeError(f"CUDA error {status}")
    return d


class Type:
    """Patterns of a type by sign, exponent of the leading bit, and fraction."""

    def __init__(self, exponent_bits, fraction_bits, bits, top):
        self.bias, self.fraction_bits, self.bits = (1 << (exponent_bits - 1)) - 1, fraction_bits, bits
        self.shift = 13 if (bits, fraction_bits) == (32, 10) else 0  # TF32 lies in the upper bits
        self.emin, self.emax = 1 - self.bias, top - self.bias
        self.smallest = self.emin - fraction_bits
        self.sign = np.uint64(1 << (bits - 1))
        self.dtype = np.dtype(f"uint{bits}")

    def make(self, negative, exponent, fraction):
        """fraction: random bits below the leading one, as many as the number then has."""
        exponent = np.clip(exponent, self.smallest, self.emax)
        kept = np.clip(exponent - self.smallest, 0, self.fraction_bits)  # bits behind the leading one
        low = fraction & ((1 << kept) - 1)
        field = np.where(exponent >= self.emin, exponent + self.bias, 0)
        magnitude = (field << self.fraction_bits) + low + np.where(exponent < self.emin, 1 << kept, 0)
        return self.finish(negative, magnitude)

    def finish(self, negative, magnitude):
        pattern = magnitude.astype(np.uint64) << np.uint64(self.shift)
        return (pattern | np.where(negative, self.sign, np.uint64(0))).astype(self.dtype)

    def values(self, pattern):
        pattern = pattern.astype(np.uint64)
        magnitude = ((pattern & ~self.sign) >> np.uint64(self.shift)).astype(np.int64)
        field, low = magnitude >> self.fraction_bits, magnitude & ((1 << self.fraction_bits) - 1)
        significand = np.where(field > 0, low + (1 << self.fraction_bits), low)
        with np.errstate(over="ignore"):
            return np.where(pattern & self.sign, -1.0, 1.0) * np.ldexp(significand.astype(float), (np.maximum(field, 1) - self.bias - self.fraction_bits).astype(np.int32))


class Probe:
    """The operands of one tile; a regime changes what it is about."""

    def __init__(self, generator, name, operand, accumulator, shape):
        self.random, self.name, self.x, self.y = generator, name, operand, accumulator
        self.m, self.n, self.k = shape
        self.a_negative, self.b_negative = self.coins(self.m, self.k), self.coins(self.n, self.k)
        self.a_exponent = self.exponents(self.k)
        self.b_exponent = self.exponents(self.k)
        self.a_fraction, self.b_fraction = self.bits(self.m, self.k), self.bits(self.n, self.k)
        self.a_zero, self.b_zero = np.zeros((self.m, self.k), bool), np.zeros((self.n, self.k), bool)
        self.c = self.zeros()

    def coins(self, *shape):
        return self.random.integers(0, 2, shape).astype(bool)

    def bits(self, *shape):
        return self.random.integers(0, 1 << 52, shape)

    def exponents(self, *shape):
        return self.random.integers(self.x.smallest, self.x.emax + 1, shape)

    def zeros(self, negative=None):
        return self.y.finish(self.coins(self.m, self.n) if negative is None else np.full((self.m, self.n), negative), np.zeros((self.m, self.n), np.int64))

    def small(self, low, high):
        """Accumulators whose exponents lie so far above the smallest one."""
        return self.y.make(self.coins(self.m, self.n), self.y.smallest + self.random.integers(low, high, (self.m, self.n)), self.bits(self.m, self.n))

    def aim(self, exponent):
        """Products whose exponents are near these: a's is random where b's can meet it."""
        low = np.maximum(self.x.smallest, exponent - self.x.emax)
        high = np.minimum(self.x.emax, exponent - self.x.smallest)
        self.a_exponent = np.clip(self.random.integers(np.minimum(low, high), np.maximum(low, high) + 1), self.x.smallest, self.x.emax)
        self.b_exponent = exponent - self.a_exponent

    def edge(self, low, high):
        self.aim(self.y.smallest + self.random.integers(low, high, self.k))

    def products(self, negative):
        self.a_negative, self.b_negative = np.full((self.m, self.k), negative), np.zeros((self.n, self.k), bool)

    def patterns(self):
        a = np.where(self.a_zero, self.x.finish(self.a_negative, np.zeros((self.m, self.k), np.int64)), self.x.make(self.a_negative, self.a_exponent, self.a_fraction))
        b = np.where(self.b_zero, self.x.finish(self.b_negative, np.zeros((self.n, self.k), np.int64)), self.x.make(self.b_negative, self.b_exponent, self.b_fraction))
        return a, b, self.c


def powers(p):
    """Exact sums: whether a lane's registers are where they are thought to be."""
    p.a_exponent, p.b_exponent = p.random.integers(-2, 2, (p.m, p.k)), p.random.integers(-2, 2, (p.n, p.k))
    p.a_fraction[:], p.b_fraction[:] = 0, 0
    p.c = p.y.make(p.coins(p.m, p.n), p.random.integers(-3, 3, (p.m, p.n)), np.zeros((p.m, p.n), np.int64))


def negative_underflow(p):
    p.edge(-14 - p.k // 4, -1)
    p.products(True)
    p.c = p.zeros(False)


def negative_underflow_onto_minus(p):
    negative_underflow(p)
    p.c = p.zeros(True)


def positive_underflow(p):
    p.edge(-14 - p.k // 4, -1)
    p.products(False)


def mixed_underflow(p):
    p.edge(-14, 0)
    p.c = np.where(p.coins(p.m, p.n), p.c, p.small(0, 2))


def zero_products(p):
    """Rows of one sign and of both; every second row has its zeros in b."""
    p.a_zero[::2], p.a_zero[1::2, ::2] = True, True
    p.b_zero[:, 1::2] = True
    p.a_negative[::4], p.a_negative[2::4] = True, False
    p.b_negative[:p.n // 2] = False


def cancelling_pairs(p):
    """c is zero, and the products are pairs that cancel."""
    half = p.k // 2
    for array in (p.a_exponent, p.b_exponent, p.a_fraction.T, p.b_fraction.T, p.b_negative.T):
        array[half:] = array[:half]
    p.a_negative[:, half:] = ~p.a_negative[:, :half]


def cancelling_accumulator(p):
    """One product, and c is its opposite."""
    one = p.random.integers(0, p.k)
    p.aim(p.random.integers(max(p.y.smallest, 2 * p.x.smallest), min(p.y.emax, 2 * p.x.emax) + 1, p.k))
    p.a_fraction[:], p.b_fraction[:] = 0, 0
    p.a_zero[:, np.arange(p.k) != one] = True
    a, b = p.x.make(p.a_negative, p.a_exponent, p.a_fraction)[:, one], p.x.make(p.b_negative, p.b_exponent, p.b_fraction)[:, one]
    exponent = [np.frexp(np.abs(p.x.values(side)))[1] - 1 for side in (a, b)]
    p.c = p.y.make(p.a_negative[:, one][:, None] == p.b_negative[:, one][None], exponent[0][:, None] + exponent[1][None], np.zeros((p.m, p.n), np.int64))


def truncated_remainder(p):
    """Two large products cancel; what is left is negative and lies below the last bit kept, or c does."""
    cancelling_pairs(p)
    large = p.random.integers(p.x.emin + p.x.emax, p.x.emax + 1)
    exponents = np.full(p.k, large - p.random.integers(22, 40))
    exponents[[0, p.k // 2]] = large
    p.aim(exponents)
    p.a_exponent[p.k // 2] = p.a_exponent[0]
    p.b_exponent[p.k // 2] = p.b_exponent[0]
    rest = (np.arange(p.k) != 0) & (np.arange(p.k) != p.k // 2)
    p.a_negative[:, rest] = True
    p.b_negative[:, rest] = False
    p.c = np.where(p.coins(p.m, p.n), p.c, p.small(0, 3))


def small_accumulator(p):
    """Products of zero hand c on, subnormal or just above."""
    zero_products(p)
    p.a_zero[:] = True
    p.c = p.small(0, p.y.fraction_bits + 4)


def subnormal_results(p):
    p.edge(-3, p.y.fraction_bits + 2)
    p.c = np.where(p.coins(p.m, p.n), p.c, p.small(0, p.y.fraction_bits + 2))


def anything(p):
    p.a_exponent, p.b_exponent = p.exponents(p.m, p.k), p.exponents(p.n, p.k)
    p.c = p.y.make(p.coins(p.m, p.n), p.random.integers(p.y.smallest, p.y.emax + 1, (p.m, p.n)), p.bits(p.m, p.n))


def named(p):
    p.c = p.zeros(False)


REGIMES = [powers, negative_underflow, negative_underflow_onto_minus, positive_underflow, mixed_underflow, zero_products, cancelling_pairs, cancelling_accumulator,
           truncated_remainder, small_accumulator, subnormal_results, anything, named]


def probes(unit_class, operand, k, accumulator, tiles):
    generator = np.random.default_rng([len(unit_class), *operand.encode(), k, *accumulator.encode()])
    m = 64 if unit_class == "wgmma" else 8 if operand == "f64" else 16
    made = []
    for tile in range(tiles):
        regime = REGIMES[tile % len(REGIMES)]
        probe = Probe(generator, operand, Type(*OPERANDS[operand]), Type(*ACCUMULATORS[accumulator]), (m, 8, k))
        regime(probe)
        a, b, c = probe.patterns()
        if regime is named:
            pairs = NAMED.get(operand, [(int(probe.x.sign) | 1, 1)])
            for row in range(m):
                a[row] = pairs[row % len(pairs)][0]
            for column in range(8):
                b[column] = pairs[column % len(pairs)][1]
        made.append((a, b, c))
    return [np.stack(arrays) for arrays in zip(*made)]


def agrees(operand, accumulator, a, b, c, d):
    """Are the exact sums of the first regime right?"""
    x, y, step = Type(*OPERANDS[operand]), Type(*ACCUMULATORS[accumulator]), len(REGIMES)
    exact = y.values(c[::step]) + np.einsum("tmk,tnk->tmn", x.values(a[::step]), x.values(b[::step]))
    return np.array_equal(exact, y.values(d[::step]))


def record(out, log):
    instructions = [("mma", *row) for row in MMA] + [("wgmma", *row) for row in WGMMA]
    names = [f"{unit_class}.{operand}_k{k}_{accumulator}" for unit_class, operand, k, accumulator in instructions]
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            libraries = list(pool.map(lambda name, row: build(folder, name, source_of(*row)), names, instructions))
        for name, row, (library, message) in zip(names, instructions, libraries):
            a, b, c = probes(*row, len(REGIMES) * (8 if row[0] == "mma" else 2))
            try:
                d = run(library, a, b, c) if library else None
            except RuntimeError as error:
                library, message = None, str(error)
            if not library or not agrees(row[1], row[3], a, b, c, d):
                failed.append(name)
                log(f"units {name}: {message or 'exact sums are wrong'}")
                continue
            zero, sign = Type(*ACCUMULATORS[row[3]]).values(d) == 0, d >> np.array(d.itemsize * 8 - 1, d.dtype)
            log(f"units {name}: {d.size} results, {int((zero & (sign == 0)).sum())} are 0, {int((zero & (sign == 1)).sum())} are -0")
            out.update({f"{name}.{part}": array for part, array in zip("ABCD", (a, b, c, d))})
    if failed:
        raise RuntimeError(f"not recorded: {', '.join(failed)}")
