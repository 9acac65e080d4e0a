#!/usr/bin/env python3
"""Tries every block found under blocks/ on its cases: the exported one-block program against the
exact formula, plain and with emulated lanes under sanitizers, and the block's oracle against both.

usage: run-blocks.py --program PATH/make-case [--blocks DIR] [--full] [--keep DIR] [BLOCK ...]

Blocks are discovered when this runs; --blocks tries the blocks of another folder in place of the
library's. --full adds clang and -O3. docs/design/blocks.md says what a cases.xml may hold.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "blocks"
BASE = ["-std=gnu17", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}", f"-I{HERE}"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
PLAIN = ("plain", ["gcc", "-O1", "-fopenmp"])
# Without statistics a lane has no use for the number of its state.
LANES = ("32 lanes, sanitizers",
         ["gcc", "-O1", "-g", "-DTW_LANES=32", "-Wno-unused-variable", *SANITIZE])
MORE = [("clang", ["clang", "-O2"]), ("-O3 -march=native", ["gcc", "-O3", "-march=native", "-fopenmp"]),
        ("sanitizers", ["gcc", "-O1", "-g", *SANITIZE])]
TALLY = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)


def run(command, **options):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)


class Runner:
    def __init__(self, options, folder):
        self.options = options
        self.folder = pathlib.Path(folder)
        self.builds = [PLAIN, LANES] + (MORE if options.full else [])
        self.passed = self.failed = self.skipped = 0

    def compile(self, label, command, objects, sources, output):
        """The compiler's complaint, or None."""
        done = run([*command, *BASE, "-o", output, *sources, *objects, "-lm"])
        return None if done.returncode == 0 else f"FAILED {label}: does not compile\n{done.stdout}"

    def prepare(self):
        """The harness, once a build."""
        self.harness = {}
        for name, command in self.builds:
            if shutil.which(command[0]) is None:
                continue
            target = self.folder / f"harness{len(self.harness)}.o"
            done = run([*command, *BASE, "-c", "-o", target, HERE / "harness.c"])
            if done.returncode != 0:
                sys.exit(done.stdout)
            self.harness[name] = target

    def try_case(self, block, case, folder):
        """(passed, failed, skipped, messages) of one case over all builds."""
        oracle = block / "oracle.c"
        tally, messages = [0, 0, 0], []
        for name, command in self.builds:
            label = f"{block.name}/{case} ({name})"
            if name not in self.harness:
                tally[2] += 1
                continue
            program = folder / "try"
            sources = [folder / "program.c", folder / "glue.c"] + ([oracle] if oracle.is_file() else [])
            complaint = self.compile(label, command, [self.harness[name]], sources, program)
            if complaint is None:
                done = run([program, folder / "data.bin"], env=dict(os.environ, OMP_NUM_THREADS="2"))
                found = TALLY.search(done.stdout)
                if found is not None:
                    tally = [a + int(b) for a, b in zip(tally, found.groups())]
                if found is None or done.returncode != 0:
                    complaint = f"{label}:\n{done.stdout[-3000:]}"
                    tally[1] += found is None
            else:
                tally[1] += 1
            if complaint is not None:
                messages.append(complaint)
        return (*tally, messages)

    def try_block(self, block):
        folder = self.folder / block.name
        extra = [f"--blocks={block.parent}"] if self.options.blocks else []
        done = run([self.options.program, *extra, f"--seed={self.options.seed}", block, folder])
        cases = [c for c in done.stdout.split("\n") if c and (folder / c / "data.bin").is_file()]
        tally, messages = [0, 0, 0], []
        if done.returncode != 0:
            tally[1] += 1
            messages.append(f"FAILED {block.name}: {done.stdout}")
        for name in ("oracle.c", "cases.xml"):
            if not (block / name).is_file() and not self.options.blocks:
                tally[1] += 1
                messages.append(f"FAILED {block.name}: has no {name}")
        for case in cases:
            *more, complaints = self.try_case(block, case, folder / case)
            tally = [a + b for a, b in zip(tally, more)]
            messages += complaints
        return (*tally, messages)

    def main(self):
        roots = [pathlib.Path(d).resolve() for d in self.options.blocks] or [ROOT / "blocks"]
        blocks = [p.parent for root in roots for p in sorted(root.glob("*/block.xml"))]
        chosen = [b for b in blocks if not self.options.names or b.name in self.options.names]
        self.prepare()
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for block, result in zip(chosen, pool.map(self.try_block, chosen)):
                passed, failed, skipped, messages = result
                self.passed += passed
                self.failed += failed
                self.skipped += skipped
                print("\n".join(messages + [f"{block.name}: {passed} passed, {failed} failed"]),
                      flush=True)
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed or not self.passed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", required=True, type=os.path.abspath, help="the built make-case")
    parser.add_argument("--blocks", action="append", default=[], help="a folder of blocks to try")
    parser.add_argument("--full", action="store_true", help="more compilers")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="folder that keeps what was exported")
    parser.add_argument("names", nargs="*", metavar="BLOCK")
    options = parser.parse_args()
    if options.keep:
        return Runner(options, options.keep).main()
    with tempfile.TemporaryDirectory() as folder:
        return Runner(options, folder).main()


if __name__ == "__main__":
    sys.exit(main())
