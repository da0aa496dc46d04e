"""A measured process."""
import os
import subprocess
import tempfile
import time
from typing import NamedTuple


class Cost(NamedTuple):
    stderr: str
    seconds: float
    processor_seconds: float
    peak_bytes: int
    faults: int  # pages touched first


def run(command, environment=None):
    """Run the command to its end. Its peak resident bytes are read while it runs: ru_maxrss would start from the caller's own peak."""
    begun, peak, done = time.perf_counter(), 0, 0
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=environment)
        while not done:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as lines:
                peak = max([peak] + [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")])
            time.sleep(0.002)
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begun
        errors.seek(0)
        text = errors.read().decode()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {process.returncode}: {text.strip()}")
    return Cost(text, seconds, usage.ru_utime + usage.ru_stime, peak, usage.ru_minflt)
