"""Which driver of a distribution is taken for a discrete GPU, and from where Debian's comes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from edgectl.compat import tables

FILE = Path(__file__).parents[3] / "plugins" / "filter" / "edgectl_driver.py"
SPEC = importlib.util.spec_from_file_location("edgectl_driver", FILE)
assert SPEC
assert SPEC.loader
driver = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(driver)

# The form: github.com/mk-pmb/ubuntu-drivers-helper-pmb, docs/drivers_list_output_format.md.
LISTED = """\
nvidia-driver-470-server, (kernel modules provided by linux-modules-nvidia-470-server-generic)
nvidia-driver-580, (kernel modules provided by linux-modules-nvidia-580-generic)
nvidia-driver-570-server-open, (kernel modules provided by linux-modules-nvidia-570-server-open-generic)
nvidia-driver-570-server, (kernel modules provided by linux-modules-nvidia-570-server-generic)
nvidia-driver-580-server, (kernel modules provided by nvidia-dkms-580-server)
"""


@pytest.mark.parametrize(
    ("asked", "branch"),
    [
        ({}, "570-server"),
        ({"branch": "580"}, "580-server"),
        ({"branch": "570-server-open"}, "570-server-open"),
        ({"branch": "570"}, "570-server"),
        ({"cuda": "13"}, "580-server"),
        ({"cuda": "12"}, "570-server"),
    ],
)
def test_ubuntus_newest_server_driver_is_taken_that_ubuntu_has_built(asked: dict[str, str], branch: str) -> None:
    assert driver.ubuntu_driver(LISTED, **asked)["branch"] == branch


def test_a_drivers_packages_are_those_without_a_desktop() -> None:
    assert driver.ubuntu_driver(LISTED, branch="570-server-open") == {
        "branch": "570-server-open",
        "built": True,
        "packages": [
            "linux-modules-nvidia-570-server-open-generic",
            "nvidia-headless-no-dkms-570-server-open",
            "nvidia-utils-570-server",
        ],
    }


def test_a_module_that_is_built_on_the_host_is_told_apart() -> None:
    found = driver.ubuntu_driver(LISTED, branch="580-server")
    assert not found["built"]
    assert found["packages"][0] == "nvidia-dkms-580-server"


@pytest.mark.parametrize(("branch", "cuda"), [("999", ""), ("470", "12"), ("57", "")])
def test_where_none_fits_there_is_none(branch: str, cuda: str) -> None:
    assert driver.ubuntu_driver(LISTED, branch, cuda) == {}


def test_the_oldest_drivers_are_those_of_the_compatibility_table() -> None:
    for row in tables.shipped().drivers.drivers:
        assert driver.runs_cuda(row.driver, row.cuda)
        assert not driver.runs_cuda(f"{int(row.driver) - 1}.99.01", row.cuda)
    assert driver.runs_cuda("1.0", "")


OWN = ["contrib", "non-free", "non-free-firmware"]
DEB822 = """\
Types: deb
URIs: http://mirror.lan/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

# Debian's own
Types: deb deb-src
URIs: mirror+file:///etc/apt/mirrors/debian.list
Suites: bookworm bookworm-updates
Components: main non-free-firmware
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


def test_debians_other_components_come_from_the_hosts_own_address_by_its_own_key() -> None:
    assert driver.debian_source(DEB822, "bookworm", OWN).splitlines()[1:] == [
        "Types: deb",
        "URIs: mirror+file:///etc/apt/mirrors/debian.list",
        "Suites: bookworm",
        "Components: contrib non-free non-free-firmware",
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg",
    ]


def test_the_old_form_of_a_source_is_read_too() -> None:
    listed = (
        "# deb cdrom:[Debian GNU/Linux 12]/ bookworm main\n"
        "deb-src http://other.lan/debian/ bookworm main\n"
        "deb [arch=amd64 signed-by=/k.gpg] http://mirror.lan/debian bookworm main # ours\n"
    )
    assert driver.debian_source(listed, "bookworm", ["non-free"]).splitlines()[2:] == [
        "URIs: http://mirror.lan/debian",
        "Suites: bookworm",
        "Components: non-free",
        "Signed-By: /k.gpg",
    ]


def test_a_key_that_stands_in_the_source_goes_along() -> None:
    inline = DEB822.replace(
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg",
        "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n -----END PGP PUBLIC KEY BLOCK-----",
    )
    found = driver.debian_source(inline, "bookworm", OWN)
    assert "Signed-By: -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n -----END" in found


@pytest.mark.parametrize(
    "text", ["", "deb http://packages.lan/x bookworm contrib\n", DEB822.replace("bookworm", "trixie")]
)
def test_without_debian_among_the_sources_there_is_nothing_to_add_to(text: str) -> None:
    assert driver.debian_source(text, "bookworm", OWN) == ""


def test_a_source_that_is_switched_off_is_none() -> None:
    assert driver.debian_source(DEB822.replace("Types: deb deb-src", "Enabled: no\nTypes: deb"), "bookworm", OWN) == ""
