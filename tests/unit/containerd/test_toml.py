"""Single values of a TOML file change; every other byte stays."""

import tomllib
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
CRI = ("plugins", "io.containerd.grpc.v1.cri")

AWKWARD = """\
# a person's comment
version = 2
disabled_plugins = [
  "cri",   # Docker ] does this
  'io.containerd.internal.v1.opt',
]
root="/var/lib/containerd" # moved? no
[plugins]
\t[plugins."io.containerd.grpc.v1.cri".registry.mirrors."docker.io"]
\t\tendpoint = ["https://mirror.example/v2#tag"]
  [plugins.'io.containerd.grpc.v1.cri'.cni]
    bin_dir = "/usr/lib/cni"
    conf_template = \"\"\"
[not.a.table]
key = "not an assignment"
\"\"\"
[proxy_plugins]
"""


@pytest.mark.parametrize("text", [AWKWARD, *(path.read_text() for path in sorted(DATA.glob("*.toml")))])
def test_every_assignment_is_found_where_a_real_parser_finds_it(toml, text):
    document = tomllib.loads(text)
    assignments = [item for item in toml.statements(text) if isinstance(item, toml.Assignment)]
    assert assignments
    for item in assignments:
        value = document
        for part in item.path:
            value = value[part]
        assert tomllib.loads("value = " + item.value)["value"] == value


def test_a_value_is_replaced_and_nothing_else(toml):
    changed = toml.put(AWKWARD, (*CRI, "cni", "bin_dir"), '"/opt/cni/bin"')
    assert changed == AWKWARD.replace('"/usr/lib/cni"', '"/opt/cni/bin"')


def test_a_list_over_several_lines_is_replaced_as_a_whole(toml):
    changed = toml.put(AWKWARD, ("disabled_plugins",), "[]")
    assert tomllib.loads(changed)["disabled_plugins"] == []
    assert tomllib.loads(changed)["root"] == "/var/lib/containerd"


def test_a_key_is_added_below_its_table(toml):
    changed = toml.put(AWKWARD, (*CRI, "cni", "conf_dir"), '"/etc/cni/net.d"')
    cri = tomllib.loads(changed)["plugins"]["io.containerd.grpc.v1.cri"]
    assert cri["cni"]["conf_dir"] == "/etc/cni/net.d"
    assert cri["cni"]["bin_dir"] == "/usr/lib/cni"


def test_a_table_is_added_at_the_end(toml):
    changed = toml.put(AWKWARD, (*CRI, "containerd", "runtimes", "runc", "options", "SystemdCgroup"), "true")
    assert changed.startswith(AWKWARD)
    options = tomllib.loads(changed)["plugins"]["io.containerd.grpc.v1.cri"]["containerd"]["runtimes"]["runc"][
        "options"
    ]
    assert options == {"SystemdCgroup": True}


def test_an_addition_that_is_dropped_leaves_the_text_as_it_was(toml):
    for path in [(*CRI, "sandbox_image"), ("oom_score",), (*CRI, "cni", "conf_dir")]:
        assert toml.drop(toml.put(AWKWARD, path, "1"), path) == AWKWARD


def test_a_file_without_a_last_newline_is_continued_on_a_line_of_its_own(toml):
    assert toml.put("[grpc]\n  gid = 0", ("grpc", "uid"), "0") == "[grpc]\n  uid = 0\n  gid = 0"
    assert tomllib.loads(toml.put("version = 2", ("grpc", "uid"), "0")) == {"version": 2, "grpc": {"uid": 0}}


def test_an_inline_table_is_refused_instead_of_broken(toml):
    text = 'version = 2\n[plugins]\n"io.containerd.grpc.v1.cri" = {sandbox_image = "x"}\n'
    with pytest.raises(toml.Unsupported, match="inline table"):
        toml.put(text, (*CRI, "sandbox_image"), '"y"')


def test_nonsense_is_refused_with_its_line(toml):
    with pytest.raises(toml.Unsupported, match="line 2"):
        list(toml.statements("version = 2\nwhat is this\n"))
