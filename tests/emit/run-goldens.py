#!/usr/bin/env python3
"""Compares what is exported for each example with tests/goldens/export/NAME.txt.

usage: run-goldens.py --program PATH/export-graph [--update] [NAME ...]

A golden holds the generated part of every file; pasted sources stand in it by name and hash. An
example that has a folder exported-cpu/ shows what is exported in full: that is compared to the byte.
--update writes both anew.
"""
import argparse
import difflib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDENS = os.path.join(ROOT, 'tests', 'goldens', 'export')
SECTION = re.compile(r'^/\* ---- (\S+) -+ \*/\n', re.M)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def reduce_text(text):
    """Pasted sources become a line each."""
    folder = os.path.join(ROOT, 'share', 'export')
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding='utf-8') as file:
            source = file.read()
        text = text.replace(source, f'[share/export/{name} {digest(source)}]\n')
    parts, position = [], 0
    starts = list(SECTION.finditer(text))
    for i, match in enumerate(starts):
        if not match.group(1).startswith('blocks/'):
            continue
        end = starts[i + 1].start() if i + 1 < len(starts) else len(text)
        body = text[match.end():end]
        parts.append(text[position:match.start()] + f'[{match.group(1)} {digest(body)}]\n')
        position = end
    return ''.join(parts) + text[position:]


def make(program, graph, folder):
    result = subprocess.run([program, graph, folder], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        return None, result.stdout
    out = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding='utf-8') as file:
            out.append(f'==== {name}\n{reduce_text(file.read())}')
    return ''.join(out), ''


def read_folder(folder):
    """Name -> bytes, without what make leaves there."""
    out = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith(('.o', '_main')):
            with open(os.path.join(folder, name), 'rb') as file:
                out[name] = file.read()
    return out


def compare_shown(shown, exported, update):
    """Names of the files of a folder in the tree that are not what is exported."""
    new, old = read_folder(exported), read_folder(shown)
    differing = sorted(name for name in new.keys() | old.keys() if new.get(name) != old.get(name))
    for name in differing if update else []:
        if name in new:
            shutil.copyfile(os.path.join(exported, name), os.path.join(shown, name))
        else:
            os.remove(os.path.join(shown, name))
    return [] if update else differing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--program', required=True)
    parser.add_argument('--update', action='store_true')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    passed = failed = 0
    examples = os.path.join(ROOT, 'examples')
    for name in sorted(os.listdir(examples)):
        graph = os.path.join(examples, name, 'graph.xml')
        if not os.path.isfile(graph) or (options.names and name not in options.names):
            continue
        golden = os.path.join(GOLDENS, name + '.txt')
        shown = os.path.join(examples, name, 'exported-cpu')
        with tempfile.TemporaryDirectory() as scratch:
            folder = os.path.join(scratch, name)
            text, problem = make(os.path.abspath(options.program), graph, folder)
            if text is not None and os.path.isdir(shown):
                differing = compare_shown(shown, folder, options.update)
                passed += not differing
                failed += bool(differing)
                if differing:
                    print(f'FAILED {name}/exported-cpu: {", ".join(differing)}: not what is '
                          'exported (run with --update if that is meant)')
        if text is None:
            print(f'FAILED {name}: {problem}')
            failed += 1
            continue
        if options.update:
            with open(golden, 'w', encoding='utf-8') as file:
                file.write(text)
        old = open(golden, encoding='utf-8').read() if os.path.isfile(golden) else ''
        if old == text:
            passed += 1
            continue
        failed += 1
        print(f'FAILED {name}: differs (run with --update if that is meant)')
        lines = difflib.unified_diff(old.splitlines(), text.splitlines(), 'golden', 'exported',
                                     lineterm='', n=1)
        print('\n'.join(list(lines)[:40]))
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
