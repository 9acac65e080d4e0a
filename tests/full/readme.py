#!/usr/bin/env python3
"""Runs what the README shows: every `tilewright ...` line, and looks for every file it links.

usage: readme.py PROGRAM
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    """Prints a line a failure and the totals."""
    program = pathlib.Path(sys.argv[1]).resolve()
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    passed, failed = 0, 0
    commands = re.findall(r"^    tilewright ([^#\n]+)", text, re.M)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("examples", "blocks", "share"):
            (pathlib.Path(folder) / name).symlink_to(ROOT / name)
        for line in commands:
            run = subprocess.run([program, *shlex.split(line)], cwd=folder, capture_output=True,
                                 text=True, check=False)
            if run.returncode == 0 and run.stdout:
                passed += 1
            else:
                failed += 1
                print(f"tilewright {line}: exit status {run.returncode}\n{run.stderr}")
        drawing = re.search(r"^    <graph .*?^    </graph>$", text, re.M | re.S)
        graph = pathlib.Path(folder) / "small.xml"
        graph.write_text(drawing.group(0) if drawing else "", encoding="utf-8")
        run = subprocess.run([program, "check", graph], capture_output=True, text=True, check=False)
        passed += run.returncode == 0
        failed += run.returncode != 0
        if run.returncode != 0:
            print(f"the README's drawing: {run.stderr}")
    for document in [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md",
                     *sorted((ROOT / "docs").rglob("*.md")),
                     *sorted((ROOT / "examples").glob("*/README.md"))]:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)",
                               document.read_text(encoding="utf-8")):
            if (document.parent / link).exists():
                passed += 1
            else:
                failed += 1
                print(f"{document.relative_to(ROOT)}: there is no {link}")
    if len(commands) < 5:
        failed += 1
        print("README.md: its commands were not found")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
