#!/usr/bin/env bash
# No result depends on what the C library's qsort does with equals (glibc's keeps their order while it has memory, musl's does not): the
# same files with a qsort that turns their order round.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
if [ -n "${ULPSCOPE_EMULATOR:-}" ]; then echo "a library cannot be preloaded into an emulator: skipped"; exit 77; fi
if grep -q __asan_init "$program"; then echo "a program with sanitizers takes no preloaded library: skipped"; exit 77; fi
command -v cc >/dev/null || { echo "no cc: skipped"; exit 77; }
cat >turned.c <<'C'
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
static long sorted, turned;
static void swap(char *a, char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}
/* Turned round, and equals kept so. */
void qsort_r(void *base, size_t count, size_t size, int (*compare)(const void *, const void *, void *), void *context)
{
    char *at = base, *other = malloc(count * size + 1);
    for (size_t i = 0; i < count / 2; i++)
        swap(at + i * size, at + (count - 1 - i) * size, size);
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            size_t middle = low + width < count ? low + width : count, high = low + 2 * width < count ? low + 2 * width : count;
            for (size_t i = low, j = middle, k = low; k < high; k++) {
                const int left = j >= high || (i < middle && compare(at + i * size, at + j * size, context) <= 0);
                memcpy(other + k * size, at + (left ? i++ : j++) * size, size);
            }
        }
        memcpy(at, other, count * size);
    }
    for (size_t i = 0; i + 1 < count; i++)
        turned += compare(at + i * size, at + (i + 1) * size, context) == 0;
    sorted++;
    free(other);
}
static int call(const void *a, const void *b, void *context)
{
    return (*(int (**)(const void *, const void *))context)(a, b);
}
void qsort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    qsort_r(base, count, size, call, &compare);
}
C
cat >seen.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int order(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
int main(void)
{
    char pairs[] = "a1a2b1a3";
    qsort(pairs, 4, 2, order);
    puts(pairs);
}
C
cc -O1 -shared -fPIC turned.c -o turned.so && cc seen.c -o seen || { echo "cc makes no shared library: skipped"; exit 77; }
[ "$(LD_PRELOAD=$work/turned.so ./seen)" = a3a2a1b1 ] || { echo "a preloaded qsort is not called: skipped"; exit 77; }

# NAME ARGUMENT...
both() {
    local name=$1 side
    shift
    for side in plain turned; do
        mkdir -p "$side/$name"
        (cd "$side/$name" && LD_PRELOAD=$([ $side = plain ] || echo "$work/turned.so") "$program" "$@" >out 2>err; echo $? >code)
        find "$side/$name" -type f ! -name '*.npz' -exec sed -Ei -e 's/"(seconds|peak_bytes)": [0-9.e+-]+/"\1": 0/' \
            -e 's/\b[0-9.]+ (s|MiB|KiB|GiB|in all)\b/N \1/g' {} +
    done
    grep -qE '^[01]$' "plain/$name/code" || fail "$name: exit $(cat "plain/$name/code"): $(head -2 "plain/$name/err")"
    diff -r "plain/$name" "turned/$name" >difference || { fail "$name depends on the order of equals"; head -8 difference | cut -c1-300; }
}
both run run "$model" -i "$inputs" --all-values -o values.npz
both audit audit "$model" -i "$inputs" -a fp16,tf32,bf16@a100,fp8-e4m3 -o report
both again audit "$model" -i "$inputs" -i "$inputs" -a fp16,fp32 -o report --schedules
for group in cause op prefix:1; do both "group-$group" audit "$model" -i "$inputs" -a fp16 --group-by $group; done
both overflow overflow "$model" -i "$inputs"
both prove prove "$model"
both tolerance tolerance "$model" -i "$inputs"
both plan plan "$model" -i "$inputs" --tolerance sqnr_db=50 -o plan
both lint lint "$model"
both operators list operators
both show show "$work/plain/audit/report"
both diff diff "$work/plain/audit/report" "$work/plain/again/report"
both compare compare "$model" "$work/plain/run/values.npz" -i "$inputs"
[ $failed -eq 0 ] && echo "no result depends on the order of equals"
exit $failed
