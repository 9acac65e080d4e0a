#!/usr/bin/env python3
"""Runs the program on the graphs of examples/broken and compares its answer with expected.json,
which is written by hand: one error each, its code, node, port and a piece of its fix, exit status 3.

usage: run-broken.py TILEWRIGHT [FOLDER]
"""
import json
import pathlib
import subprocess
import sys

KEYS = ["code", "severity", "node", "port", "message", "found", "expected", "fixes", "line"]


def problems(program, graph, want):
    """What differs from the expectation, as a list of sentences."""
    run = subprocess.run([program, "check", "--json", str(graph)], capture_output=True, text=True,
                         timeout=60, check=False)
    found = []
    if run.returncode != 3:
        found.append(f"exit status {run.returncode}, not 3: {run.stderr.strip()}")
    try:
        report = json.loads(run.stdout)
    except ValueError:
        return found + ["no JSON on standard output"]
    if list(report) != ["ok", "diagnostics"] or report["ok"] is not False:
        return found + [f"keys {list(report)}, ok {report.get('ok')}"]
    errors = [d for d in report["diagnostics"] if d["severity"] == "error"]
    if len(errors) != 1:
        found.append(f"{len(errors)} errors: {[d['code'] for d in errors]}")
    for error in errors[:1]:
        if list(error) != KEYS:
            found.append(f"keys {list(error)}")
        for key in ("code", "node", "port"):
            if error[key] != want[key]:
                found.append(f"{key} is {error[key]}, not {want[key]}")
        if not any(want["fix"] in fix for fix in error["fixes"]):
            found.append(f"no fix holds {want['fix']!r}: {error['fixes']}")
        if error["line"] <= 0:
            found.append("no line")
    plain = subprocess.run([program, "check", str(graph)], capture_output=True, text=True,
                           timeout=60, check=False)
    text = plain.stdout + plain.stderr
    if plain.returncode != 3 or want["code"] not in text:
        found.append(f"in words: exit status {plain.returncode}, {text.strip()!r}")
    return found


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 1
    program = sys.argv[1]
    root = pathlib.Path(__file__).resolve().parents[2]
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else root / "examples" / "broken"
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    graphs = sorted(folder.glob("*.xml"))
    failed = 0
    if sorted(expected) != [g.stem for g in graphs]:
        print("expected.json and the graphs of the folder differ")
        failed += 1
    for graph in graphs:
        for problem in problems(program, graph, expected.get(graph.stem, {})):
            print(f"{graph.name}: {problem}")
            failed += 1
            break
    print(f"{len(graphs) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
