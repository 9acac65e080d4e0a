#!/usr/bin/env python3
"""What ARCHITECTURE.md and CONTRIBUTING.md say of the tree, held against the tree.

usage: run-structure.py [--root DIR] [--build BUILD]

Layers include only what they may; every header compiles alone, in C and in C++; files and lines keep
their bounds; every source is built, every module tested, every example explained. --build is a
configured build folder (for config.h). With --plant the checks are tried on copies of the tree with
one fault each.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parents[2]
CODE = {".c", ".h", ".cuh", ".cu"}
LINES, COLUMNS = 700, 100

# Folder -> folders it may include. Longest match counts.
LAYERS = {
    "blocks/tile": ["blocks/tile"],
    "blocks": ["blocks/tile"],
    "composer": ["composer"],
    "export/emit": ["export/emit", "composer"],
    "export/cli": ["export/cli", "export/emit", "composer"],
    "share": ["share"],
}
FORBIDDEN = re.compile(r"^(gtk|gdk|cairo|pango|adwaita|cuda|cublas|nvrtc|cute|cutlass)")
LIBC = {"assert.h", "ctype.h", "errno.h", "fcntl.h", "float.h", "inttypes.h", "limits.h", "locale.h",
        "math.h", "omp.h", "signal.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h",
        "stdlib.h", "string.h", "time.h", "unistd.h", "sys/stat.h", "sys/wait.h"}
# What a layer takes from outside: libc, and headers that begin so.
SYSTEM = {
    "blocks/tile": (),
    "blocks": (),
    "share": (),
    "composer": ("glib", "gio/", "libxml/", "json-glib/"),
    "export/emit": ("glib", "gio/", "json-glib/"),
    "export/cli": ("glib", "gio/", "json-glib/"),
}
# Words that rules create or that stand at a graph's boundary: these blocks code may know by name.
VOCABULARY = {"input", "weight", "output", "scale_rows", "scale_columns", "dual_gemm", "interleave",
              "gemm", "add"}
# Headers inside a module, which its own tests reach through the interface.
INNER = {"rewrite-hoist", "kernel", "kernels-cpu", "launcher"}


class Tree:
    """A working tree and the count of what held."""

    def __init__(self, root, build):
        self.root, self.build = root, build
        self.passed = self.failed = self.skipped = 0
        self.failures = []

    def check(self, what, good):
        """Counts one fact."""
        if good:
            self.passed += 1
        else:
            self.failed += 1
            self.failures.append(what)

    def files(self, *folders, suffixes=tuple(CODE)):
        """Sources under these folders."""
        for folder in folders:
            for path in sorted((self.root / folder).rglob("*")):
                if path.is_file() and path.suffix in suffixes:
                    yield path, path.relative_to(self.root).as_posix()

    def layer(self, name):
        """The layer of a path, None outside all."""
        found = [layer for layer in LAYERS if name.startswith(layer + "/")]
        return max(found, key=len) if found else None

    def resolve(self, path, target):
        """Where a quoted include leads, relative to the root; None if nowhere."""
        for base in (path.parent, self.root):
            there = (base / target).resolve()
            if there.is_file() and there.is_relative_to(self.root):
                return there.relative_to(self.root).as_posix()
        return None

    # ---- checks ----
    def layering(self):
        """Directions of #include."""
        for path, name in self.files(*[f for f in LAYERS if "/" not in f], "export"):
            layer = self.layer(name)
            text = path.read_text(encoding="utf-8")
            for mark, target in re.findall(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)', text, re.M):
                if mark == '"' and target == "config.h":
                    self.check(f"{name}: config.h is for composer and program",
                               layer in ("composer", "export/cli"))
                elif mark == '"':
                    there = self.resolve(path, target)
                    self.check(f"{name} includes {target}, which is not there", there is not None)
                    of = self.layer(there) if there else None
                    own = pathlib.PurePath(there or ".").parent == pathlib.PurePath(name).parent
                    oracle = path.name == "oracle.c" and there == "tests/blocks/oracle.h"
                    self.check(f"{name} includes {there}: {layer} may not include {of}",
                               of in LAYERS[layer] or (own and layer == "blocks") or oracle)
                else:
                    self.check(f"{name} includes <{target}>, a graphical or CUDA header",
                               not FORBIDDEN.match(target.lower()))
                    self.check(f"{name} includes <{target}>, which {layer} does not stand on",
                               target in LIBC or target.startswith(SYSTEM[layer]))

    def sizes(self):
        """Lines of a file, columns of a line."""
        for path, name in self.files("blocks", "composer", "export", "share", "tests"):
            if name.startswith("tests/goldens/"):
                continue
            lines = path.read_text(encoding="utf-8").splitlines()
            self.check(f"{name}: {len(lines)} lines, more than {LINES}", len(lines) <= LINES)
            wide = [number for number, line in enumerate(lines, 1) if len(line) > COLUMNS]
            self.check(f"{name}: lines wider than {COLUMNS} columns: {wide}", not wide)
            self.check(f"{name}: tabs or blanks at a line's end",
                       not any(line != line.rstrip() or "\t" in line for line in lines))

    def names(self):
        """Composer and exporter know no block by name, apart from their vocabulary."""
        blocks = {path.parent.name for path in (self.root / "blocks").glob("*/block.xml")}
        self.check("the library has blocks", len(blocks) > 10)
        known = re.compile('"(' + "|".join(sorted(blocks - VOCABULARY)) + ')"')
        for path, name in self.files("composer", "export"):
            for word in known.findall(path.read_text(encoding="utf-8")):
                self.check(f"{name} names the block {word}", word in self.allowed(name))
            self.check(f"{name}: names", True)

    def allowed(self, name):
        """Words that are also blocks' names, and mean something else there."""
        return {"composer/formula-parse.c": {"relu", "gemm"}, "composer/formula-c.c": {"relu"},
                }.get(name, set()) | ({"gemm", "finish"} if "report" in name or "plan" in name
                                      or "block" in name else set())

    def built(self):
        """Every source is in a meson.build, every runner in one or in the full suite."""
        for path, name in self.files("composer", "export", suffixes=(".c",)):
            meson = (path.parent / "meson.build").read_text(encoding="utf-8")
            self.check(f"{name} is in no meson.build", f"'{path.name}'" in meson)
        text = "".join(path.read_text(encoding="utf-8")
                       for path in sorted((self.root / "tests").rglob("meson.build")))
        text += (self.root / "tests" / "full" / "run.py").read_text(encoding="utf-8")
        for path, name in self.files("tests", suffixes=(".py",)):
            if path.name.startswith(("run-", "flip-")):
                self.check(f"{name} is run by nothing", path.name in text)
        for path, name in self.files("tests", suffixes=(".c",)):
            if path.name.startswith("test-"):
                stem = path.stem[len("test-"):]
                self.check(f"{name} is run by nothing", f"'{stem}'" in text or path.name in text)

    def tested(self):
        """Every module of composer and exporter has a test that names it."""
        texts = {name: path.read_text(encoding="utf-8")
                 for path, name in self.files("tests", suffixes=(".c",))}
        for folder in ("composer", "export/emit"):
            headers = {path.stem for path, _ in self.files(folder, suffixes=(".h",))}
            for header in sorted(h for h in headers - INNER if not h.endswith("-private")):
                include = re.compile(rf'^#include "(?:[./]*{folder}/)?{header}\.h"', re.M)
                self.check(f"{folder}/{header}.h is named by no test",
                           any(name.endswith(f"/test-{header}.c") or include.search(text)
                               for name, text in texts.items()))
            for path, name in self.files(folder, suffixes=(".c",)):
                group = path.stem
                while group not in headers and "-" in group:
                    group = group.rsplit("-", 1)[0]
                self.check(f"{name} belongs to no header", group in headers or folder != "composer")
        commands = (self.root / "tests" / "cli" / "run-cli.py").read_text(encoding="utf-8")
        for path, name in self.files("export/cli", suffixes=(".c",)):
            if path.stem not in ("main", "session", "folder"):
                self.check(f"{name} is in no test", f'"{path.stem}"' in commands)

    def explained(self):
        """Examples and blocks have what belongs to them."""
        readme = (self.root / "README.md").read_text(encoding="utf-8")
        folders = sorted(path for path in (self.root / "examples").iterdir() if path.is_dir())
        self.check("there are examples", len(folders) >= 7)
        for folder in folders:
            page = folder / "README.md"
            text = page.read_text(encoding="utf-8") if page.is_file() else ""
            self.check(f"examples/{folder.name} has no README that says something",
                       len(text) > 200 and text.startswith("# "))
            self.check(f"examples/{folder.name} is not in README.md",
                       f"(examples/{folder.name})" in readme)
            self.check(f"examples/{folder.name} holds no graph", any(folder.glob("*.xml")))
        for folder in sorted((self.root / "blocks").iterdir()):
            if folder.is_dir() and folder.name != "tile":
                for part in ("block.xml", "oracle.c", "cases.xml"):
                    self.check(f"blocks/{folder.name} has no {part}", (folder / part).is_file())
        for path, name in self.files("blocks", "composer", "export"):
            text = path.read_text(encoding="utf-8")
            if path.suffix in (".h", ".cuh"):
                self.check(f"{name} says nothing at its head", text.startswith("/*"))
                self.check(f"{name} has no #pragma once", "#pragma once" in text
                           or name.endswith("-private.h") and "#pragma once" in text)

    def headers(self):
        """Each header alone, in C and in C++."""
        flags = []
        packages = ["gio-2.0", "libxml-2.0", "json-glib-1.0"]
        found = subprocess.run(["pkg-config", "--cflags", *packages], capture_output=True, text=True,
                               check=False) if shutil.which("pkg-config") else None
        if found is not None and found.returncode == 0:
            flags = found.stdout.split()
        flags += [f"-I{self.root}", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror",
                  "-Wno-unused-function", "-Wno-unused-parameter"]
        if self.build:
            flags.append(f"-I{self.build}")
        for compiler, language, standard in (("cc", "c", "gnu17"), ("g++", "c++", "c++17")):
            if shutil.which(compiler) is None:
                self.skipped += 1
                print(f"skipped: headers in {language}, {compiler} is not installed")
                continue
            for path, name in self.files("blocks", "composer", "export", suffixes=(".h", ".cuh")):
                extra = ["-Wno-missing-field-initializers", "-Wno-unknown-pragmas"]
                done = subprocess.run([compiler, f"-std={standard}", "-fsyntax-only", *flags, *extra,
                                       "-x", language, "-"], input=f'#include "{name}"\n',
                                      capture_output=True, text=True, check=False)
                self.check(f"{name} alone in {language}:\n{done.stderr[:800]}", done.returncode == 0)

    def all(self, compile_headers=True):
        """Everything; the failures as a list."""
        self.layering()
        self.sizes()
        self.names()
        self.built()
        self.tested()
        self.explained()
        if compile_headers:
            self.headers()
        return self.failures


def prepend(text):
    """A change that puts a line at a file's start."""
    return lambda old: text + "\n" + old


# One fault each: file, change, a piece of the complaint.
FAULTS = [
    ("blocks/tile/math.h", prepend('#include "../../composer/formula.h"'), "may not include composer"),
    ("blocks/swiglu/swiglu.cuh", prepend('#include "../relu/relu.cuh"'), "not there"),
    ("composer/plan.c", prepend('#include "export/emit/emit.h"'), "may not include export/emit"),
    ("export/emit/text.c", prepend('#include "../cli/cli.h"'), "may not include export/cli"),
    ("composer/check.h", prepend("#include <gtk/gtk.h>"), "graphical"),
    ("composer/cost.c", prepend("#include <cuda_runtime.h>"), "graphical or CUDA"),
    ("export/emit/emit.c", prepend("#include <libxml/tree.h>"), "does not stand on"),
    ("composer/law.c", lambda old: old + "/* */\n" * LINES, "lines, more than"),
    ("composer/law.c", prepend("/* " + "x" * COLUMNS + " */"), "wider than"),
    ("composer/rewrite.c", lambda old: old + 'const char *special = "swiglu";\n', "names the block"),
    ("composer/fresh.c", lambda old: "/* New. */\n", "is in no meson.build"),
    ("composer/fresh.h", lambda old: "/* New. */\n#pragma once\n", "is named by no test"),
    ("tests/composer/test-fresh.c", lambda old: "/* New. */\n", "is run by nothing"),
    ("tests/cli/run-fresh.py", lambda old: "", "is run by nothing"),
    ("examples/first_steps/README.md", lambda old: "", "has no README"),
    ("examples/fresh/graph.xml", lambda old: "", "examples/fresh is not in README.md"),
    ("blocks/relu/oracle.c", lambda old: None, "has no oracle.c"),
]


def plant(tree):
    """Each fault in a copy of the tree has to be seen."""
    before = set(tree.failures)
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch).resolve() / "tree"
        copy.mkdir()
        for folder in ("blocks", "composer", "export", "share", "tests", "examples"):
            shutil.copytree(tree.root / folder, copy / folder,
                            ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(tree.root / "README.md", copy)
        for name, change, complaint in FAULTS:
            path = copy / name
            old = path.read_text(encoding="utf-8") if path.exists() else None
            new = change(old or "")
            path.parent.mkdir(exist_ok=True)
            if new is None:
                path.unlink()
            else:
                path.write_text(new, encoding="utf-8")
            seen = set(Tree(copy, None).all(compile_headers=False)) - before
            tree.check(f"a planted fault in {name} is not seen ({complaint}): {seen}",
                       any(complaint in failure for failure in seen))
            if old is not None:
                path.write_text(old, encoding="utf-8")
            else:
                path.unlink()
                if not any(path.parent.iterdir()):
                    path.parent.rmdir()


def main():
    """Prints what does not hold, and the totals."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--root", default=str(HERE))
    parser.add_argument("--build")
    parser.add_argument("--plant", action="store_true")
    options = parser.parse_args()
    tree = Tree(pathlib.Path(options.root).resolve(), options.build)
    tree.all()
    if options.plant:
        plant(tree)
    for failure in tree.failures:
        print("FAILED " + failure)
    print(f"{tree.passed} passed, {tree.failed} failed, {tree.skipped} skipped")
    return 1 if tree.failed else 0


if __name__ == "__main__":
    sys.exit(main())
