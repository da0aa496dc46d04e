#!/usr/bin/env bash
# The HTML page in a real browser without a window: clicks, filters, groups, colours, keyboard, light, dark, print, 400 and 2,000
# pixels, hostile names, 10,000 nodes; the console stays silent; and the rules of axe-core, where a Python package has them. Skipped without Chromium or Chrome (ULPSCOPE_TEST_BROWSER names one).
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

browser=$(PYTHONPATH=$source/tests/html python3 -c 'import browser; print(browser.find() or "")')
[ -n "$browser" ] || { echo "SKIP no chromium or chrome is installed"; exit 77; }
expect 0 "a page" "$program" audit "$model" -i "$inputs" -a fp16,tf32 --schedules -q -o report --html page.html
expect 0 "of a forecast" "$program" overflow "$model" -i "$inputs" -f fp16,fp8-e4m3 -q --html overflow.html
expect 0 "of a plan" "$program" plan "$model" -i "$inputs" --tolerance sqnr_db=50 -q -o plan --html plan.html
expect 0 "of a comparison" "$program" compare "$model" -i "$inputs" "$source/examples/digits/expected.npz" -q --html compare.html
expect 0 "of findings" "$program" lint "$model" --html lint.html
expect 0 "of a proof" "$program" prove "$model" -q -o proof
expect 0 "of a mended model" "$program" fix "$model" -i "$inputs" -o mended.onnx --tolerance sqnr_db=50 -q --html fix.html
expect 0 "with more in FP32" "$program" audit "$model" -i "$inputs" -a fp16,tf32 --keep '#0-20=fp32' -q -o after
python3 -c '
import json
report = json.load(open("after/report.json"))
report["lanes"][0]["name"] = "fp16"
report["lanes"][1]["name"] = "tf32"
json.dump(report, open("after/report.json", "w"))'
expect 0 "before and after" "$program" diff report after --html diff.html
expect 0 "of a proof afterwards" "$program" show proof --html proof.html
[ $failed = 0 ] || exit 1
PYTHONPATH=$source/tests/html python3 -c '
import json
from page import make_hostile
json.dump(make_hostile(json.load(open("report/report.json"))), open("hostile.json", "w"))'
expect 0 "hostile names" "$program" show hostile.json --html hostile.html
PYTHONPATH=$source/tests/html PYTHONDONTWRITEBYTECODE=1 python3 "$source/tests/html/drive.py" "$browser" "$program" \
    overflow.html plan.html compare.html lint.html proof.html fix.html diff.html || fail "the page in a browser"
exit $failed
