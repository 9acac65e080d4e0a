#!/usr/bin/env python3
"""The program as a user meets it: every subcommand, every exit status, the JSON that docs/json.md
promises, hostile inputs, what is left behind, and an installed copy.

usage: run-cli.py --program PATH/tilewright [--build BUILD] [NAME ...]

With --build the install is tried too. NAME picks the groups of checks to run.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
BETWEEN = EXAMPLES / "norm_between" / "graph.xml"
SMALL = EXAMPLES / "first_steps" / "graph.xml"
COMMANDS = ["check", "explain", "plan", "run", "export", "verify", "blocks"]
GRAPH_COMMANDS = [name for name in COMMANDS if name != "blocks"]
NOBODY = 65534

DIAGNOSTIC = ["code", "severity", "node", "port", "message", "found", "expected", "fixes", "line"]
KERNEL = ["name", "mainloop", "nodes", "reads", "writes", "bytes", "flops", "prepare"]
EDGE = ["from", "to", "where", "reason"]
STEP = ["rule", "before", "after", "conditions", "saves"]
REFUSAL = ["rule", "node", "reason"]
BLOCK = ["id", "kind", "category", "label", "doc", "formula", "ports", "params"]
PORT = ["id", "direction", "role"]
EXPORTED = ["Makefile", "README", "plan.json"]


class Tests:
    """Runs the program in a scratch folder and counts."""

    def __init__(self, program, build, scratch):
        self.program, self.build = program, build
        self.scratch = pathlib.Path(scratch)
        self.temporary = self.scratch / "tmp dir"
        self.temporary.mkdir()
        self.passed = self.failed = self.skipped = 0

    def run(self, *words, env=None, **options):
        """The program with these arguments; its temporary folders go where they are counted."""
        environment = {**os.environ, "TMPDIR": str(self.temporary), "LC_ALL": "C.UTF-8",
                       **(env or {})}
        options.setdefault("cwd", self.scratch)
        return subprocess.run([self.program, *[str(word) for word in words]], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=240, check=False, **options)

    def check(self, what, good, detail=""):
        """Counts one fact."""
        if good:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {what}\n  {str(detail).strip()[:1500]}", flush=True)
        return bool(good)

    def skip(self, what):
        self.skipped += 1
        print(f"skipped: {what}", flush=True)

    def ends(self, status, *words, says=None, out=False, **options):
        """The exit status, and where it is not 0 a sentence on standard error and nothing on
        standard output unless `out`."""
        what = " ".join(str(word) for word in words)
        done = self.run(*words, **options)
        self.check(f"{what}: exit status {status}", done.returncode == status,
                   f"{done.returncode}: {done.stderr}")
        if status != 0:
            self.check(f"{what}: says why", len(done.stderr.strip()) > 10, done.stderr)
            if not out:
                self.check(f"{what}: prints nothing", done.stdout == "", done.stdout)
        if says is not None:
            self.check(f"{what}: says {says!r}", says in done.stderr, done.stderr)
        self.nothing_left(what)
        return done

    def nothing_left(self, what):
        left = os.listdir(self.temporary)
        self.check(f"{what}: leaves no temporary folder", left == [], left)

    def json(self, text, what):
        """The object in `text`, {} if it is none."""
        try:
            return json.loads(text)
        except ValueError as error:
            self.check(f"{what}: JSON", False, f"{error}: {text}")
            return {}

    def keys(self, what, value, keys):
        self.check(f"{what}: keys", list(value) == keys, list(value))

    # ---- groups ----
    def group_help(self):
        """Help of the program and of each command; wrong commands and options."""
        done = self.ends(0, "--help")
        for name in COMMANDS:
            self.check(f"--help names {name}", f"  {name} " in done.stdout, done.stdout)
        self.check("--help says what an exit status means", "Exit status: 0 good" in done.stdout)
        self.check("--help is within 100 columns",
                   all(len(line) <= 100 for line in done.stdout.splitlines()))
        for words in (["help"], ["-h"], ["--version"]):
            self.ends(0, *words)
        for name in COMMANDS:
            done = self.ends(0, name, "--help")
            self.check(f"{name} --help shows its use", f"tilewright {name}" in done.stdout,
                       done.stdout)
            self.check(f"{name} --help lists --json", "--json" in done.stdout, done.stdout)
            self.ends(1, name, "--no-such-option", says="--help")
        done = self.run()
        self.check("no command: help and exit status 1", done.returncode == 1
                   and "Commands:" in done.stdout, done.stdout)
        self.ends(1, "chekc", says="did you mean check?")
        self.ends(1, "frobnicate", says="--help")
        for name in GRAPH_COMMANDS:
            self.ends(1, name, says="a graph is missing")
            self.ends(1, name, SMALL, BETWEEN, says="one graph at a time")

    def group_options(self):
        """Values that options refuse."""
        for value in ("T", "T=", "=4", "T=four", "T=-1", "T=4.5", "T=99999999999999999999", ""):
            self.ends(1, "check", "-D", value, SMALL, says=f"-D {value}")
        self.ends(1, "check", "-D", "Q=4", SMALL, says="has no dimension Q")
        self.ends(1, "plan", "-D", "T=1048577", SMALL)
        self.ends(0, "check", "-D", "T=4", "-D", "T=5", SMALL)
        for value in ("0", "-1", "x", "99999999999"):
            self.ends(1, "plan", f"--max-kernels={value}", SMALL)
        self.ends(1, "plan", "--fuse", "some", SMALL, says="--fuse some")
        self.ends(1, "plan", "--target", "abacus", SMALL, says="cpu")
        self.ends(1, "plan", "--machine", "abacus", SMALL, says="h200")
        self.ends(1, "plan", "--machine", "../../share/gpu/h200", SMALL)
        self.ends(0, "plan", "--machine", "h200", SMALL)
        for value in ("1st", "a b", "", "a-b", "x" * 64, "../up"):
            self.ends(1, "export", "--prefix", value, "-o", "never", SMALL)
            self.check(f"--prefix {value}: no folder", not (self.scratch / "never").exists())
        self.ends(5, "blocks", "--blocks", "nowhere", says="nowhere")
        self.ends(5, "check", "--blocks", SMALL, SMALL)
        self.ends(1, "blocks", "swigl", says="did you mean swiglu?")
        self.ends(1, "blocks", "no-such-thing", says="tilewright blocks")
        self.ends(1, "blocks", "../../etc")

    def group_json(self):
        """Shapes and order of keys, as documented."""
        text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
        for name in ("check", "plan", "run", "verify", "blocks"):
            self.check(f"docs/json.md has a part on {name}", f"\n## {name}" in text)
        for key in {*DIAGNOSTIC, *KERNEL, *EDGE, *STEP, *REFUSAL, *BLOCK}:
            self.check(f"docs/json.md names {key}", f"`{key}`" in text or f'"{key}"' in text)
        good = self.json(self.ends(0, "check", "--json", SMALL).stdout, "check")
        self.check("check of a good graph", good == {"ok": True, "diagnostics": []}, good)
        wrong = EXAMPLES / "broken" / "transposed_weight.xml"
        done = self.run("check", "--json", wrong)
        self.check("check of a wrong graph: only JSON", (done.returncode, done.stderr) == (3, ""))
        bad = self.json(done.stdout, "check")
        self.keys("check", bad, ["ok", "diagnostics"])
        self.keys("a diagnostic", bad["diagnostics"][0], DIAGNOSTIC)
        unread = self.json(self.run("check", "--json", "nowhere.xml").stdout, "check")
        self.check("check of no file", unread["ok"] is False
                   and unread["diagnostics"][0]["code"] == "unreadable", unread)
        for graph in sorted(EXAMPLES.glob("*/graph.xml")):
            for words in ([], ["--fuse", "none"], ["--pack"]):
                plan = self.json(self.ends(0, "plan", "--json", *words, graph).stdout, "plan")
                self.plan(f"{graph.parent.name} {' '.join(words)}", plan)
        again = self.run("explain", "--json", SMALL).stdout
        self.check("explain --json is plan --json",
                   again == self.run("plan", "--json", SMALL).stdout, again)
        blocks = self.json(self.ends(0, "blocks", "--json").stdout, "blocks")
        self.keys("blocks", blocks, ["blocks"])
        names = [block["id"] for block in blocks["blocks"]]
        folders = sorted(path.parent.name for path in (ROOT / "blocks").glob("*/block.xml"))
        self.check("blocks lists every folder", names == folders, names)
        for block in blocks["blocks"]:
            self.keys(block["id"], block, BLOCK)
            for port in block["ports"]:
                self.keys(f"a port of {block['id']}", port, PORT)
            page = self.run("blocks", block["id"])
            self.check(f"the page of {block['id']}", page.returncode == 0
                       and block["doc"] in page.stdout, page.stdout)
        one = self.json(self.ends(0, "blocks", "--json", "swiglu").stdout, "blocks")
        self.check("blocks of one", [block["id"] for block in one["blocks"]] == ["swiglu"], one)

    def plan(self, name, plan):
        """The shape of a plan, and that it hangs together."""
        self.keys(name, plan, ["kernels", "edges", "steps", "refusals"])
        for part, keys in (("kernels", KERNEL), ("edges", EDGE), ("steps", STEP),
                           ("refusals", REFUSAL)):
            for item in plan[part]:
                self.keys(f"{name}: {part}", item, keys)
        for kernel in plan["kernels"]:
            self.check(f"{name}: main loop", kernel["mainloop"] in ("gemm", "rows", "finish"))
            self.check(f"{name}: integers", isinstance(kernel["bytes"], int)
                       and isinstance(kernel["flops"], int) and kernel["bytes"] > 0)
        for edge in plan["edges"]:
            self.check(f"{name}: where", edge["where"] in ("argument", "register", "prologue",
                                                           "memory"), edge)
            self.check(f"{name}: reason", len(edge["reason"]) > 10, edge)
        for step in plan["steps"]:
            self.check(f"{name}: a step changes something", step["before"] != step["after"], step)

    def group_idea(self):
        """Two products and nothing else: the norm between has disappeared into them."""
        for name in ("norm_between", "attn_out_to_mlp"):
            graph = EXAMPLES / name / "graph.xml"
            plan = self.json(self.run("plan", "--json", graph).stdout, name)
            kernels = plan["kernels"]
            self.check(f"{name}: two gemm kernels, no other pass",
                       [kernel["mainloop"] for kernel in kernels] == ["gemm", "gemm"], kernels)
            self.check(f"{name}: none is a preparation",
                       not any(kernel["prepare"] for kernel in kernels))
            finish = [edge for edge in plan["edges"] if edge["where"] == "prologue"]
            self.check(f"{name}: finish sits in the consumer's prologue", len(finish) >= 1
                       and any("rstd" in edge["from"] for edge in finish), finish)
            crossing = [edge["from"] for edge in plan["edges"] if edge["where"] == "memory"]
            inner = {value for value in kernels[0]["writes"]} & {value for value in
                                                                 kernels[1]["reads"]}
            self.check(f"{name}: between them lie the values and their statistic", len(inner) in (2, 3)
                       and any("_ss" in value for value in inner), (inner, crossing))
            apart = self.json(self.run("plan", "--json", "--fuse", "none", graph).stdout, name)
            self.check(f"{name}: as drawn it has more kernels and more traffic",
                       len(apart["kernels"]) > 2
                       and sum(k["bytes"] for k in apart["kernels"])
                       > sum(k["bytes"] for k in kernels))
            text = " ".join(self.run("explain", graph).stdout.split())
            for words in ("THE GRAPH", "THE DERIVATION", "THE PLAN", "What goes through memory",
                          "tiles of k1_gemm", "2 kernels a launch"):
                self.check(f"{name}: explain says {words!r}", words in text, text[-1500:])

    def group_demands(self):
        """Exit status 4: demands that cannot be met, and ones that can."""
        self.ends(4, "plan", "--max-kernels", "1", BETWEEN, says="too-many-kernels", out=True)
        self.ends(4, "export", "--max-kernels", "1", "-o", "never", BETWEEN, says="k1_gemm")
        self.check("a refused export writes nothing", not (self.scratch / "never").exists())
        self.ends(4, "verify", "--max-kernels", "1", BETWEEN)
        done = self.ends(4, "run", "--json", "--max-kernels", "1", BETWEEN, out=True)
        report = self.json(done.stdout, "run")
        self.check("run says what was planned", report.get("plan") is not None
                   and report.get("verify") is None, report)
        self.ends(0, "plan", "--max-kernels", "2", BETWEEN)
        text = BETWEEN.read_text(encoding="utf-8")
        for link, status in (('<link from="n.y" to="z.a"', 4), ('<link from="h.y" to="n.x"', 0)):
            graph = self.scratch / "demand.xml"
            graph.write_text(text.replace(link, link + ' fuse="required"'), encoding="utf-8")
            self.check(f"{link} is there", link in text)
            self.ends(status, "plan", graph, out=True)

    def group_hostile(self):
        """What is no graph: exit status 2, one line, nothing printed, in no time."""
        files = self.scratch / "hostile"
        files.mkdir()
        text = SMALL.read_bytes()
        binary = files / "binary.xml"
        binary.write_bytes(bytes(range(256)) * 64)
        big = files / "big.xml"
        big.write_bytes(text.replace(b"</graph>", b"<!--" + b"x" * (17 << 20) + b"--></graph>"))
        entity = files / "entity.xml"
        entity.write_text('<!DOCTYPE g [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">'
                          '<!ENTITY f SYSTEM "file:///etc/passwd">]><graph>&b;&f;</graph>')
        deep = files / "deep.xml"
        deep.write_text("<graph>" + "<a>" * 100000, encoding="utf-8")
        empty = files / "empty.xml"
        empty.write_bytes(b"")
        cut = files / "cut.xml"
        cut.write_bytes(text[:len(text) // 2])
        latin = files / "latin.xml"
        latin.write_bytes(text.replace(b"<doc>", b"<doc>\xff\xfe"))
        schema = files / "schema.xml"
        schema.write_bytes(text.replace(b"<node ", b"<knot ", 1))
        fifo = files / "fifo"
        os.mkfifo(fifo)
        loop = files / "loop"
        loop.symlink_to(loop)
        for path in (files, "/", "/dev/zero", "/dev/null", "/dev/stdin", fifo, loop, binary, big,
                     entity, deep, empty, cut, latin, schema, "nowhere.xml", "nowhere/at/all",
                     "%s%n%s%n.xml", "a\nb.xml", "", "-", self.program):
            for name in ("check", "run") if path in (binary, "/dev/zero") else ("check",):
                start = time.monotonic()
                done = self.ends(2, name, "--", path)
                self.check(f"{name} {path}: at once", time.monotonic() - start < 5)
                self.check(f"{name} {path}: no secret", "root:" not in done.stderr)
                self.check(f"{name} {path}: short", len(done.stderr) < 2000, len(done.stderr))
        odd = files / "a %s %n $(x) `y` ; ü.xml"
        odd.write_bytes(text)
        self.ends(0, "check", odd)
        dash = files / "-D"
        dash.write_bytes(text)
        self.ends(0, "check", "--", "-D", cwd=files)
        wrong = files / "wrong %s%n.xml"
        wrong.write_bytes((EXAMPLES / "broken" / "cycle.xml").read_bytes())
        self.ends(3, "check", wrong, says="wrong %s%n.xml")
        odd_folder = files / "out %s 'q' $(x)"
        self.ends(0, "export", "-o", odd_folder, odd)
        self.check("a folder of an odd name is written", (odd_folder / "plan.json").exists())
        unreadable = files / "unreadable.xml"
        unreadable.write_bytes(text)
        unreadable.chmod(0)
        if self.as_nobody("a file that may not be read"):
            self.ends(2, "check", unreadable, says="ermission", **self.nobody())
        unreadable.chmod(stat.S_IRUSR)

    def nobody(self):
        """Options of a run that root's privileges do not help."""
        return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}

    def as_nobody(self, what):
        """TRUE if a run without root's privileges is possible here."""
        try:
            self.scratch.chmod(0o755)
            self.temporary.chmod(0o777)
            done = self.run("--version", **self.nobody())
        except (OSError, subprocess.SubprocessError):
            done = None
        if done is None or done.returncode != 0:
            self.skip(f"{what}: the program cannot be run by another user here")
            return False
        return True

    def group_types(self):
        """Exit status 3 of every command that takes a graph; and nothing written."""
        wrong = EXAMPLES / "broken" / "cycle.xml"
        for name in GRAPH_COMMANDS:
            self.ends(3, name, wrong, says="[cycle]")
            done = self.run(name, "--json", wrong)
            self.check(f"{name} --json: exit status 3", done.returncode == 3, done.stderr)
            if name in ("check", "run"):
                report = self.json(done.stdout, name)
                self.check(f"{name} --json reports", "cycle" in done.stdout, report)
            else:
                self.check(f"{name} --json prints nothing", done.stdout == "", done.stdout)
        self.ends(3, "export", "-o", "never", wrong)
        self.check("nothing is exported of a wrong graph", not (self.scratch / "never").exists())

    def group_output(self):
        """Exit status 5 and whole folders only."""
        place = self.scratch / "place"
        place.mkdir()
        self.ends(0, "export", SMALL, cwd=place)
        written = sorted(os.listdir(place))
        self.check("the folder is named after the graph", written == ["first_steps"], written)
        folder = place / "first_steps"
        files = sorted(os.listdir(folder))
        expected = sorted(EXPORTED + ["first_steps" + end for end in
                                      (".c", ".h", "_main.c", "_unfused.c", "_unfused.h")])
        self.check("its files", files == expected, files)
        before = {name: (folder / name).read_bytes() for name in files}
        (folder / "notes").write_text("mine", encoding="utf-8")
        self.ends(0, "export", "-o", folder, SMALL)
        self.check("an export is written over, byte for byte the same",
                   all((folder / name).read_bytes() == data for name, data in before.items()))
        self.check("what is not ours stays", (folder / "notes").read_text() == "mine")
        self.check("nothing else beside it", os.listdir(place) == ["first_steps"],
                   os.listdir(place))
        mine = place / "mine"
        mine.mkdir()
        (mine / "letter").write_text("dear", encoding="utf-8")
        self.ends(5, "export", "-o", mine, SMALL, says="no exported folder")
        self.check("a folder of somebody else is left alone", os.listdir(mine) == ["letter"])
        project = place / "project"
        project.mkdir()
        for name in ("Makefile", "plan.json"):
            (project / name).write_text("mine", encoding="utf-8")
        self.ends(5, "export", "-o", project, SMALL, says="no exported folder")
        self.check("a project with files of such names is left alone",
                   sorted(os.listdir(project)) == ["Makefile", "plan.json"]
                   and (project / "Makefile").read_text() == "mine")
        with open("/dev/full", "w", encoding="utf-8") as full:
            run = subprocess.run([self.program, "explain", SMALL], stdout=full, check=False,
                                 stderr=subprocess.PIPE, text=True)
        self.check("a full disk behind standard output is an error",
                   run.returncode == 5 and "standard output" in run.stderr, run.stderr)
        self.ends(5, "export", "-o", mine / "letter", SMALL)
        self.ends(5, "export", "-o", mine / "letter" / "under", SMALL)
        self.ends(5, "export", "-o", "/proc/nowhere", SMALL)
        self.ends(5, "export", "-o", "/dev/full", SMALL)
        self.check("the letter is unharmed", (mine / "letter").read_text() == "dear")
        empty = place / "empty"
        empty.mkdir()
        self.ends(0, "export", "-o", str(empty) + "/", SMALL)
        self.check("an empty folder is used", sorted(os.listdir(empty)) == files)
        self.ends(0, "export", "-o", place / "new" / "deep", "--prefix", "mlp", SMALL)
        self.check("a prefix names the files", (place / "new" / "deep" / "mlp.c").exists())
        locked = place / "locked"
        locked.mkdir(mode=0o555)
        if self.as_nobody("a folder that may not be written"):
            self.ends(5, "export", "-o", locked / "out", SMALL, **self.nobody())
            self.ends(5, "export", "-o", locked, SMALL, **self.nobody())
            self.check("a locked folder stays empty", os.listdir(locked) == [])
            locked_copy = shutil.copytree(folder, place / "locked copy")
            (locked_copy / "first_steps.h").write_text("old", encoding="utf-8")
            locked_copy.chmod(0o555)
            place.chmod(0o555)
            self.ends(5, "export", "-o", locked_copy, SMALL, **self.nobody())
            place.chmod(0o755)
            self.check("a locked export stays as it was",
                       (locked_copy / "first_steps.h").read_text() == "old")
        left = [name for name in os.listdir(place) if name.startswith(".")]
        self.check("no hidden folder stays", left == [], left)

    def group_compiler(self):
        """Exit status 5 of a compiler that is missing or fails."""
        for name in ("verify", "run"):
            self.ends(5, name, SMALL, env={"CC": "no-such-compiler"}, says="no-such-compiler",
                      out=True)
        self.ends(5, "verify", SMALL, env={"CC": "false"}, says="does not compile")
        done = self.ends(5, "run", "--json", SMALL, env={"CC": "false"}, out=True)
        report = self.json(done.stdout, "run")
        self.check("run --json says how far it came", report.get("plan") is not None
                   and report.get("verify") is None and report.get("bench") is None, report)
        full = self.scratch / "no temporary folder"
        self.ends(5, "verify", SMALL, env={"TMPDIR": str(full)})

    def group_verify(self):
        """verify and run to their end; and a device function that contradicts its formula."""
        done = self.ends(0, "verify", "--json", "--seed", "7", "-D", "T=40", SMALL)
        report = self.json(done.stdout, "verify")
        self.keys("verify", report, ["program", "seed", "cases", "calls", "ok"])
        self.check("verify is good", report.get("ok") is True and report.get("seed") == 7, report)
        done = self.ends(0, "run", "--json", "-o", "kept", "-D", "T=40", SMALL)
        report = self.json(done.stdout, "run")
        self.keys("run", report, ["check", "plan", "verify", "bench"])
        self.plan("run", report["plan"])
        self.check("run measures", isinstance(report["bench"], dict), report["bench"])
        self.check("run -o keeps the folder and its program",
                   (self.scratch / "kept" / "first_steps_main").exists())
        planted = self.scratch / "planted" / "gelu"
        shutil.copytree(ROOT / "blocks" / "gelu", planted)
        text = (planted / "block.xml").read_text(encoding="utf-8")
        (planted / "block.xml").write_text(text.replace(
            "<target ", '<source file="gelu.cuh" function="tw_gelu"/>\n  <target ', 1),
            encoding="utf-8")
        (planted / "gelu.cuh").write_text(
            '/* Not GELU. */\n#pragma once\n\n#include "../tile/math.h"\n\nTW_FN float\n'
            "tw_gelu (float x)\n{\n  return x * tw_sigmoid (x);\n}\n", encoding="utf-8")
        done = self.ends(6, "verify", "--blocks", planted.parent, "-D", "T=40", SMALL, out=True)
        self.check("what fails is named", "fused" in done.stdout or "fused" in done.stderr,
                   done.stdout + done.stderr)
        done = self.ends(6, "run", "--json", "--blocks", planted.parent, "-D", "T=40", SMALL,
                         out=True)
        report = self.json(done.stdout, "run")
        self.check("run --json shows the failed verification",
                   report.get("verify", {}).get("ok") is False and report.get("bench") is None,
                   report.get("verify"))

    def group_interrupt(self):
        """An interrupt ends it with status 130 and nothing left."""
        environment = dict(os.environ, TMPDIR=str(self.temporary))
        with subprocess.Popen([self.program, "verify", str(BETWEEN)], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as child:
            end = time.monotonic() + 20
            while not os.listdir(self.temporary) and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(0.5)
            os.killpg(child.pid, signal.SIGINT)
            status = child.wait(timeout=60)
        self.check("an interrupt: exit status 130", status == 130, status)
        self.nothing_left("an interrupt")

    def group_install(self):
        """An installed copy, moved to another place, finds its blocks and its machines."""
        if self.build is None:
            self.skip("install: no --build")
            return
        stage = self.scratch / "stage"
        done = subprocess.run(["meson", "install", "-C", self.build, "--no-rebuild", "--destdir",
                               str(stage)], capture_output=True, text=True, check=False)
        if not self.check("meson install", done.returncode == 0, done.stdout + done.stderr):
            return
        found = [path for path in stage.rglob("tilewright") if path.parent.name == "bin"]
        if not self.check("the program is installed", len(found) == 1, found):
            return
        moved = self.scratch / "moved"
        shutil.move(str(found[0].parent.parent), str(moved))
        kept, self.program = self.program, str(moved / "bin" / "tilewright")
        names = [block["id"] for block in self.json(self.ends(0, "blocks", "--json").stdout,
                                                    "blocks").get("blocks", [])]
        self.check("it finds its blocks", "swiglu" in names and len(names) > 10, names)
        traced = self.scratch / "traced"
        data = moved / "share" / "tilewright"
        block = data / "blocks" / "gelu" / "block.xml"
        block.write_text(block.read_text(encoding="utf-8").replace(
            "<label>GELU</label>", "<label>Moved</label>"), encoding="utf-8")
        self.check("they are the installed ones", "Moved" in self.ends(0, "blocks").stdout)
        graph = data / "examples" / "first_steps" / "graph.xml"
        self.ends(0, "plan", "--machine", "h200", graph)
        self.ends(0, "export", "-o", traced, graph)
        self.check("the installed program exports", (traced / "Makefile").exists())
        self.check("no file of the tile layer is missing", (data / "blocks" / "tile").is_dir()
                   and (data / "share" / "graph.xsd").exists())
        manual = list(moved.rglob("tilewright.1*"))
        self.check("the manual is installed", len(manual) == 1, manual)
        self.program = kept


def main():
    """Runs the groups named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--build")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        tests = Tests(str(pathlib.Path(options.program).resolve()),
                      options.build and str(pathlib.Path(options.build).resolve()), scratch)
        for name in [name for name in dir(tests) if name.startswith("group_")]:
            if not options.names or name[6:] in options.names:
                getattr(tests, name)()
        print(f"{tests.passed} passed, {tests.failed} failed, {tests.skipped} skipped")
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main())
