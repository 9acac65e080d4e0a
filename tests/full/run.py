#!/usr/bin/env python3
"""The full suite: what ./bootstrap test runs.

usage: run.py [--only NAME[,NAME...]] [--list]

Each part runs in turn, its output in build/full/NAME.log; the last line sums them all up as
"N passed, N failed, N skipped". Exit status 1 if anything failed.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LOGS = BUILD / "full"
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped.*)?$")


class Part:
    """Commands that run one after the other; counts come from meson or from summary lines."""

    def __init__(self, name, what, commands, needs=()):
        self.name, self.what, self.commands, self.needs = name, what, commands, needs


TAP = re.compile(r"^(not )?ok\b(.*)$", re.M)
GOOD = ("OK", "EXPECTEDFAIL")


def count(output):
    """Passed, failed, skipped by the lines "N passed, N failed" in a script's output."""
    totals = [0, 0, 0]
    for line in output.splitlines():
        match = SUMMARY.match(line.strip())
        if match:
            totals = [a + int(b or 0) for a, b in zip(totals, match.groups())]
    return totals


def count_test(entry):
    """The same of one test in meson's log: its own summary or TAP lines, else one for the test.
    What a test leaves out counts as skipped though the test is good."""
    output, result = entry.get("stdout") or "", entry["result"]
    totals = count(output)
    if not any(totals):
        for bad, rest in TAP.findall(output):
            totals[2 if re.search(r"# SKIP\b", rest, re.I) else 1 if bad else 0] += 1
    if result == "SKIP":
        totals[2] = max(totals[2], 1)
    elif result not in GOOD:
        totals[1] = max(totals[1], 1)
    elif not any(totals):
        totals[0] = 1
    return totals


def count_meson(log):
    """Sum over a testlog.json."""
    totals = [0, 0, 0]
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        totals = [a + b for a, b in zip(totals, count_test(json.loads(line)))]
    return totals


def meson_log(command):
    """Where `meson test -C DIR` leaves its log; None for other commands."""
    if command[:2] != ["meson", "test"]:
        return None
    return pathlib.Path(command[command.index("-C") + 1]) / "meson-logs" / "testlog.json"


def meson_part(name, what, setup, tests, environment=None, needs=()):
    """A build of its own under build/, and some of its tests."""
    folder = BUILD / "full" / ("build-" + name)
    return Part(name, what, [
        (["sh", "-c", f"test -e '{folder}/build.ninja' || meson setup '{folder}' '{ROOT}' "
          + " ".join(setup)], environment),
        (["ninja", "-C", str(folder)], environment),
        (["meson", "test", "-C", str(folder), "--no-rebuild", "--print-errorlogs", *tests],
         environment)], needs)


def parts():
    """All parts in order: cheap and telling ones first."""
    program = BUILD / "export" / "tilewright"
    sanitizers = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1",
                      UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1", G_SLICE="always-malloc")
    clang = dict(os.environ, CC="clang", CXX="clang++")
    unit = ["--suite", "unit"]
    return [
        Part("suite", "the quick and the full tests",
             [(["meson", "test", "-C", str(BUILD), "--no-rebuild", "--print-errorlogs",
                "--no-suite", "bench", "-t", "3"], None)]),
        meson_part("gcc", "gcc, every warning an error, release build",
                   ["--werror", "-Dbuildtype=release"], unit),
        Part("bench", "figures that are promised, one at a time",
             [(["meson", "test", "-C", str(LOGS / "build-gcc"), "--no-rebuild", "--print-errorlogs",
                "--suite", "bench", "--num-processes", "1"], None)]),
        meson_part("clang", "clang, every warning an error", ["--werror"], unit, clang,
                   ("clang",)),
        meson_part("sanitizers", "address, leak and undefined behaviour sanitizers",
                   ["-Db_sanitize=address,undefined", "-Db_lundef=false"], [*unit, "-t", "4"],
                   sanitizers),
        Part("fuzz", "mutated graphs, blocks and formulas; failing allocations",
             [([sys.executable, str(ROOT / "tests/fuzz/run-fuzz.py"), "--count", "5000",
                *[str(LOGS / "build-sanitizers/tests/fuzz" / ("fuzz-" + name))
                  for name in ("graph-xml", "block-xml", "formula")]], sanitizers)]),
        Part("readme", "what the README says",
             [([sys.executable, str(ROOT / "tests/full/readme.py"), str(program)], None)]),
    ]


def run_part(part):
    """Runs the commands; returns counts."""
    missing = [tool for tool in part.needs if shutil.which(tool) is None]
    if missing:
        print(f"  {part.name}: skipped, {', '.join(missing)} not installed", flush=True)
        return 0, 0, 1
    log = LOGS / (part.name + ".log")
    start = time.monotonic()
    bad = None
    totals = [0, 0, 0]
    with open(log, "w", encoding="utf-8", errors="replace") as out:
        for command, environment in part.commands:
            begin, tests = out.tell(), meson_log(command)
            if tests is not None:
                tests.unlink(missing_ok=True)
            try:
                status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT,
                                        env=environment, check=False).returncode
            except OSError as error:
                status = error
            out.seek(0, os.SEEK_END)
            if tests is not None and tests.exists():
                found = count_meson(tests)
            else:
                found = count(log.read_bytes()[begin:].decode("utf-8", "replace"))
            totals = [a + b for a, b in zip(totals, found)]
            if status != 0:
                bad = f"{' '.join(command)[:200]}: exit status {status}"
                break
    passed, failed, skipped = totals
    if not bad and not any(totals):
        bad = "nothing was tested"
    if bad and failed == 0:
        failed = 1
    print(f"  {part.name}: {passed} passed, {failed} failed, {skipped} skipped"
          f"  ({time.monotonic() - start:.0f} s)", flush=True)
    if failed:
        if bad:
            print(f"    {bad}")
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines()[-60:]:
            print("    " + line)
    return passed, failed, skipped


def main():
    """All parts, or those named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    unknown = set(filter(None, options.only.split(","))) - {part.name for part in parts()}
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; --list names them")
    LOGS.mkdir(parents=True, exist_ok=True)
    total = [0, 0, 0]
    for part in parts():
        if options.list:
            print(f"{part.name}: {part.what}")
            continue
        if options.only and part.name not in options.only.split(","):
            continue
        print(f"{part.name}: {part.what}", flush=True)
        total = [a + b for a, b in zip(total, run_part(part))]
    if not options.list:
        print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
