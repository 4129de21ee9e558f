"""A dump whose program was killed is readable by NumPy after `repair`."""

import json
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
from case_table import each_row
from cli_support import BUILD, COMMAND

WRITER = BUILD / "tests" / "crash_writer_program"
OPS = 4
HAS_DATA, DATA_LOST = 1, 2
ON_THE_WAY = 2**64 - 1


def expected_values(step: int, op: int) -> np.ndarray:
    """Compute what crash_writer_program makes (crash_pattern.h)."""
    seed = step * 31 + op * 17
    index = np.arange(seed % 5000 + 1, dtype=np.uint64)
    return ((np.uint64(seed) + index * np.uint64(7919)) % np.uint64(1000003)).astype(np.float32)


@each_row("delay", [0.0, 0.01, 0.05])
def test_numpy_reads_a_mended_dump(tmp_path: Path, delay: float) -> None:
    """After kill -9 and repair, records.npy and tensors.npz hold what the step and the op imply."""
    dump = tmp_path / "dump"
    with subprocess.Popen([WRITER, dump], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"started\n"
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
    done = subprocess.run([COMMAND, "repair", dump, "--json"], check=True, capture_output=True)
    rows = np.load(dump / "records.npy")
    tensors = np.load(dump / "tensors.npz")
    assert len(rows) >= OPS
    waiting = rows["member"] == ON_THE_WAY
    assert (rows["flags"][waiting] == DATA_LOST).all()
    assert (rows["flags"][~waiting] == HAS_DATA).all()
    assert json.loads(done.stdout)["tensors_on_the_way"] == waiting.sum()
    for row in rows[:200]:
        step, op = int(row["step"]), int(row["op"])
        values = expected_values(step, op)
        assert row["committed"] == 1
        assert row["numel"] == values.size
        assert row["max"] == values.max()
        if row["flags"] & HAS_DATA:
            np.testing.assert_array_equal(tensors[f"op{op}:out0" + (f"@{step}" if step else "")], values)
