"""Write the tables of docs/machines.md and docs/machines.zh.md from the catalogue: `make docs`. A test checks that they
are current."""

from pathlib import Path

from collsim.topology.files.machine_tables import build_machine_tables

#: A page for each language.
PAGES = {
    language: Path(__file__).with_name(name) for language, name in (("en", "machines.md"), ("zh", "machines.zh.md"))
}
MARK = "<!-- catalogue -->\n"


def page(language: str = "en") -> str:
    """The page, in English (`en`) or Chinese (`zh`), with the tables made anew."""
    before = PAGES[language].read_text(encoding="utf-8").split(MARK)[0]
    return f"{before}{MARK}{build_machine_tables(language).strip()}\n"


if __name__ == "__main__":
    for language, path in PAGES.items():
        path.write_text(page(language), encoding="utf-8")
