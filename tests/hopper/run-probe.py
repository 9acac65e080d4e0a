#!/usr/bin/env python3
"""Compiles probe.cu for sm_90a and reads from ptxas and the SASS what the epilogues cost.

Asserted of every kernel: at most 232 registers, no spill, no local memory, and moves no more than
a share of the epilogue's instructions. Needs nvcc, no GPU; skipped without. Instructions are counted
where cuobjdump or nvdisasm is there too.

usage: run-probe.py [--json]
"""
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REGISTERS = 232  # what setmaxnreg leaves two consumer warpgroups beside a producer: 240; 8 to spare
MOVES = 0.03     # share of MOV among what the epilogue adds


def find(tool):
    """On PATH or in /usr/local/cuda."""
    return shutil.which(tool) or shutil.which(tool, path="/usr/local/cuda/bin")


def disassemble(cubin):
    """SASS text, by whichever tool there is."""
    tool = find("cuobjdump")
    command = [tool, "-sass", cubin] if tool else [find("nvdisasm"), "-c", cubin]
    if command[0] is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def read_sass(text):
    """Instruction counts by kernel; predicates and modifiers dropped."""
    counts, current = {}, None
    for line in text.splitlines():
        match = re.search(r"Function : (\w+)", line) or re.match(r"\.text\.(\w+):", line.strip())
        if match:
            current = counts.setdefault(match.group(1), collections.Counter())
            continue
        match = re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)", line)
        if match and current is not None:
            current[match.group(1)] += 1
    return counts


def read_ptxas(text):
    """Registers, spill bytes, stack bytes by kernel."""
    found = {}
    for block in re.split(r"Compiling entry function '", text)[1:]:
        name = block.split("'", 1)[0]
        stack, store, load = map(int, re.search(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads",
            block).groups())
        found[name] = {"registers": int(re.search(r"Used (\d+) registers", block).group(1)),
                       "stack": stack, "spilled": store + load}
    return found


def main():
    """Prints a line a kernel and the totals."""
    nvcc = find("nvcc")
    if nvcc is None:
        print("nvcc is not installed")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        cubin = folder + "/probe.cubin"
        run = subprocess.run(
            [nvcc, "-O3", "-std=c++17", "-gencode", "arch=compute_90a,code=sm_90a",
             f"-DREGISTERS={REGISTERS}", "-Xptxas", "-v", "-cubin", "-o", cubin,
             str(HERE / "probe.cu")], capture_output=True, text=True, check=False)
        if run.returncode != 0:
            print(run.stdout + run.stderr)
            print("0 passed, 1 failed")
            return 1
        kernels, sass = read_ptxas(run.stdout + run.stderr), read_sass(disassemble(cubin))
    serialized = re.findall(r"serialized.*?'(\w+)'", run.stdout + run.stderr)
    bare = sass.get("probe_bare", collections.Counter())
    passed = failed = 0
    skipped = 0 if sass else 1
    for name, facts in sorted(kernels.items()):
        counts = sass.get(name, collections.Counter())
        facts["instructions"] = sum(counts.values())
        facts["moves"] = counts["MOV"] + counts["UMOV"] + counts["R2UR"]
        facts["moves_bare"] = bare["MOV"] + bare["UMOV"] + bare["R2UR"]
        facts["local"] = counts["LDL"] + counts["STL"]
        added = max(facts["instructions"] - sum(bare.values()), 0)
        extra = max(facts["moves"] - facts["moves_bare"], 0)
        problems = []
        if facts["registers"] > REGISTERS or facts["spilled"] or facts["stack"] or facts["local"]:
            problems.append("spills or local memory")
        if extra > MOVES * max(added, 1) and extra > 8:
            problems.append(f"{extra} moves among {added} instructions")
        if name in serialized:
            problems.append("wgmma serialised")
        failed += bool(problems)
        passed += not problems
        print(f"{name}: {facts['registers']} registers, {facts['spilled']} bytes spilled, "
              f"{facts['local']} local accesses, {facts['instructions']} instructions, "
              f"{facts['moves']} moves (bare: {facts['moves_bare']})"
              + (": " + ", ".join(problems) if problems else ""))
    if "--json" in sys.argv:
        print(json.dumps(kernels, indent=2))
    if len(kernels) != 5:
        failed += 1
        print(f"{len(kernels)} kernels were found, not 5")
    if skipped:
        print("neither cuobjdump nor nvdisasm is installed: instructions were not counted")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
