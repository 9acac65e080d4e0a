#!/usr/bin/env python3
"""Flips every law of every block, one at a time, in a copy of its block.xml: each flip must turn
the law check red. A check that accepts a flip does not see that law.
"""
import argparse
import copy
import pathlib
import sys
import tempfile
import xml.etree.ElementTree as ET

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
laws = __import__("run-laws")


def operands(block):
    """Names of the formula's inputs."""
    names = []
    for port in block.findall("port"):
        if port.get("direction") == "in":
            for name in (port.get("operands") or port.get("id")).split():
                if name not in names:
                    names.append(name)
    return names


def flips_of_law(law):
    """(what, changed attributes or None for removal) of one law."""
    kind = law.get("kind")
    flips = [("removed", None)]
    if kind in ("degree", "column"):
        degree = law.get("degree", "1")
        if degree.startswith("$"):
            flips += [("degree is 1", {"degree": "1"}), ("degree is 2", {"degree": "2"})]
        else:
            flips += [(f"degree {degree} is {int(degree) + step}",
                       {"degree": str(int(degree) + step)}) for step in (1, -1)]
        inputs = law.get("inputs").split()
        if len(inputs) > 1:
            flips.append((f"without {inputs[-1]}", {"inputs": " ".join(inputs[:-1])}))
    if kind == "degree":
        flips.append(("force instead", {"kind": "force", "degree": None}))
    if kind == "force":
        flips.append(("degree 1 instead", {"kind": "degree", "degree": "1"}))
    if kind == "shift":
        other = "invariant" if law.get("response") == "carries" else "carries"
        flips.append((f"response {other}", {"response": other}))
    if kind == "transfer":
        flips.append(("turned round", {"inputs": " ".join(reversed(law.get("inputs").split()))}))
    return flips


def flips_of_block(block):
    """(what, changed block)."""
    for index, law in enumerate(block.findall("law")):
        name = f"{law.get('kind')} {law.get('inputs')}"
        for what, change in flips_of_law(law):
            changed = copy.deepcopy(block)
            target = changed.findall("law")[index]
            if change is None:
                changed.remove(target)
            else:
                for key, value in change.items():
                    if value is None:
                        target.attrib.pop(key, None)
                    else:
                        target.set(key, value)
            yield f"{name}: {what}", changed
    linear = [law.get("inputs").split() for law in block.findall("law")
              if law.get("kind") == "linear"]
    formula = block.find("formula")
    for name in operands(block):
        if formula is None or [name] in linear:
            continue
        changed = copy.deepcopy(block)
        law = ET.Element("law", {"kind": "linear", "inputs": name})
        changed.insert(list(changed).index(changed.find("formula")) + 1, law)
        yield f"linear {name}: added", changed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="the built check-laws")
    parser.add_argument("--blocks", action="append", default=[], help="another folder of blocks")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    paths = laws.discover([laws.ROOT / "blocks", *options.blocks])
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        copies = {}
        for path in paths:
            block = ET.parse(path).getroot()
            for number, (what, changed) in enumerate(flips_of_block(block)):
                target = pathlib.Path(folder) / f"{path.parent.name}-{number}" / path.parent.name
                target.mkdir(parents=True)
                for source in path.parent.iterdir():
                    if source.is_file() and source.name != "block.xml":
                        (target / source.name).write_bytes(source.read_bytes())
                ET.ElementTree(changed).write(target / "block.xml", encoding="UTF-8",
                                              xml_declaration=True)
                copies[str(target / "block.xml")] = (path.parent.name, what)
        verdicts = laws.check(options.program, copies, options.seeds) if copies else {}
        for path, (name, what) in copies.items():
            verdict, message = verdicts.get(path, ("crashed", ""))
            red = verdict == "red"
            passed += red
            failed += not red
            print(f"{name:14} {what:44} {'red' if red else 'NOT RED: ' + verdict}"
                  f"{'' if red else ' ' + message}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
