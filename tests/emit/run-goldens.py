#!/usr/bin/env python3
"""Compares what is exported for each example with tests/goldens/export/NAME.txt.

usage: run-goldens.py --program PATH/export-graph [--update] [NAME ...]

A golden holds the generated part of every file; pasted sources stand in it by name and hash.
"""
import argparse
import difflib
import hashlib
import os
import re
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
        with tempfile.TemporaryDirectory() as scratch:
            text, problem = make(os.path.abspath(options.program), graph,
                                 os.path.join(scratch, name))
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
