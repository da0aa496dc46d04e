#!/usr/bin/env python3
"""Write the members of results as tables, from the structs' declarations in the public headers.

    scripts/result_fields.py --into FOLDER    write those in C below FOLDER, as every build does
    scripts/result_fields.py                  write those in doc/fields.md, where they differ
    scripts/result_fields.py --check          fail where they differ

What writes a result as JSON, reads it back, keeps it in a checkpoint, shows it in Python or
describes it in doc/ goes by these tables, so a figure has its name, type and meaning in one place.

The comment of a member may end in directives:

    [node]      an index of a node, which JSON has by name
    [whole]     of the whole result, not of one sample: checkpoints do not hold it
    [apart]     JSON has it in another form, which is written by hand
    [by TAG]    an array with an element for each name of enum TAG: an object with these names in JSON
    [each LIST] an array with an element for each of a list of the document, whose names Python has them by
    [in LIST]   an index into a list of the document, -1: none; JSON has that element's name
    [count F]   F counts the elements; without it the singular with _count does (nodes: node_count), or of items and counts `count`

A member whose comment begins with "private:" is in no table. A pointer to a struct that nothing counts is to one or none. Structs begin
with the member that says whether there is anything to say: JSON leaves a struct out where that is 0, false or no text."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from headers import ROOT, parse_headers  # noqa: E402

# the file and the structs that begin it: those inside them follow, unless an earlier file has them
FILES = {
    "analysis/audit/audit_fields.c": ["ulp_audit", "ulp_format", "ulp_unjudged_list"],
    "analysis/overflow/overflow_fields.c": ["ulp_overflow_forecast"],
    "analysis/compare/comparison_fields.c": ["ulp_comparison"],
    "analysis/search/search_fields.c": ["ulp_search"],
    "analysis/prove/prove_fields.c": ["ulp_proof"],
    "analysis/lint/lint_fields.c": ["ulp_lint_result"],
    "analysis/tolerance/tolerance_fields.c": ["ulp_tolerance"],
    "analysis/between/between_fields.c": ["ulp_between"],
    "analysis/scales/scales_fields.c": ["ulp_scales"],
    "analysis/doctor/doctor_fields.c": ["ulp_doctor"],
    "analysis/fix/fix_fields.c": ["ulp_fix"],
    "analysis/engine/engine_fields.c": ["ulp_engine_map", "ulp_wishes"],
}
DECLARED = "analysis/writing/structs.h"
# the page with tables of members between these lines: of a struct and of those inside it that stand nowhere before
PAGE = "doc/fields.md"
MEMBERS = re.compile(r"(<!-- members of struct (\w+) and those inside, made by scripts/result_fields.py -->\n).*?(<!-- end -->)", re.S)
LEAVES = {"ulp_arithmetic", "ulp_format"}  # of which a result says the name
KINDS = {
    "c_bool": "FLAG", "c_int": "INT", "c_int64": "INT64", "c_uint64": "UINT64", "c_uint32": "UINT32", "c_uint": "UINT",
    "c_size_t": "SIZE", "c_ssize_t": "INDEX", "c_double": "DOUBLE",
}
DIRECTIVE = re.compile(r"\[(node|whole|apart|by \w+|in \w+|each \w+|count \w+)\]")


def short(name):
    return name.removeprefix("ulp_")


class Member:
    """One member of a struct: how it is declared, what counts it and what its comment says."""

    def __init__(self, parser, struct, name, kind):
        said = parser.said[struct, name]
        self.struct, self.name = struct, name
        self.private = said.startswith("private:")
        self.flags = DIRECTIVE.findall(said)
        self.meaning = " ".join(DIRECTIVE.sub("", said).split())
        self.function = kind[0] == "function"
        self.counts = False
        self.count = None
        if not self.function:
            (self.base, self.tag), self.stars = kind[1]
            self.lengths = kind[2]
        self.text = not self.function and (self.base, self.tag) == ("scalar", "c_char")

    def directive(self, word):
        return next((flag.split()[1] for flag in self.flags if flag.startswith(word + " ")), None)

    def array(self):
        """Whether it has elements, as a pointer or in the struct."""
        return self.stars > self.text or bool(self.lengths) and not (self.text and self.stars == 0)


def members_of(parser, struct):
    members = [Member(parser, struct, name, kind) for name, kind in parser.structs[struct]]
    members = [m for m in members if not m.private and not m.function]
    named = {m.name: m for m in members}
    for m in members:
        if not m.array():
            continue
        singular = re.sub(r"(ie)?s$", lambda end: "y" if end[1] else "", m.name)
        candidates = [m.directive("count"), f"{m.name}_count", f"{singular}_count", "count" if m.name in ("items", "counts") else None]
        m.count = next((c for c in candidates if c in named), None)
        if m.directive("by"):
            m.count = None
        if m.count:
            named[m.count].counts = True
        elif m.stars and m.base != "struct":
            raise SystemExit(f"struct {struct}: what counts {m.name}? [count MEMBER], or private:")
    for m in members:  # a count of nothing but what is of the whole is, too
        if m.counts and all("whole" in o.flags for o in members if o.count == m.name):
            m.flags.append("whole")
    return members


class Tables:
    def __init__(self, parser):
        self.parser = parser
        self.words = {}  # tag of an enum -> the function that names its values
        for name, (result, arguments) in parser.functions.items():
            first = arguments[0] if arguments else None
            if result == (("scalar", "c_char"), 1) and first and first[0] == "value" and first[1][0][0] == "enum" and not first[1][1]:
                self.words.setdefault(first[1][0][1], (name, len(arguments)))
        self.files = {}
        seen = set()
        for file, roots in FILES.items():
            order = []
            for root in roots:
                self.reach(root, seen, order)
            self.files[file] = order

    def members(self, struct):
        return [m for m in members_of(self.parser, struct) if struct not in LEAVES or m.name == "name"]

    def reach(self, struct, seen, order):
        if struct in seen:
            return
        seen.add(struct)
        for m in self.members(struct):
            if m.base == "struct":
                if m.tag not in self.parser.structs:
                    raise SystemExit(f"struct {struct}: {m.name} is of a struct that the headers hide: private:")
                self.reach(m.tag, seen, order)
        order.append(struct)

    def count_of_words(self, tag):
        names = self.parser.enums[tag]
        return len(names) - (1 if re.search(r"_(COUNT|CAUSES)$", names[-1]) else 0)

    def said(self, m):
        """Whether it counts nothing but what JSON has in another form, so that no list has this length."""
        return m.counts and "apart" not in m.flags and all("apart" in o.flags for o in self.members(m.struct) if o.count == m.name)

    def row(self, m):
        where = f"offsetof(struct {m.struct}, {m.name})"
        parts = [f'.name = "{m.name}"']
        leaf = m.base == "struct" and m.tag in LEAVES
        if m.text and m.stars == 0:
            parts.append(".kind = ULP_FIELD_LETTERS")
        elif m.text:
            parts.append(".kind = ULP_FIELD_TEXT")
        elif m.base == "struct":
            parts.append(".kind = ULP_FIELD_NAMED" if leaf else ".kind = ULP_FIELD_STRUCT")
        elif m.base == "enum":
            parts.append(".kind = ULP_FIELD_WORD" if m.tag in self.words else ".kind = ULP_FIELD_INT")
        else:
            parts.append(f".kind = ULP_FIELD_{KINDS[m.tag]}")
        parts.append(f".offset = {where}")
        if m.base == "struct":
            parts.append(f".type = &ulp_struct_{short(m.tag)}")
        if m.base == "enum" and m.tag in self.words:
            parts.append(f".word = word_{short(m.tag)}, .words = {self.count_of_words(m.tag)}")
        if m.directive("by"):
            parts.append(f".key = word_{short(m.directive('by'))}")
        if m.array() and m.lengths:
            parts.append(f".length = {m.lengths[0]}")
        if m.array() and m.stars:
            parts.append(".points = true")
        if m.count:
            counter = next(o for o in members_of(self.parser, m.struct) if o.name == m.count)
            parts.append(f".counted = true, .count = offsetof(struct {m.struct}, {m.count})")
            if counter.tag == "c_int":
                parts.append(".count_is_int = true")
        for flag, field in (("node", "node"), ("whole", "whole"), ("apart", "apart")):
            if flag in m.flags:
                parts.append(f".{field} = true")
        if m.directive("in"):
            parts.append(f'.list = "{m.directive("in")}"')
        if m.counts:
            parts.append(".counts = true")
        if self.said(m):
            parts.append(".said = true")
        return f"    {{{', '.join(parts)}}},"

    def source(self, file):
        structs = self.files[file]
        lines = ["/* Made by scripts/result_fields.py of the public headers: change these. */", '#include "analysis/writing/structs.h"', "",
                 "#include <ulpscope.h>", "", "/* clang-format off */", ""]
        rows, used = [], set()
        for struct in structs:
            members = self.members(struct)
            rows.append(f"static const struct ulp_field {short(struct)}[] = {{")
            rows += [self.row(m) for m in members]
            rows += ["};", f"const struct ulp_struct ulp_struct_{short(struct)} = {{",
                     f'    "{struct}", sizeof(struct {struct}), {short(struct)}, sizeof {short(struct)} / sizeof *{short(struct)}}};', ""]
            used |= {m.tag for m in members if m.base == "enum" and m.tag in self.words} | {m.directive("by") for m in members if m.directive("by")}
        for tag in sorted(used):
            function, count = self.words[tag]
            lines += [f"static const char *word_{short(tag)}(int value)", "{",
                      f"    return {function}((enum {tag})value{', NULL' * (count - 1)});", "}"]
        return "\n".join(lines + ([""] if used else []) + rows).rstrip("\n") + "\n"

    def declared(self):
        structs = sorted(short(s) for order in self.files.values() for s in order)
        lines = ["/* Made by scripts/result_fields.py: the structs of results whose members are in tables. */",
                 "#pragma once", "", '#include "analysis/writing/fields.h"', "",
                 "/* clang-format off */"]
        lines += [f"extern const struct ulp_struct ulp_struct_{s};" for s in structs]
        return "\n".join(lines + [""])

    def described_with(self, struct, seen):
        """A heading and a table of the struct and of each inside it, from the whole to its parts."""
        waiting, lines = [struct], []
        while waiting:
            struct = waiting.pop(0)
            if struct in seen:
                continue
            seen.add(struct)
            waiting += [m.tag for m in self.members(struct) if m.base == "struct" and m.tag not in LEAVES and "apart" not in m.flags]
            lines.append(f"\n### {short(struct).replace('_', ' ')}\n\n{self.described(struct)}")
        return "".join(lines) + "\n"

    def described(self, struct):
        """A table of the struct's members in JSON; those with one comment stand together."""
        rows = []
        for m in self.members(struct):
            if m.counts and not self.said(m) or "apart" in m.flags:
                continue
            counter = next((o.meaning for o in self.members(struct) if o.name == m.count and o.meaning != m.meaning), "")
            meaning = "; ".join(filter(None, [counter, m.meaning]))
            if rows and rows[-1][1] == meaning:
                rows[-1][0].append(m)
            else:
                rows.append(([m], meaning))
        lines = ["| name | is | meaning |", "|---|---|---|"]
        for members, meaning in rows:
            for c, said in (("NULL: ", "left out: "), ("-1: ", "left out: "), ("NaN: ", "`null`: "), ("|", "\\|")):
                meaning = meaning.replace(c, said)
            kinds = list(dict.fromkeys(self.json_kind(m) for m in members))
            lines.append(f"| {', '.join(f'`{m.name}`' for m in members)} | {', '.join(kinds)} | {meaning} |")
        return "\n".join(lines) + "\n"

    def json_kind(self, m):
        if m.text:
            kind = "text"
        elif "node" in m.flags:
            kind = "name of a node"
        elif m.directive("in"):
            kind = f"name in `{m.directive('in')}`"
        elif m.base == "struct":
            kind = "name" if m.tag in LEAVES else f"[{short(m.tag).replace('_', ' ')}](#{short(m.tag).replace('_', '-')})"
        elif m.base == "enum":
            kind = "word" if m.tag in self.words else "number"
        else:
            kind = {"c_bool": "flag", "c_double": "number"}.get(m.tag, "whole number")
        if m.directive("by"):
            return f"{kind} by {short(m.directive('by')).replace('_', ' ')}"
        return f"list of {kind}" if m.count or (m.lengths and not m.text) else kind

    def text(self, file):
        if file == PAGE:
            seen = set()
            return MEMBERS.sub(lambda found: found[1] + self.described_with(found[2], seen) + found[3], (ROOT / file).read_text())
        return self.declared() if file == DECLARED else self.source(file)


def main():
    tables = Tables(parse_headers())
    if sys.argv[1:2] == ["--into"]:
        files, folder = [*FILES, DECLARED], pathlib.Path(sys.argv[2])
    else:
        files, folder = [PAGE], ROOT
    check, stale = sys.argv[1:] == ["--check"], []
    for file in files:
        path, text = folder / file, tables.text(file)
        if path.exists() and path.read_text() == text:
            continue
        stale.append(file)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if check and stale:
        raise SystemExit(f"not as the headers are: {' '.join(stale)}")


if __name__ == "__main__":
    main()
