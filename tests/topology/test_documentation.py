"""docs/machines.md is what the catalogue says."""

import re
from pathlib import Path

import collsim as cs
from collsim.topology import parse_topology_text
from collsim.topology.files.tables import machine_tables

PAGE = (Path(__file__).parents[2] / "docs" / "machines.md").read_text()


def test_the_tables_are_those_of_the_catalogue():
    assert PAGE.split("<!-- catalogue -->\n")[1].strip() == machine_tables().strip(), (
        "run: python docs/make_machines.py"
    )


def test_the_yaml_on_the_page_is_read():
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert [parse_topology_text(block).ranks for block in blocks] == [2, 8, 16, 2]


def test_the_python_on_the_page_runs():
    block = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
    names = {}
    exec(block.replace("print(", "str("), names)
    assert names["m"].ranks == 16


def test_every_table_row_has_a_source():
    for row in machine_tables().split("### Fabrics")[0].splitlines():
        if row.startswith("| ") and "---" not in row:
            assert row.strip("| ").split(" | ")[-1].strip()
    assert cs.machines()["dgx-a100"].source in PAGE
