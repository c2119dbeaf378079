"""Write every picture of docs/screens anew."""

from tests.screens import DIRECTORY, SCREENS, svg

DIRECTORY.mkdir(exist_ok=True)
for name in SCREENS:
    (DIRECTORY / f"{name}.svg").write_text(svg(name), encoding="utf-8")
    print(f"docs/screens/{name}.svg")
