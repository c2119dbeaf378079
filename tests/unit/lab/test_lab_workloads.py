"""The lab's images of the catalogue's entries: recipes, names, and where a virtual environment's files come to lie."""

from __future__ import annotations

import io
import json
import re
import tarfile
from pathlib import Path

import pytest

from edgectl.errors import UsageError
from edgectl.lab import artifacts, imagearchive, workloads
from edgectl.lab.imagearchive import Image, Layer
from edgectl.workloads import catalogue

PINNED = re.compile(r"[a-z0-9-]+==[^ ]+")
RECIPE = {"version", "base", "suite", "packages", "environment", "entrypoint"}
BASE = {"suite", "packages", "python"}


@pytest.mark.parametrize("entry", workloads.names())
def test_every_recipe_is_of_an_entry_and_names_what_it_is_made_of(entry: str) -> None:
    assert entry in catalogue.read()
    recipe = workloads.recipe(entry)
    assert set(recipe) <= RECIPE
    assert recipe["version"]
    assert "base" in recipe or {"suite", "packages"} <= set(recipe)
    if "base" in recipe:
        assert set(workloads.base(recipe["base"])) == BASE
    requirements = workloads.source(entry) / "requirements.txt"
    if requirements.exists():
        lines = [line for line in requirements.read_text().splitlines() if not line.startswith("#")]
        assert [line for line in lines if not PINNED.fullmatch(line)] == []
        assert "base" in recipe


@pytest.mark.parametrize("entry", workloads.names())
def test_an_image_goes_by_every_name_that_the_catalogue_has_for_it(entry: str) -> None:
    images = catalogue.find(entry).data["images"]
    assert set(workloads.image_names(entry)) >= {image["image"] for image in images if "image" in image}


def test_the_tags_of_a_repository_are_names_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "workloads" / "one").mkdir(parents=True)
    images = [{"repository": "example.org/one", "tags": ["r35", "r36"]}, {"image": "example.org/two:1"}]
    (tmp_path / "workloads" / "one" / "workload.yml").write_text(json.dumps({"images": images}))
    monkeypatch.setattr(workloads.content, "root", lambda: tmp_path)
    assert workloads.image_names("one") == ("example.org/one:r35", "example.org/one:r36", "example.org/two:1")


def test_names_are_given_with_commas_or_all_at_once() -> None:
    assert workloads.parse("all") == workloads.names()
    assert workloads.parse("jax, jupyterlab,jax") == ("jax", "jupyterlab")
    with pytest.raises(UsageError) as caught:
        workloads.parse("jax,jupiterlab")
    assert caught.value.what == "the lab has no image of jupiterlab"
    assert caught.value.fix == "did you mean jupyterlab?"
    with pytest.raises(UsageError):
        workloads.parse("jax,")


def test_without_a_wish_no_image_of_an_entry_is_among_the_artifacts() -> None:
    assert artifacts.directory() == artifacts.directory([])
    assert artifacts.directory(["jax"]) != artifacts.directory()


def test_another_base_or_another_name_in_the_catalogue_makes_another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    before = workloads.part("jax").directory
    monkeypatch.setattr(workloads, "image_names", lambda entry: ("example.org/jax:1",))
    renamed = workloads.part("jax").directory
    assert renamed != before
    (base,) = workloads.part("jax").needs
    monkeypatch.setattr(workloads, "_base_part", lambda name: type(base)("other", base.source, 2, base.fill))
    assert workloads.part("jax").directory != renamed


def test_what_pip_made_comes_to_lie_as_in_a_virtual_environment(tmp_path: Path) -> None:
    packages, venv = tmp_path / "packages", tmp_path / "venv"
    for name, text in {
        "bin/jupyter": f"#!{tmp_path}/python3.13\nprint()\n",
        "bin/tool": "#!/bin/sh\n",
        "share/jupyter/kernels/python3/kernel.json": "{}",
        "jupyter_core/__init__.py": "",
    }.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(text)
    workloads._arrange(packages, venv, "/opt/one", "3.11")
    assert (venv / "bin" / "jupyter").read_text() == "#!/opt/one/bin/python3\nprint()\n"
    assert (venv / "bin" / "tool").read_text() == "#!/bin/sh\n"
    assert (venv / "share/jupyter/kernels/python3/kernel.json").exists()
    assert (venv / "lib/python3.11/site-packages/jupyter_core/__init__.py").exists()
    assert not (venv / "lib/python3.11/site-packages/bin").exists()
    assert (venv / "bin" / "python3").readlink() == Path("/usr/bin/python3")


def test_wheels_are_those_for_the_glibc_of_the_image() -> None:
    names = workloads._platforms("arm64")
    assert {"manylinux_2_17_aarch64", "manylinux_2_36_aarch64", "manylinux2014_aarch64"} <= set(names)
    assert "manylinux_2_37_aarch64" not in names


def inside(tar: tarfile.TarFile, name: str) -> bytes:
    file = tar.extractfile(name)
    assert file
    return file.read()


def test_a_tree_keeps_modes_and_links_and_is_roots_whoever_made_it(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "bin").mkdir(parents=True)
    (tree / "bin" / "run").write_text("#!/bin/sh\n")
    (tree / "bin" / "run").chmod(0o755)
    (tree / "data").write_text("text")
    (tree / "data").chmod(0o644)
    (tree / "bin" / "again").symlink_to("run")
    environment = {"PATH": "/opt/one/bin", "HOME": "/root"}
    images = [Image(("a:1",), (Layer(trees={"/opt/one": tree}),), environment=environment)]
    for name in ("a.tar", "b.tar"):
        imagearchive.write(tmp_path / name, images, "amd64")
        (tree / "data").touch()
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    with tarfile.open(tmp_path / "a.tar") as tar:
        layer = next(name for name in tar.getnames() if name.endswith(".tar"))
        (image,) = json.loads(inside(tar, "manifest.json"))
        config = json.loads(inside(tar, image["Config"]))
        with tarfile.open(fileobj=io.BytesIO(inside(tar, layer))) as inner:
            found = {member.name: member for member in inner}
    assert config["config"]["Env"] == ["HOME=/root", "PATH=/opt/one/bin"]
    assert found["opt/one/bin/run"].mode == 0o755
    assert found["opt/one/data"].mode == 0o644
    assert found["opt/one/bin/again"].linkname == "run"
    assert {(member.uid, member.gid, member.mtime, member.uname) for member in found.values()} == {(0, 0, 0, "")}


def test_each_distribution_has_its_own_artifact_directory() -> None:
    assert artifacts.directory((), "k3s") != artifacts.directory()
