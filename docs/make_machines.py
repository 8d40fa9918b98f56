"""Write the tables of docs/machines.md from the catalogue: `make docs`. A test checks that they are current."""

from pathlib import Path

from collsim.topology.files.tables import machine_tables

PAGE = Path(__file__).with_name("machines.md")
MARK = "<!-- catalogue -->\n"

if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    PAGE.write_text(f"{text}{MARK}{machine_tables().strip()}\n", encoding="utf-8")
