"""The options table that is made from a role's schema."""

import pytest

from tests import readme_tables

SPECS = """\
argument_specs:
  main:
    options:
      demo_port:
        type: int
        default: 51871
        description: UDP port.
      demo_mode:
        choices: [fast, safe]
        required: true
        description: [What to prefer., "C(a) | V(b)"]
"""


@pytest.fixture
def role(tmp_path):
    (tmp_path / "demo" / "meta").mkdir(parents=True)
    (tmp_path / "demo" / "meta" / "argument_specs.yml").write_text(SPECS)
    return tmp_path / "demo"


def test_each_option_is_a_row_with_type_default_and_purpose(role):
    rows = readme_tables.table(role).splitlines()
    assert "| `demo_port` | int | `51871` | UDP port. |" in rows
    assert "| `demo_mode` | `fast` \\| `safe` | **required** | What to prefer. `a` \\| `b` |" in rows


def test_only_the_part_between_the_markers_changes(role):
    text = f"# demo\n\n{readme_tables.BEGIN}\nold\n{readme_tables.END}\n\nMore.\n"
    new = readme_tables.with_table(text, role)
    assert new.startswith("# demo\n")
    assert new.endswith("\n\nMore.\n")
    assert "old" not in new
    assert readme_tables.with_table(new, role) == new


def test_a_readme_without_markers_gets_a_section_of_options(role):
    assert "## Options" in readme_tables.with_table("# demo\n", role)
