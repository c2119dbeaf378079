"""The artifact directory: manifest, image archive, versions, the Go toolchain."""

import base64
import hashlib
import io
import json
import tarfile
import zipfile

import pytest

from edgectl.errors import EdgectlError
from edgectl.lab import gobuild, imagearchive, kubernetes, manifest, toolchain
from edgectl.lab.imagearchive import Image, Layer
from edgectl.lab.manifest import Artifact

NAMES = [
    "registry.k8s.io/kube-apiserver:v1.35.4",
    "registry.k8s.io/kube-controller-manager:v1.35.4",
    "registry.k8s.io/kube-scheduler:v1.35.4",
    "registry.k8s.io/kube-proxy:v1.35.4",
    "registry.k8s.io/coredns/coredns:v1.13.1",
    "registry.k8s.io/pause:3.10.1",
    "registry.k8s.io/etcd:3.6.6-0",
]


@pytest.fixture
def written(tmp_path):
    (tmp_path / "kubeadm").write_bytes(b"program")
    manifest.write(tmp_path, [Artifact("kubeadm", "binary", "kubeadm", "v1.35.4", "amd64")])
    return tmp_path


def test_the_manifest_measures_each_file(written):
    document = json.loads((written / "manifest.json").read_text())
    assert document == {
        "schema_version": 1,
        "files": [
            {
                "path": "kubeadm",
                "kind": "binary",
                "name": "kubeadm",
                "version": "v1.35.4",
                "arch": "amd64",
                "sha256": hashlib.sha256(b"program").hexdigest(),
                "size": 7,
            }
        ],
    }


def test_an_image_archive_says_which_images_it_holds(tmp_path):
    (tmp_path / "images.tar").write_bytes(b"")
    manifest.write(tmp_path, [Artifact("images.tar", "images", "kubernetes", "v1.35.4", "amd64", tuple(NAMES))])
    assert json.loads((tmp_path / "manifest.json").read_text())["files"][0]["images"] == NAMES


def test_a_directory_is_complete_only_with_its_manifest_and_whole_files(written, tmp_path):
    assert manifest.complete(written)
    (written / "kubeadm").write_bytes(b"prog")
    assert not manifest.complete(written)
    (written / "kubeadm").unlink()
    assert not manifest.complete(written)
    assert not manifest.complete(tmp_path / "nothing")


def archive(tmp_path, name="images.tar"):
    program = tmp_path / "program"
    program.write_bytes(b"#!/bin/sh\n")
    path = tmp_path / name
    layer = Layer(files={"/usr/local/bin/all": program}, links={"/usr/local/bin/one": "all"})
    imagearchive.write(path, [Image(("example.org/one:1", "example.org/two:1"), (layer,), ("/one",))], "amd64")
    return path


def test_an_image_stands_under_all_its_names_and_its_digests_are_those_of_its_content(tmp_path):
    with tarfile.open(archive(tmp_path)) as tar:
        [entry] = json.load(tar.extractfile("manifest.json"))
        config = tar.extractfile(entry["Config"]).read()
        layers = [tar.extractfile(name).read() for name in entry["Layers"]]
    assert entry["RepoTags"] == ["example.org/one:1", "example.org/two:1"]
    assert entry["Config"] == hashlib.sha256(config).hexdigest() + ".json"
    digests = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]
    assert json.loads(config)["rootfs"]["diff_ids"] == digests
    assert json.loads(config)["config"]["Entrypoint"] == ["/one"]
    with tarfile.open(fileobj=io.BytesIO(layers[0])) as layer:
        assert layer.getmember("usr/local/bin/all").mode == 0o755
        assert layer.getmember("usr/local/bin/one").linkname == "all"


def test_the_same_input_makes_the_same_archive(tmp_path):
    assert archive(tmp_path, "a.tar").read_bytes() == archive(tmp_path, "b.tar").read_bytes()


def test_a_base_archives_devices_are_left_out_and_its_files_kept(tmp_path):
    base = tmp_path / "base.tar"
    with tarfile.open(base, "w") as tar:
        device = tarfile.TarInfo("dev/null")
        device.type = tarfile.CHRTYPE
        tar.addfile(device)
        file = tarfile.TarInfo("bin/sh")
        file.size = 2
        tar.addfile(file, io.BytesIO(b"sh"))
    imagearchive.write(tmp_path / "i.tar", [Image(("a:1",), (Layer(base=base),))], "amd64")
    with tarfile.open(tmp_path / "i.tar") as tar:
        layer = next(name for name in tar.getnames() if name.endswith(".tar"))
        with tarfile.open(fileobj=tar.extractfile(layer)) as inner:
            assert inner.getnames() == ["bin/sh"]


def test_every_image_that_kubeadm_asks_for_is_made_once(tmp_path):
    made = kubernetes.images(tmp_path, tmp_path / "tools.tar", NAMES)
    assert sorted(name for image in made for name in image.names) == sorted(NAMES)


def test_another_etcd_than_the_pinned_one_is_not_passed_off_under_kubeadms_name(tmp_path):
    names = [name.replace("etcd:3.6.6-0", "etcd:3.7.0-0") for name in NAMES]
    with pytest.raises(EdgectlError, match=r"etcd 3\.7\.0"):
        kubernetes.images(tmp_path, tmp_path / "tools.tar", names)


def test_the_release_comes_from_the_go_module():
    assert gobuild.kubernetes_version(kubernetes.source()).startswith("v1.")


def test_all_staging_modules_are_pinned_to_the_release_that_is_built():
    version = gobuild.kubernetes_version(kubernetes.source()).replace("v1.", "v0.", 1)
    replaced = [line.split() for line in (kubernetes.source() / "go.mod").read_text().splitlines() if "=>" in line]
    assert replaced
    assert {words[-1] for words in replaced} == {version}


def test_programs_know_the_release_they_are():
    flags = gobuild.linker_flags("v1.35.4")
    assert "-X k8s.io/component-base/version.gitVersion=v1.35.4" in flags
    assert "-X k8s.io/component-base/version.gitMinor=35" in flags


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return zipfile.ZipFile(buffer)


def test_a_modules_sum_is_gos_own():
    lines = "".join(
        f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in (("m@v1/a", b"1"), ("m@v1/b", b"2"))
    )
    expected = "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()
    assert toolchain.module_sum(zipped({"m@v1/b": b"2", "m@v1/a": b"1"})) == expected


def test_a_toolchain_unpacks_with_executable_programs(tmp_path):
    toolchain.unpack(zipped({"m@v1/bin/go": b"x", "m@v1/src/a.go": b"y"}), "m@v1/", tmp_path / "go")
    assert (tmp_path / "go/bin/go").stat().st_mode & 0o111
    assert not (tmp_path / "go/src/a.go").stat().st_mode & 0o111
