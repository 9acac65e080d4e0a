#!/usr/bin/env python3
"""Runs the fuzzers. A program that ends in anything but 0 has failed; its last case is kept.

usage: run-fuzz.py [--count N] [--seed S] [--time-limit SECONDS] FUZZER...
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=2000, help="cases a run (default 2000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=1800, help="seconds a run may take")
    parser.add_argument("fuzzers", nargs="+")
    options = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for fuzzer in options.fuzzers:
            modes = [[]]
            if "xml" in os.path.basename(fuzzer):
                modes.append(["--oom"])
            for mode in modes:
                case = pathlib.Path(folder) / "case"
                command = [fuzzer, "--count", str(options.count), "--seed", str(options.seed),
                           "--keep", str(case)] + mode
                try:
                    run = subprocess.run(command, capture_output=True, text=True, check=False,
                                         errors="replace", timeout=options.time_limit)
                    status, output = run.returncode, run.stdout + run.stderr[-4000:]
                except subprocess.TimeoutExpired:
                    status, output = "timeout", ""
                print(output.strip(), flush=True)
                if status == 0:
                    passed += 1
                    continue
                failed += 1
                kept = os.path.basename(fuzzer) + ".failed"
                if case.exists():
                    shutil.copy(case, kept)
                print(f"{' '.join(command)}: {status}; the last case is in {kept}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
