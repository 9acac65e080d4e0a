#!/usr/bin/env python3
"""Exports every example and every graph in tests/emit/graphs/, compiles each in an empty folder with
every compiler there is, without warnings, and runs its check.

usage: run-exports.py --program PATH/export-graph [--full] [--keep DIR] [NAME ...]

Quick: gcc, small sizes. --full: also clang, without OpenMP, with emulated lanes, under sanitizers,
packed weights, and the C++ header.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT_MS = 200
WARN = ['-std=gnu17', '-Wall', '-Wextra', '-Werror']


def graphs():
    found = []
    for base in ('examples', 'tests/emit/graphs'):
        folder = os.path.join(ROOT, base)
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            path = os.path.join(folder, name)
            if os.path.isfile(os.path.join(path, 'graph.xml')):
                found.append((name, os.path.join(path, 'graph.xml')))
            elif name.endswith('.xml') and base != 'examples':
                found.append((name[:-4], path))
    return found


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **options)


class Runner:
    def __init__(self, options):
        self.options = options
        self.passed = self.failed = self.skipped = 0

    def check(self, what, good, detail=''):
        if good:
            self.passed += 1
        else:
            self.failed += 1
            print(f'FAILED {what}\n{detail}', flush=True)
        return good

    def build(self, name, folder, compiler, flags, output):
        sources = [f for f in sorted(os.listdir(folder)) if f.endswith('.c')]
        return run([compiler, *WARN, *flags, '-o', output, *sources, '-lm'], cwd=folder)

    def test(self, name, path):
        folder = os.path.join(self.options.keep or self.scratch, name)
        again = folder + '.again'
        for place in (folder, again):
            shutil.rmtree(place, ignore_errors=True)
            result = run([self.options.program, path, place])
            if not self.check(f'{name}: export', result.returncode == 0, result.stdout):
                return
        texts = {f: open(os.path.join(folder, f), encoding='utf-8').read()
                 for f in sorted(os.listdir(folder))}
        for file, text in texts.items():
            other = open(os.path.join(again, file), encoding='utf-8').read()
            self.check(f'{name}/{file}: the same bytes twice', other == text)
            long = [f'{i}: {line}' for i, line in enumerate(text.split('\n'), 1) if len(line) > 100]
            self.check(f'{name}/{file}: lines of at most 100 columns',
                       not file.endswith(('.c', '.h')) or not long, '\n'.join(long[:5]))
            self.check(f'{name}/{file}: no path of this machine', ROOT not in text)
        shutil.rmtree(again)
        result = run([self.options.program, '--repeat', '5', path, again])
        taken = re.search(r'([0-9.]+) ms', result.stdout)
        self.check(f'{name}: exported in {LIMIT_MS} ms', taken and float(taken[1]) < LIMIT_MS,
                   result.stdout)
        shutil.rmtree(again, ignore_errors=True)
        builds = [('gcc', ['-O1', '-fopenmp'], ['T=37'])]
        if self.options.full:
            builds += [('clang', ['-O2'], []),
                       ('gcc', ['-O1', '-fopenmp', '-DTW_LANES=32'], ['T=37']),
                       ('gcc', ['-O3', '-march=native', '-fopenmp'], []),
                       ('gcc', ['-O1', '-g', '-fsanitize=address,undefined',
                                '-fno-sanitize-recover=all'], [])]
        header = [f for f in texts if f.endswith('.h') and not f.endswith('_unfused.h')][0]
        main = header[:-2] + '_main'
        for compiler, flags, arguments in builds:
            if shutil.which(compiler) is None:
                self.skipped += 1
                continue
            result = self.build(name, folder, compiler, flags, main)
            if not self.check(f'{name}: {compiler} {" ".join(flags)}', result.returncode == 0,
                              result.stdout[:3000]):
                continue
            small = [a for a in arguments if '"T",' in texts[main + '.c']]
            result = run([os.path.join(folder, main), 'check', *small], cwd=folder)
            self.check(f'{name}: check ({compiler} {" ".join(flags)})', result.returncode == 0,
                       result.stdout[-3000:])
        if self.options.full:
            self.test_packed(name, path, folder + '.packed', main, texts)
        if self.options.full and shutil.which('g++') is not None:
            source = f'#include "{header}"\nint main () {{ return 0; }}\n'
            result = run(['g++', '-Wall', '-Wextra', '-Werror', '-x', 'c++', '-fsyntax-only', '-'],
                         cwd=folder, input=source)
            self.check(f'{name}: header in C++', result.returncode == 0, result.stdout)
        if self.options.full:
            result = run(['make', '-s', 'clean', main], cwd=folder)
            self.check(f'{name}: make', result.returncode == 0, result.stdout)

    def test_packed(self, name, path, folder, main, texts):
        """The same with weights folded and packed, where that makes a difference."""
        result = run([self.options.program, '--pack', path, folder])
        if not self.check(f'{name}: export --pack', result.returncode == 0, result.stdout):
            return
        source = main[:-5] + '.c'
        with open(os.path.join(folder, source), encoding='utf-8') as file:
            if file.read() == texts[source]:
                return
        result = self.build(name, folder, 'gcc', ['-O1', '-fopenmp'], main)
        if self.check(f'{name}: gcc, packed', result.returncode == 0, result.stdout[:3000]):
            small = ['T=37'] if '"T",' in texts[main + '.c'] else []
            result = run([os.path.join(folder, main), 'check', *small], cwd=folder)
            self.check(f'{name}: check, packed', result.returncode == 0, result.stdout[-3000:])

    def main(self):
        chosen = [g for g in graphs() if not self.options.names or g[0] in self.options.names]
        with tempfile.TemporaryDirectory() as self.scratch:
            for name, path in chosen:
                start = time.time()
                self.test(name, path)
                print(f'{name}: {time.time() - start:.1f} s', flush=True)
        skipped = f', {self.skipped} skipped' if self.skipped else ''
        print(f'{self.passed} passed, {self.failed} failed{skipped}')
        return 1 if self.failed or not chosen else 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--program', required=True)
    parser.add_argument('--full', action='store_true')
    parser.add_argument('--keep')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    return options


if __name__ == '__main__':
    sys.exit(Runner(parse()).main())
