#!/usr/bin/env python3
"""Blocks dropped into a folder of their own are found and tried; broken ones turn the runner red.

usage: run-dropped.py --program PATH/make-case
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = ROOT / "tests" / "blocks" / "run-blocks.py"

# What is tried: a copy of a library block under another id, and one replacement in one file.
TRIALS = [
    ("a block as it is", "relu", None, None, None, True),
    ("a block with a source", "swiglu", None, None, None, True),
    ("a formula that is wrong", "bias", "block.xml", "<formula>y = x + b", "<formula>y = x - b", False),
    ("a device function that swaps gate and up", "swiglu", "swiglu.cuh",
     "gate * tw_sigmoid (gate) * up", "up * tw_sigmoid (up) * gate", False),
    ("an oracle that is wrong", "relu", "oracle.c", "> 0 ?", "> 0.5 ?", False),
    ("a statistic that loses an element", "row_sumsq", "row_sumsq.cuh", "state.sum += x * x;",
     "state.sum += x > 3.5f ? 0.0f : x * x;", False),
    ("a merge that loses a state", "row_sumsq", "row_sumsq.cuh", "a.sum += b.sum;",
     "a.sum += 0.0f * b.sum;", False),
    ("an overflow that goes unseen", "finish", "finish.cuh", "total <= 3.402823466e+38f ? r :",
     "1 ? r :", False),
    ("a case that names no port", "relu", "cases.xml", '<case id="all"/>',
     '<case id="all"><input port="q"/></case>', False),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", required=True)
    options = parser.parse_args()
    passed = failed = 0
    for what, block, file, old, new, good in TRIALS:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / f"my_{block}"
            shutil.copytree(ROOT / "blocks" / block, copy)
            descriptor = copy / "block.xml"
            text = descriptor.read_text(encoding="utf-8")
            descriptor.write_text(text.replace(f' id="{block}"', f' id="my_{block}"', 1),
                                  encoding="utf-8")
            if file is not None:
                text = (copy / file).read_text(encoding="utf-8")
                if old not in text:
                    sys.exit(f"{block}/{file} does not hold: {old}")
                (copy / file).write_text(text.replace(old, new, 1), encoding="utf-8")
            done = subprocess.run([sys.executable, str(RUNNER), "--program", options.program,
                                   "--blocks", folder], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
        as_said = (done.returncode == 0) == good
        passed += as_said
        failed += not as_said
        print(f"{what:45} {'passes' if done.returncode == 0 else 'red'}", flush=True)
        if not as_said:
            print(done.stdout[-3000:])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
