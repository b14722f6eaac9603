"""Writes `examples.json`: what the page offers to begin with. Lessons are the kernels of the book's tutorials, examples those of
the page of examples, which a test writes."""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
USES = re.compile(r'^\s*(?:use|import)\s+"([^"]+)"', re.M)


def uses(file, read):
    """The other texts that a text needs, apart from the library."""
    found, left = {}, [file]
    while left:
        name = left.pop()
        for wanted in USES.findall(read(name) or ""):
            path = str(Path(name).parent / wanted)
            if path not in found and path != file and read(path) is not None:
                found[path] = True
                left.append(path)
    return list(found)


def examples(catalogue):
    page = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    kind = group = None
    for line in page.split("\n"):
        if title := re.match(r"## (.+)", line):
            kind = "Examples: " + title[1]
        elif title := re.match(r"### \[(.+?)\]\((.+?)/README\.md\)", line):
            group = {"kind": kind, "title": title[1], "items": []}
            catalogue["groups"].append(group)
        elif row := re.match(r"\| \[`(.+?)`\]\((.+?\.fence)\) \|.*\| ([^|]+) \| [^|]+ \|$", line):
            file = "examples/" + row[2]
            group["items"].append({"title": row[1], "file": file, "expect": row[3].strip(" `")})
            read(catalogue, file)


def read(catalogue, file):
    def text(name):
        path = ROOT / name
        return path.read_text(encoding="utf-8") if path.is_file() else None

    catalogue["texts"][file] = text(file)
    if others := uses(file, text):
        catalogue["uses"][file] = others
        for other in others:
            catalogue["texts"][other] = text(other)


def beside(file, texts):
    """A file of `examples` that a page shows some lines of, and those that it uses."""
    folder = ROOT / "examples" / Path(file).parent

    def text(name):
        path = folder / name
        return path.read_text(encoding="utf-8") if path.is_file() else None

    name = Path(file).name
    for known in [name, *uses(name, text)]:
        texts[known] = text(known)


def said(expect):
    return expect.replace("_", " ").replace(":", ": ", 1) if ": " not in expect else expect


def lessons(catalogue):
    summary = (ROOT / "book/src/SUMMARY.md").read_text(encoding="utf-8")
    for title, page in re.findall(r"- \[(.+?)\]\((tutorial/.+?)\)", summary):
        group = {"kind": "Lessons", "title": title, "items": []}
        text = (ROOT / "book/src" / page).read_text(encoding="utf-8")
        heading, texts = title, {}
        for found in re.finditer(r"^##+ (.+)$|^```fence,(.*)\n([^`]*?)^```$|^```source,of=(.+)$", text, re.M):
            if found[1]:
                heading = found[1]
                continue
            if found[4]:
                beside(found[4], texts)
                if found[4].endswith(".fence"):
                    file = "examples/" + found[4]
                    read(catalogue, file)
                    expect = re.search(r"^//@ expect: (.+)$", catalogue["texts"][file], re.M)[1]
                    group["items"].append({"title": heading.replace("`", ""), "file": file, "expect": said(expect)})
                continue
            words = dict(word.split("=", 1) for word in found[2].split(",") if "=" in word)
            if "expect" not in words:
                continue
            known = words.get("file", "kernel.fence")
            name = f"{Path(page).stem}/{len(group['items']) + 1}/{known}"
            # What a block shows is what the blocks before it have put beside it.
            texts[known] = found[3]
            catalogue["texts"][name] = found[3]
            folder = str(Path(name).parent)
            others = uses(known, texts.get)
            for other in others:
                catalogue["texts"][f"{folder}/{other}"] = texts[other]
            if others:
                catalogue["uses"][name] = [f"{folder}/{other}" for other in others]
            group["items"].append({"title": heading.replace("`", ""), "file": name, "expect": said(words["expect"])})
        if group["items"]:
            catalogue["groups"].append(group)


def main():
    # Of findings the book has pages, one for all codes that begin alike.
    codes = sorted(page.stem for page in (ROOT / "book/src/reference/codes").glob("*.md"))
    catalogue = {"groups": [], "texts": {}, "uses": {}, "codes": codes}
    lessons(catalogue)
    examples(catalogue)
    n = sum(len(group["items"]) for group in catalogue["groups"])
    if n < 700:
        sys.exit(f"only {n} kernels were found: has the layout of the pages changed?")
    Path(sys.argv[1]).write_text(json.dumps(catalogue, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    print(f"{len(catalogue['groups'])} groups, {n} kernels")


main()
