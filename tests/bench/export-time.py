#!/usr/bin/env python3
"""How long `tilewright export` takes for each example, the start of the program included.

Fails where the median of seven is above 200 ms.

usage: export-time.py TILEWRIGHT
"""
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

LIMIT = 0.2
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def main():
    """Prints a line an example and the totals."""
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for graph in sorted(EXAMPLES.glob("*/graph.xml")):
            times = []
            for _ in range(7):
                start = time.monotonic()
                subprocess.run([sys.argv[1], "export", graph, "-o", f"{folder}/out"], check=True,
                               stdout=subprocess.DEVNULL)
                times.append(time.monotonic() - start)
            median = statistics.median(times)
            passed += median < LIMIT
            failed += median >= LIMIT
            print(f"{graph.parent.name:16} {1e3 * median:6.1f} ms")
    if passed + failed == 0:
        failed = 1
        print("no examples were found")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
