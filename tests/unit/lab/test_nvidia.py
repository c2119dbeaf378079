"""NVIDIA's packages and images of a simulated Jetson."""

import ctypes
import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import tarfile
import time

import pytest
import yaml

from edgectl import content
from edgectl.errors import EdgectlError
from edgectl.lab import aptrepository, gobuild, imagearchive, inventory, lifecycle, nodes, nvidia, seed
from edgectl.lab.aptrepository import Package
from edgectl.lab.machine import Traits
from edgectl.lab.record import Lab, Node
from edgectl.lab.spec import NodeSpec
from edgectl.recording import catalogue

TREES = nvidia.source() / "packages"
CSV = "nvidia-l4t-init/etc/nvidia-container-runtime/host-files-for-container.d"
OPENPGP = content.root() / "plugins/module_utils/edgectl_openpgp.py"
TRAITS = Traits(cgroup_version=2, can_raise_limits=True, max_open_files=1024, max_processes=1024)
needs_dpkg = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")


def lines(path):
    return [line for line in (TREES / path).read_text().splitlines() if not line.startswith("#")]


def listed(kinds, path):
    entries = [line.split(", ") for line in lines(f"{CSV}/{path}")]
    return [name for kind, name in entries if kind in kinds]


@pytest.mark.parametrize("platform", ["jetson", "dgpu"])
def test_every_exact_dependency_can_be_met_where_a_node_looks(platform):
    places = [line.split("file:")[1].split()[0] for line in nvidia.sources_list(platform).splitlines()]
    wanted = [entry for entry in nvidia.packages() if f"{nvidia.MOUNT}/{entry.repository}" in places]
    offered = {(entry.package.name, entry.package.version) for entry in wanted}
    needed = {pair for entry in wanted for pair in re.findall(r"(\S+) \(= ([^)]+)\)", entry.package.depends)}
    assert needed
    assert needed <= offered
    # Beside a newer release apt gives up on an exact dependency ("held broken packages", apt 2.6).
    assert len({name for name, _ in offered}) == len(offered)


def test_the_lab_has_all_that_role_nvidia_driver_installs_on_its_simulated_pc():
    offered = {entry.package.name for entry in nvidia.packages() if entry.repository == "debian"}
    variables = yaml.safe_load((content.root() / "roles/nvidia_driver/vars/main.yml").read_text())
    release = catalogue.load(seed.USUAL["dgpu"]).files["/proc/sys/kernel/osrelease"].strip()
    assert {*variables["__nvidia_driver_debian_packages"], f"linux-headers-{release}"} <= offered


def test_nvidias_own_repository_offers_a_choice_of_toolkits():
    own = [entry for entry in nvidia.packages() if entry.repository.startswith("libnvidia-container/")]
    assert {entry.package.version for entry in own if entry.package.name == "nvidia-container-toolkit"} == {
        "1.16.2-1",
        "1.20.0-1",
    }


def test_the_device_nodes_that_are_made_are_those_that_containers_get():
    made = [line.split()[1] for line in lines("nvidia-l4t-init/usr/lib/tmpfiles.d/edgectl-lab-nvidia.conf")]
    devices = listed({"dev"}, "devices.csv")
    assert "/dev/nvhost-gpu" in made
    assert {path for path in made if not path.startswith("/dev/nvgpu") or path.count("/") > 3} <= set(devices)


def test_simulated_device_nodes_do_nothing():
    nodes_made = [line.split() for line in lines("nvidia-l4t-init/usr/lib/tmpfiles.d/edgectl-lab-nvidia.conf")]
    assert {words[-1] for words in nodes_made if words[0] == "c"} == {"1:3"}


def test_containers_get_the_library_and_its_links():
    [package] = [entry for entry in nvidia.packages() if entry.package.name == "nvidia-l4t-cuda"]
    assert package.library in listed({"lib"}, "drivers.csv")
    assert set(package.links) <= set(listed({"sym"}, "drivers.csv"))


def test_what_is_simulated_says_so():
    for entry in nvidia.packages():
        if not entry.programs and entry.package.name != "nvidia-container":
            assert "simulated" in entry.package.description
        assert "\n" not in entry.package.control.split("Description: ")[1].strip()


def built(name, tmp_path):
    [wanted] = [entry for entry in nvidia.packages() if entry.package.name == name]
    nvidia._build_library(wanted, tmp_path / "library.so", tmp_path / "log")
    return ctypes.CDLL(str(tmp_path / "library.so"))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize(("name", "cuda"), [("nvidia-l4t-cuda", 12060), ("libcuda1", 12020)])
def test_the_library_finds_no_device_and_says_that_it_is_simulated(tmp_path, name, cuda):
    driver = built(name, tmp_path)
    version = ctypes.c_int()
    assert driver.cuInit(0) == 100
    assert driver.cuDriverGetVersion(ctypes.byref(version)) == 0
    assert version.value == cuda
    assert driver.edgectl_lab_simulated() == 1


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_library_of_discrete_gpus_tells_the_drivers_version_and_that_it_is_simulated(tmp_path):
    nvml = built("libnvidia-ml1", tmp_path)
    version, count = ctypes.create_string_buffer(80), ctypes.c_uint(9)
    assert nvml.nvmlInit_v2() == 0
    assert nvml.nvmlSystemGetDriverVersion(version, 80) == 0
    assert version.value == b"535.261.03"
    assert nvml.nvmlSystemGetDriverVersion(version, 4) == 2
    assert nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0
    assert count.value <= 8
    assert nvml.nvmlDeviceGetHandleByIndex_v2(8, ctypes.byref(ctypes.c_void_p())) == 2
    assert nvml.edgectl_lab_simulated() == 1


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_nothing_ever_happens_on_a_simulated_gpu_and_who_waits_for_it_sleeps(tmp_path):
    nvml = built("libnvidia-ml1", tmp_path)
    device, events = ctypes.c_uint(0), ctypes.c_void_p()
    memory = (ctypes.c_ulonglong * 3)()
    assert nvml.nvmlDeviceGetMemoryInfo(ctypes.byref(device), memory) == 0
    assert list(memory) == [6 << 30, 6 << 30, 0]
    assert nvml.nvmlEventSetCreate(ctypes.byref(events)) == 0
    start = time.monotonic()
    assert nvml.nvmlEventSetWait_v2(events, None, 50) == 10
    assert time.monotonic() - start >= 0.05
    assert nvml.nvmlEventSetFree(events) == 0


def test_library_program_and_driver_tell_the_same_gpu():
    """What one of them names, another has to find."""
    uuid = "GPU-ed6ec710-0000-4000-8000-00000000000"
    driver = "nvidia-kernel-dkms/etc/edgectl-lab.d/root/proc/driver/nvidia"
    told = [
        nvidia.source() / "nvml.c",
        TREES / "nvidia-smi/usr/bin/nvidia-smi",
        TREES / driver / "gpus/0000:01:00.0/information",
    ]
    assert all(uuid in path.read_text() for path in told)
    versions = {e.package.version.partition("-")[0] for e in nvidia.packages() if e.package.name.startswith("libcuda1")}
    assert all(version in (TREES / driver / "version").read_text() for version in versions)


@pytest.mark.skipif(shutil.which("gpg") is None, reason="needs gpg")
def test_nvidias_repository_is_signed_by_the_key_that_lies_beside_it(tmp_path):
    spec = importlib.util.spec_from_file_location("edgectl_openpgp", OPENPGP)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    [signed] = [place for place, recipe in nvidia._repositories().items() if recipe.get("signed")]
    (tmp_path / signed).mkdir(parents=True)
    release = tmp_path / signed / "Release"
    release.write_text("Origin: test\n")
    nvidia._sign(tmp_path)
    key = tmp_path / nvidia._KEY
    [fingerprint] = module.fingerprints(module.dearmor(key.read_bytes()))
    assert (tmp_path / nvidia._FINGERPRINT).read_text().strip() == fingerprint
    ring = tmp_path / "key.gpg"
    ring.write_bytes(module.dearmor(key.read_bytes()))
    verify = ["gpgv", "--keyring", ring, release.with_name("Release.gpg"), release]
    assert subprocess.run(verify, capture_output=True, check=False).returncode == 0
    release.write_text("Origin: another\n")
    assert subprocess.run(verify, capture_output=True, check=False).returncode != 0


@needs_dpkg
def test_a_package_holds_its_files_with_the_rights_that_they_need(tmp_path):
    source = tmp_path / "program"
    source.write_text("#!/bin/sh\n")
    source.chmod(0o600)
    tree = tmp_path / "tree"
    (tree / "DEBIAN").mkdir(parents=True, mode=0o700)
    (tree / "DEBIAN/postinst").write_text("#!/bin/sh\n")
    (tree / "DEBIAN/triggers").write_text("")
    (tree / "etc").mkdir(mode=0o700)
    (tree / "etc/list").write_text("x")
    content = tmp_path / "content"
    aptrepository.lay_out(content, [tree], {"/usr/bin/tool": source}, {"/usr/bin/other": "tool"})
    archive = aptrepository.build(Package("tool", "1.0+x-1", "all", "a tool", "libc6"), content, tmp_path / "pool")
    shown = subprocess.run(["dpkg-deb", "--contents", archive], capture_output=True, text=True, check=True).stdout
    rights = {line.split()[5]: line.split()[0:2] for line in shown.splitlines()}
    assert rights["./usr/bin/tool"] == ["-rwxr-xr-x", "root/root"]
    assert rights["./usr/bin/other"][0].startswith("l")
    assert rights["./etc/list"] == ["-rw-r--r--", "root/root"]
    assert rights["./etc/"] == ["drwxr-xr-x", "root/root"]
    field = subprocess.run(["dpkg-deb", "--field", archive, "Depends"], capture_output=True, text=True, check=True)
    assert field.stdout == "libc6\n"
    assert (content / "DEBIAN/postinst").stat().st_mode & 0o111
    assert not (content / "DEBIAN/triggers").stat().st_mode & 0o111


@pytest.mark.parametrize(("distribution", "place"), [("r36.4", "dists/r36.4/main/binary-arm64/"), ("", "")])
def test_the_lists_of_a_repository_tell_what_its_archives_are(tmp_path, distribution, place):
    archive = tmp_path / "pool/tool_1_arm64.deb"
    archive.parent.mkdir()
    archive.write_bytes(b"archive")
    aptrepository.write_index(tmp_path, distribution, "arm64", {archive: Package("tool", "1", "arm64", "a tool")})
    entry = (tmp_path / place / "Packages").read_text()
    assert "Package: tool\n" in entry
    assert "Filename: pool/tool_1_arm64.deb\n" in entry
    assert f"SHA256: {hashlib.sha256(b'archive').hexdigest()}\n" in entry
    release = (tmp_path / (f"dists/{distribution}" if distribution else "") / "Release").read_text()
    listing = f"{hashlib.sha256(entry.encode()).hexdigest()} {len(entry)} "
    assert listing + ("main/binary-arm64/Packages" if distribution else "Packages") in release


def test_packages_without_content_still_have_a_place_in_the_lists(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.deb").write_bytes(b"")
    made = {tmp_path / f"{name}.deb": Package(name, "1", "all", name) for name in ("one", "two")}
    aptrepository.write_index(tmp_path, "", "amd64", made)
    assert (tmp_path / "Packages").read_text().count("\n\nPackage: ") == 1


def test_the_images_have_the_names_by_which_roles_ask_for_them(tmp_path, monkeypatch):
    recipe = yaml.safe_load((nvidia.source() / "images.yml").read_text())["device_plugin"]
    asked = yaml.safe_load(inventory.group_vars(Lab("lab", "10.213.1.0/24", ""), TRAITS, tmp_path))
    assert nvidia.image_name("device_plugin") == recipe["image"] == asked["device_plugin_image"]
    work = tmp_path / "work"
    work.mkdir()
    for program in recipe["programs"]:
        (work / program).write_bytes(b"")
    monkeypatch.setattr("edgectl.lab.debian.mmdebstrap", lambda *given: tarfile.open(given[3], "w").close())
    artifact = nvidia._device_plugin(tmp_path, work, tmp_path / "log")
    assert (artifact.kind, artifact.name, artifact.version) == ("images", "nvidia-device-plugin", recipe["version"])
    assert artifact.images == (recipe["image"],)
    # `nvidia-device-plugin` alone must find it too.
    config = imagearchive._config(imagearchive.Image(("a:1",), ()), "amd64", [])
    assert "/usr/bin" in config["config"]["Env"][0].removeprefix("PATH=").split(":")


def test_a_module_whose_sum_is_not_the_pinned_one_is_refused(tmp_path):
    go = tmp_path / "go"
    told = json.dumps({"Sum": "h1:seen=", "Dir": str(tmp_path)})
    go.write_text(f"#!/bin/sh\necho '{told}'\n")
    go.chmod(0o755)
    assert gobuild.module_source(go, "example.org/module", "v1.0.0", "h1:seen=") == tmp_path
    with pytest.raises(EdgectlError, match=r"example\.org/module v1\.0\.0 is not what the lab pins.*"):
        gobuild.module_source(go, "example.org/module", "v1.0.0", "h1:pinned=")


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = Lab("lab", "10.213.1.0/24", "", image="localhost/edgectl-lab-node:0")
    made.save()
    made.private_key.with_suffix(".pub").write_text("ssh-ed25519 AAAA\n")
    return made


def test_a_jetson_gets_its_drivers_packages_and_no_container_toolkit(lab):
    directory = seed.write_seed(lab, Node("orin1", "worker", "jetson", "10.213.1.12"))
    names = {line.split("=")[0] for line in (directory / "install").read_text().splitlines()}
    assert names == {"nvidia-l4t-cuda", "nvidia-l4t-init"}
    assert not names & {path.name for path in (directory / "packages").iterdir()}
    sources = (directory / "files" / nvidia.SOURCES_LIST.lstrip("/")).read_text()
    assert sources.splitlines() == [
        "deb [trusted=yes] file:/opt/edgectl-lab/jetson/common r36.4 main",
        "deb [trusted=yes] file:/opt/edgectl-lab/jetson/t234 r36.4 main",
    ]


@pytest.mark.parametrize(
    ("node", "needs"),
    [
        (NodeSpec("orin1", platform="jetson"), True),
        (NodeSpec("orin1", recording="orin-nx-jp6.2"), True),
        (NodeSpec("nuc1"), False),
        (NodeSpec("nuc1", recording="nuc-ubuntu24.04"), False),
        (NodeSpec("nano", platform="jetson", recording="orin-nano-jp5.1"), False),
        (NodeSpec("thor", platform="jetson", recording="thor-jp7"), False),
    ],
)
def test_only_the_jetpack_whose_packages_are_built_has_a_repository(lab, node, needs):
    assert seed.needs_repository(node) is needs
    directory = seed.write_seed(lab, Node(node.name, node.role, node.platform, "10.213.1.12", node.recording))
    assert (directory / "install").exists() is needs
    assert (directory / "files" / nvidia.SOURCES_LIST.lstrip("/")).exists() is needs


def test_a_node_with_a_discrete_gpu_gets_a_card_and_no_driver(lab):
    node = Node("gpu1", "worker", "dgpu", "10.213.1.12")
    assert seed.needs_repository(node.spec)
    directory = seed.write_seed(lab, node)
    assert not (directory / "install").exists()
    assert not (directory / "packages").exists()
    sources = (directory / "files" / nvidia.DEBIAN_LIST.lstrip("/")).read_text()
    assert sources == "deb [trusted=yes] file:/opt/edgectl-lab/jetson/debian bookworm main\n"
    card = directory / "files" / seed.OVERLAY / "sys/bus/pci/devices/0000:01:00.0"
    assert (card / "vendor").read_text() == "0x10de"
    mark = json.loads((directory / "files/etc/edgectl-lab").read_text())
    assert mark["platform"] == "dgpu"
    assert "gpu" in mark["simulated"]


def test_a_node_mounts_the_repository_where_its_list_of_sources_says(lab, tmp_path):
    node = Node("orin1", "worker", "jetson", "10.213.1.12")
    words = nodes.create_arguments(lab, node, tmp_path)
    assert f"--volume={tmp_path}:{nvidia.MOUNT}:ro" in words
    assert not any(nvidia.MOUNT in word for word in nodes.create_arguments(lab, node))


@pytest.mark.parametrize(("standing", "built"), [({}, True), ({"orin1": "exited"}, False)])
def test_the_repository_is_made_only_for_a_new_node(lab, monkeypatch, standing, built):
    monkeypatch.setattr(nodes, "states", lambda _: standing)
    asked = []
    monkeypatch.setattr("edgectl.lab.parts.Part.build", lambda part, _: asked.append(part.name) or part.directory)
    specs = [NodeSpec("nuc1"), NodeSpec("orin1", platform="jetson")]
    assert bool(lifecycle._repository(lab, specs, None)) is built
    assert asked == ["nvidia"] * built
