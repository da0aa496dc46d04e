#!/usr/bin/env bash
# ulpscope mcp driven by plain JSON-RPC: the handshake, every tool, what is refused.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
command -v python3 >/dev/null || { echo "no python3: skipped"; exit 77; }
mkdir root outside scratch && cp "$model" "$inputs" root && cp "$model" outside
echo "$work/outside/model.onnx" >root/list.txt
ln -s ../outside/model.onnx root/link.onnx
expect 0 "a recording" "$program" run "$model" -i "$inputs" -a bf16 --all-values -o root/recorded.npz -q
cat >drive.py <<'EOF'
import json, os, subprocess, sys
failed = []
def check(right, what):
    if not right: failed.append(what)
class Server:
    def __init__(self, *more):
        self.process = subprocess.Popen([sys.argv[1], "mcp", "--root", "root", *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.count = 0
    def write(self, text):
        self.process.stdin.write(text + "\n"); self.process.stdin.flush()
    def read(self): return json.loads(self.process.stdout.readline())
    def ask(self, method, **params):
        self.count += 1
        self.write(json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}))
        got = self.read()
        check(got["jsonrpc"] == "2.0" and got["id"] == self.count, f"{method}: {got}")
        return got
    def call(self, tool, **arguments): return self.ask("tools/call", name=tool, arguments=arguments)
    def good(self, tool, **arguments):
        got = self.call(tool, **arguments)
        check(got.get("result", {}).get("isError") is False, f"{tool} {arguments}: {str(got)[:500]}")
        return got["result"]["structuredContent"], got["result"]["content"][0]["text"]
    def bad(self, text, tool, **arguments):
        got = self.call(tool, **arguments)
        # of a tool that there is, an error is a result, which the agent reads
        check(("error" in got) == (tool == "rm"), f"{tool} {arguments}: the error's kind: {str(got)[:300]}")
        said = got["error"]["message"] if "error" in got else got["result"]["content"][0]["text"] if got["result"]["isError"] else ""
        check(text in said, f"{tool} {arguments}: expected {text!r} in {str(got)[:300]}")
    def end(self):
        self.process.stdin.close()
        check(self.process.wait(20) == 0, "the server's exit code")

s = Server(*sys.argv[2:])
for asked, given in (("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")):
    hello = s.ask("initialize", protocolVersion=asked, capabilities={}, clientInfo={"name": "test", "version": "0"})["result"]
    check(hello["protocolVersion"] == given and hello["serverInfo"]["name"] == "ulpscope" and "tools" in hello["capabilities"], f"hello: {hello}")
s.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
check(s.ask("ping")["result"] == {}, "ping")
tools = {tool["name"]: tool for tool in s.ask("tools/list")["result"]["tools"]}
check(set(tools) == {"doctor", "fix", "audit", "plan", "overflow", "lint", "compare", "show", "explain"}, f"tools: {set(tools)}")
for tool in tools.values():
    schema = tool["inputSchema"]
    check(schema["type"] == "object" and schema["additionalProperties"] is False and set(schema["required"]) <= set(schema["properties"]), f"schema of {tool['name']}")
kinds = {name: value["type"] for name, value in tools["audit"]["inputSchema"]["properties"].items()}
check(kinds["dim"] == kinds["inputs"] == kinds["keep"] == "array" and kinds["arith"] == kinds["plan"] == "string", f"kinds of audit's arguments: {kinds}")
check("classify" in tools["doctor"]["inputSchema"]["properties"]["task"]["enum"], "the doctor's tasks")
given = {"model": "model.onnx", "inputs": ["inputs.npz"]}
audit, text = s.good("audit", **given, arith="fp16", fail_above=["nonfinite=0"], keep=[])
check("overflows at node 5 block/norm1/Sum" in " ".join(text.split()) and audit["exit_code"] == 1 and audit["met"] is False, f"audit: {text[:300]}")
check(audit["report"] == "report-1" and audit["result"]["lanes"], "audit's report")
shown, text = s.good("show", report="report-1", node="block/norm1/Sum")
check("block/norm1/Sum" in text, f"show: {text[:300]}")
plan, text = s.good("plan", **given, tolerance=["sqnr_db=60"])
check(plan["met"] and plan["report"] == "report-2" and plan["result"], f"plan: {text[:300]}")
planned, text = s.good("audit", **given, arith="fp32", plan="report-2", fail_above=["sqnr_db=60"])
check(planned["met"], f"audit of the plan: {text[:400]}")
overflow, text = s.good("overflow", **given, format="fp16,bf16")
check("block/norm1/Sum" in text and overflow["result"], f"overflow: {text[:300]}")
s.good("overflow", model="model.onnx", dim=["batch=2"])
doctor, text = s.good("doctor", model="model.onnx", inputs=["inputs.npz"], target="torch", arith="torch:fp16")
fix, text = s.good("fix", model="model.onnx", inputs=["inputs.npz"], target="torch")
check(fix["met"] and fix["result"]["edits"] and os.path.getsize(fix["result"]["path"]), f"fix: {text[:300]}")
check("overflow" == doctor["result"]["causes"][0]["reason"] and doctor["exit_code"] == 1, f"doctor: {text[:300]}")
lint, text = s.good("lint", model="model.onnx")
check("decomposed-layernorm" in json.dumps(lint["result"]), f"lint: {text[:300]}")
compare, text = s.good("compare", **given, recordings=["recorded.npz"], arith="fp32,bf16")
check("bf16" in text and compare["result"], f"compare: {text[:300]}")
check("FP16" in s.good("explain", names=["fp16@a100"])[1].upper(), "explain")

outside = "there is no such file or folder below the root"
for path in ("../outside/model.onnx", "/etc/passwd", "link.onnx", "nowhere.onnx"):
    s.bad(outside, "lint", model=path)
s.bad("lists of paths are not taken", "audit", model="model.onnx", inputs=["list.txt"])
s.bad("no file is named here", "audit", **given, arith="fp16,fuse=/etc/passwd")
s.bad("is required", "audit")
s.bad("is no argument of audit", "audit", **given, out="x")
s.bad("expected a list of texts", "audit", model="model.onnx", inputs="inputs.npz")
s.bad("expected a text that is not empty", "lint", model="")
s.bad("expected one text, not a list", "audit", **given, arith=["fp16"])
s.bad("fp17", "audit", **given, arith="fp17")
s.bad("there is no such report", "show", report="report-99")
s.bad("", "show", report="report-1", node="--json")
s.bad("there is no tool", "rm")
check(s.ask("resources/list")["error"]["code"] == -32601, "an unknown method")
for line, code in (("{", -32700), ("[]", -32600), ('{"jsonrpc":"2.0","id":1}', -32600), ('{"id":{},"method":"ping"}', -32600), ("x" * (5 << 20), -32600)):
    s.write(line)
    got = s.read()
    check(got["error"]["code"] == code and got["id"] is None or code == -32600 and got["error"]["code"] == code, f"{line[:30]}: {got}")
s.write("")
check(s.ask("ping")["result"] == {}, "ping after all that")
s.end()
s = Server("--call-time", "0.001", *sys.argv[2:])
s.bad("--max-time", "plan", **given, tolerance=["sqnr_db=60"], arith="fp16")
s.end()
s = Server("--call-memory", "10K", *sys.argv[2:])
s.bad("--max-memory", "audit", **given)
s.end()
print("\n".join(failed))
sys.exit(bool(failed))
EOF
more=
"$program" mcp </dev/null 2>&1 | grep -q Landlock && { echo "no Landlock: calls are not in a sandbox"; more=--no-sandbox; }
find root -type f -exec cksum {} + | sort >before
expect 0 "a session" env TMPDIR="$work/scratch" python3 drive.py "$program" $more
cat out
find root -type f -exec cksum {} + | sort | cmp - before || fail "a call wrote below the root"
[ -z "$(ls -A scratch)" ] || fail "the server left files: $(ls scratch)"
# the same by the protocol's own client, where Python has it (pip install mcp)
if python3 -c 'import mcp' 2>/dev/null; then
    cat >client.py <<'EOF'
import asyncio, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
async def session():
    async with stdio_client(StdioServerParameters(command=sys.argv[1], args=["mcp", "--root", "root", *sys.argv[2:]])) as streams, ClientSession(*streams) as client:
        await client.initialize()
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"doctor", "audit", "plan", "show"} <= names, names
        async def call(tool, **arguments):
            # members are in the protocol's case or in Python's, by the client's version
            got = (await client.call_tool(tool, arguments)).model_dump(by_alias=True, mode="json")
            return got["isError"], got["content"][0]["text"], got.get("structuredContent") or {}
        given = {"model": "model.onnx", "inputs": ["inputs.npz"]}
        wrong, text, structured = await call("audit", **given, arith="fp16")
        assert not wrong and structured["report"] == "report-1" and "block/norm1/Sum" in text, text
        wrong, text, _ = await call("show", report="report-1", node="block/norm1/Sum")
        assert not wrong and "block/norm1/Sum" in text, text
        for path in ("../outside/model.onnx", "link.onnx"):
            wrong, text, _ = await call("audit", model=path)
            assert wrong and "below the root" in text, text
asyncio.run(session())
EOF
    expect 0 "a session of the protocol's own client" env TMPDIR="$work/scratch" timeout 120 "${ULPSCOPE_TEST_PYTHON:-python3}" client.py "$program" $more
else
    echo "python3 has no mcp: its client was not tried"
fi
expect 3 "no root" "$program" mcp --root nowhere
expect 2 "an argument" "$program" mcp model.onnx
exit $failed
