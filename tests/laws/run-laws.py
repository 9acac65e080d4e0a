#!/usr/bin/env python3
"""Checks the declared laws of every block found under blocks/ against its exact formula.

Blocks are discovered when this runs. --blocks DIR adds a folder of blocks.
"""
import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def discover(folders):
    """The block.xml of every block, by folder, sorted."""
    return [path for folder in folders for path in sorted(pathlib.Path(folder).glob("*/block.xml"))]


def check(program, paths, seeds):
    """Runs the program; {path: (verdict, message)}."""
    command = [program, f"--seeds={seeds}", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    verdicts = {}
    for line in done.stdout.splitlines():
        verdict, _, rest = line.partition(" ")
        path, _, message = rest.partition(": ")
        if verdict in ("good", "red", "none", "unreadable"):
            verdicts[path] = (verdict, message)
            last = path
        elif line.startswith("  and "):
            verdicts[last] = (verdicts[last][0], f"{verdicts[last][1]}\n{line}")
    if done.returncode not in (0, 1):
        sys.stderr.write(done.stderr)
    return verdicts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="the built check-laws")
    parser.add_argument("--blocks", action="append", default=[], help="another folder of blocks")
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    paths = discover([ROOT / "blocks", *options.blocks])
    verdicts = check(options.program, paths, options.seeds)
    passed = failed = skipped = 0
    for path in paths:
        verdict, message = verdicts.get(str(path), ("crashed", ""))
        print(f"{path.parent.name:16} {verdict}{': ' if message else ''}{message}")
        passed += verdict == "good"
        skipped += verdict == "none"
        failed += verdict not in ("good", "none")
    print(f"{passed} passed, {failed} failed, {skipped} skipped (no formula)")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
