#!/usr/bin/env bash
# --timings: said on stderr, in report.json, and without an influence on any figure.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

expect 0 "an audit" "$program" audit "$model" -i "$inputs" -a tf32 -q -o plain
expect 0 "a timed audit" "$program" audit "$model" -i "$inputs" -a tf32 -q --timings -o timed
for text in "loading" "reference mpfr:128" "measuring" "attributing" "writing" "slowest nodes" "% of the time goes to"; do
    shows err "$text" "a timed audit"
done
shows timed/report.json '"timings": {' "a timed audit"
grep -q '"timings"' plain/report.json && fail "an audit without --timings has timings"
expect 0 "the report of a timed audit" "$program" show timed
sed '/^ "timings": {/,/^ },$/d' timed/report.json | grep -vE '"(seconds|peak_bytes)":' >timed.json
grep -vE '"(seconds|peak_bytes)":' plain/report.json >plain.json
cmp -s timed.json plain.json || { fail "figures depend on --timings:"; diff timed.json plain.json | head -5; }
lines plain.json 1000000 "figures"
[ "$(wc -l <plain.json)" -gt 100 ] || fail "no figures were compared"
expect 0 "a timed run" "$program" run "$model" -i "$inputs" --timings --repeat 3 -q
shows err "means of 3 runs" "a timed run"
[ "$(grep -c '^run [0-9.]* s$' err)" -eq 3 ] || fail "a timed run: not a line for each of 3 runs"

# of overflow: the same figures, the walk by node and each format's looking at it
expect 0 "a forecast" "$program" overflow "$model" -i "$inputs" -f fp16,bf16 -q -o plain-forecast
expect 0 "a timed forecast" "$program" overflow "$model" -i "$inputs" -f fp16,bf16 -q --timings -o timed-forecast
for text in "loading" "planning" "reference fp64" "fp16" "bf16" "writing" "slowest nodes" "% of the time goes to"; do
    shows err "$text" "a timed forecast"
done
for forecast in plain timed; do
    grep -v '"seconds":' $forecast-forecast/overflow.json >$forecast-forecast.json
    lines $forecast-forecast.json 1000000 "figures of a forecast"
done
cmp -s plain-forecast.json timed-forecast.json || fail "figures of a forecast depend on --timings"
[ "$(wc -l <plain-forecast.json)" -gt 50 ] || fail "no figures of a forecast were compared"
exit $failed
