"""How a page reads, in figures: words in its sentences, and words that the style of this project does not use.

`python tests/support/prose.py` prints the figures of every page; with names of pages, each finding with its line.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
#: A sentence of more words is split.
LONGEST = 40
#: Half of a page's sentences have fewer words.
MEDIAN = 18

#: What is not written (a pattern, whatever its case), and what to write in its place.
BANNED = {
    # metaphors that only those know who wrote the program
    r"houses?": "package, architecture",
    r"rooms?": "package; of a class: classroom, classroom session",
    r"doors?": "entry point, interface; of the server: access control",
    r"walls?": "sandbox, isolation",
    r"mend(s|ed|ing)?": "fix, repair",
    r"(at|in) (his|her|its|their) place": "at its position",
    r"tak(es?|ing) turns": "alternate",
    r"to be had": "available",
    # words of another age or of nobody's
    r"beside(s)?": "next to, compared with, in addition to",
    r"apart(?! from)": "difference, separately",
    r"anew": "again",
    r"whoever|whatever|wherever": "anyone who, any; or leave it out",
    r"by far|at all(?! (ranks|gpus|sizes|levels|of))|for ever": "leave it out",
    r"elsewhere": "in other tools, on another machine",
    r"all the same|as it were": "leave it out",
    r"of (its|their|your|his|her|one's) own": "own, custom, separate",
    r"for real": "measured",
    r"nobody": "no one, no source, no rank",
    r"goes? on|went on|going on": "continue, resume",
    r"works? out": "compute",
    r"(far|\d %|%) off": "error, within N % of the measurement",
    r"times (slower|faster)": "takes N times as long, runs N times as fast",
    r"the misses first": "largest errors first",
    r"predicted right": "within N % of the measurement",
    r"as (well )?asked": "as configured",
    r"trouble": "fault",
    r"out of place(?! )": "out-of-place",
    r"cannot avoid to": "must at least",
    # the thing that a sentence is about acts: somebody asks, tells, holds, says
    r"(is|are|was|were|be|been) (asked|told|said|held|bidden)": "ask, report, store, compare: name who does it",
    r"held (to|against)": "compared with, tested against",
    r"stands? (in|at|on|for|there|here|beside|next|between|before|below|above)": "is in, is placed, means",
    r"(has|have|had) no (say|use) ": "does not need",
    # words in the order of another language
    r"at the workers": "workers",
    r"and who \w+": "and users who",
    r"(^|[.;:] )who \w+ (?![^.?]*\?)": "users who, a rank that",
    r"so as to": "to",
    r"(what|which) there is": "the existing",
    r"than there (is|are)": "than exist",
    r"what (waits|takes long|is new|is sent|is read|it says|one)\b": "name the thing: exposed time, long runs, messages",
    r"it is to be|is to be \w+ed": "must be",
}
PATTERNS = {re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.I): advice for pattern, advice in BANNED.items()}

CATALOGS = ROOT / "collsim" / "locale" / "en"
FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
#: What is no prose: comments, directives of generated reference, headings, tables, quoted output, pictures.
NO_PROSE = re.compile(
    r"<!--(?:.|\n)*?-->|^:::.*$(?:\n {4}.*$)*|^#.*$|^ *\|.*$|^> .*$|^!\[.*$|^\[[^]]+\]: .*$", re.MULTILINE
)
ITEM = re.compile(r"^ *(?:[-*]|\d+\.) ", re.MULTILINE)
END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][)\"”]))\s+(?=\S)|\n\s*\n")
#: A dot that ends no sentence.
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|vs|etc|cf|al|Fig|Sec|No|v)\.(?= )")


@dataclass(frozen=True)
class Prose:
    """The figures of one page.

    Attributes:
        lengths: words of each sentence.
        long: sentences of more words than `LONGEST`.
        findings: words that are not written, each with its sentence and what to write.
    """

    lengths: tuple[int, ...]
    long: tuple[str, ...]
    findings: tuple[tuple[str, str, str], ...]

    @property
    def median(self) -> float:
        """Words of the sentence in the middle."""
        return float(median(self.lengths)) if self.lengths else 0.0


def split_sentences(page: str) -> list[str]:
    """Sentences of a page in Markdown, without code, tables, headings and pictures; `code` in place of inline code."""
    text = NO_PROSE.sub("\n\n", FENCE.sub("\n\n", page))
    text = re.sub(r"``.+?``|`[^`]*`", "code", text)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = ABBREVIATION.sub(r"\1", ITEM.sub("\n\n", text))
    text = re.sub(r"<[^>]+>|\*\*", "", text)
    return [" ".join(sentence.split()) for sentence in END.split(text) if sentence and sentence.strip(" \n.>-")]


def split_cells(page: str) -> list[str]:
    """Headings and cells of tables of a page in Markdown; `code` in place of inline code."""
    lines = re.findall(r"^(?:#+ .*|\|.*)$", FENCE.sub("", page), re.MULTILINE)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", "\n".join(lines)))
    return [cell for line in text.splitlines() for cell in re.split(r"^#+ | \| ", line.strip("| ")) if cell]


def find_refused(texts: Iterable[str]) -> tuple[tuple[str, str, str], ...]:
    """Words that are not written, each with its text and what to write."""
    return tuple(
        (match.group(0).strip(), text, advice)
        for text in texts
        for pattern, advice in PATTERNS.items()
        for match in pattern.finditer(text)
    )


def count_words(sentence: str) -> int:
    """Words of a sentence; a number with its unit is two."""
    return len(re.findall(r"[^\s\-–—]*\w[^\s]*", sentence))


def measure(page: str) -> Prose:
    """The figures of a page in Markdown."""
    sentences = split_sentences(page)
    lengths = tuple(map(count_words, sentences))
    long = tuple(text for text, length in zip(sentences, lengths, strict=True) if length > LONGEST)
    findings = find_refused(sentences)
    return Prose(lengths, long, findings)


def list_pages() -> list[Path]:
    """Every English page under version control."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [
        ROOT / name for name in sorted(listed.splitlines()) if not name.endswith(".zh.md") and (ROOT / name).exists()
    ]


def read_catalogs() -> dict[str, str]:
    """English texts of the app, lessons and messages by `file: key`, with a word in place of each value."""
    texts = {}
    for path in sorted(CATALOGS.rglob("*.json")):
        name = path.relative_to(CATALOGS).as_posix()
        for key, text in json.loads(path.read_text(encoding="utf-8")).items():
            texts[f"{name}: {key}"] = text
    return {name: re.sub(r"\{[^{}]*\}", "value", text) for name, text in texts.items()}


def main(names: list[str]) -> None:
    """Print the figures of all pages, or each finding on those that are named."""
    paths = [Path(name).resolve() for name in names] or list_pages()
    print(f"{'page':44}{'sentences':>10}{'median':>8}{'longest':>8}{'over ' + str(LONGEST):>8}{'words':>7}")
    for path in paths:
        prose = measure(path.read_text(encoding="utf-8"))
        name = path.relative_to(ROOT).as_posix()
        longest = max(prose.lengths, default=0)
        print(
            f"{name:44}{len(prose.lengths):10}{prose.median:8.1f}{longest:8}{len(prose.long):8}{len(prose.findings):7}"
        )
        if names:
            for text in prose.long:
                print(f"  {count_words(text)} words: {text}")
            for word, text, advice in prose.findings:
                print(f"  {word!r} ({advice}): {text}")


if __name__ == "__main__":
    main(sys.argv[1:])
