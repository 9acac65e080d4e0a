#!/usr/bin/env python3
"""Breaks exported programs on purpose: `check` must see every break (exit 6).

usage: run-mutations.py --program PATH [--jobs N] [--keep DIR] [EXAMPLE | MUTATION ...]

PATH is the exporting program, called as PATH GRAPH DIRECTORY (or, if its name is tilewright, as
PATH export GRAPH -o DIRECTORY). table.txt says which mutation applies to which example; it is
committed and written by hand. A mutation that does not find its place is an error.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def read_table():
    """[(example, mutation, check arguments, pattern, replacement)]. A mutation's pattern is a regular
    expression over the exported NAME.c; its first match is replaced."""
    rows, entry = [], None
    with open(os.path.join(HERE, 'table.txt'), encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip('\n')
            if not line.strip() or line.startswith('#'):
                continue
            if not line.startswith(' '):
                words = line.split()
                entry = {'example': words[0], 'mutation': words[1], 'arguments': words[2:],
                         'line': number}
                rows.append(entry)
                continue
            key, _, value = line.strip().partition(' ')
            if key not in ('find', 'put', 'graph') or key in entry:
                sys.exit(f'table.txt:{number}: find, put or graph expected')
            entry[key] = value
    for entry in rows:
        if 'find' not in entry:
            sys.exit(f'table.txt:{entry["line"]}: no pattern')
        entry.setdefault('put', '')
    return rows


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **options)


def find_graph(entry):
    if 'graph' in entry:
        return os.path.join(ROOT, entry['graph'])
    return os.path.join(ROOT, 'examples', entry['example'], 'graph.xml')


def export(program, graph, folder):
    if os.path.basename(program) == 'tilewright':
        return run([program, 'export', graph, '-o', folder])
    return run([program, graph, folder])


COMPILE = ['-std=gnu17', '-O1', '-march=native']


class Example:
    """An exported folder whose other files are compiled once."""

    def __init__(self, program, graph, folder):
        result = export(program, graph, folder)
        if result.returncode != 0:
            raise RuntimeError(f'export failed: {result.stdout}')
        self.folder = folder
        mains = [f for f in os.listdir(folder) if f.endswith('_main.c')]
        self.name = mains[0][:-len('_main.c')]
        with open(os.path.join(folder, self.name + '.c'), encoding='utf-8') as file:
            self.text = file.read()
        for part in (self.name + '_unfused', self.name + '_main'):
            result = run(['cc', *COMPILE, '-c', part + '.c', '-o', part + '.o'], cwd=folder)
            if result.returncode != 0:
                raise RuntimeError(f'{part}.c: {result.stdout[:2000]}')

    def try_text(self, text, stem, arguments):
        """Exit status and output of check with this text as NAME.c."""
        source, program = stem + '.c', stem + '_check'
        with open(os.path.join(self.folder, source), 'w', encoding='utf-8') as file:
            file.write(text)
        result = run(['cc', *COMPILE, '-o', program, source, self.name + '_unfused.o',
                      self.name + '_main.o', '-lm'], cwd=self.folder)
        if result.returncode != 0:
            return -1, 'does not compile: ' + result.stdout[:2000]
        result = run([os.path.join(self.folder, program), 'check', *arguments], cwd=self.folder)
        return result.returncode, result.stdout


def mutate(example, entry):
    """None if it was seen, else what went wrong."""
    found = re.search(entry['find'], example.text)
    if found is None:
        return 'its place was not found'
    text = example.text[:found.start()] + found.expand(entry['put']) + example.text[found.end():]
    if text == example.text:
        return 'changes nothing'
    stem = f'm_{entry["mutation"].replace("-", "_")}_{entry["line"]}'
    status, output = example.try_text(text, stem, entry['arguments'])
    return None if status == 6 else f'exit {status}, not 6\n{output[-1500:]}'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--program', required=True)
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--keep')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    rows = [r for r in read_table() if not options.names or r['example'] in options.names
            or r['mutation'] in options.names]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        def prepare(name):
            entry = next(r for r in rows if r['example'] == name)
            example = Example(options.program, find_graph(entry),
                              os.path.join(options.keep or scratch, name))
            status, output = example.try_text(example.text, 'intact', entry['arguments'])
            if status != 0:
                raise RuntimeError(f'unbroken, check gives {status}\n{output[-1500:]}')
            return example

        names = list(dict.fromkeys(r['example'] for r in rows))
        examples = {name: pool.submit(prepare, name) for name in names}
        waiting = []
        for entry in rows:
            try:
                example = examples[entry['example']].result()
            except (RuntimeError, OSError, IndexError) as problem:
                failed += 1
                print(f'FAILED {entry["example"]:18} {entry["mutation"]:24} {problem}', flush=True)
                continue
            waiting.append((entry, pool.submit(mutate, example, entry)))
        for entry, future in waiting:
            problem = future.result()
            failed += problem is not None
            passed += problem is None
            print(f'{"seen  " if problem is None else "FAILED"} {entry["example"]:18} '
                  f'{entry["mutation"]:24} {problem or ""}', flush=True)
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not rows else 0


if __name__ == '__main__':
    sys.exit(main())
