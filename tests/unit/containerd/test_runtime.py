"""The drop-in that gives containerd NVIDIA's runtime. The dumps are containerd's own."""

import tomllib
from pathlib import Path

DATA = Path(__file__).parent / "data"
BINARY = "/usr/bin/nvidia-container-runtime"
V2 = "io.containerd.grpc.v1.cri"
V3 = "io.containerd.cri.v1.runtime"


def read(name):
    return (DATA / name).read_text()


def drop_in(runtime, root, dump, default=False):
    return tomllib.loads(runtime.drop_in_text(read(root), read(dump), "nvidia", BINARY, default))


def with_nvidia(dump, table, systemd_cgroup="false"):
    return (
        dump
        + f'[plugins."{table}".containerd.runtimes.nvidia.options]\n'
        + f'  BinaryName = "{BINARY}"\n  SystemdCgroup = {systemd_cgroup}\n'
    )


def test_on_containerd_1_it_repeats_the_whole_section_that_it_would_replace(runtime):
    made = drop_in(runtime, "debian12.toml", "debian12.dump.toml")
    before = tomllib.loads(read("debian12.dump.toml"))["plugins"][V2]
    after = made["plugins"][V2]
    assert made["version"] == 2
    assert after["containerd"]["runtimes"].pop("nvidia")["options"] == {"BinaryName": BINARY, "SystemdCgroup": False}
    assert after["sandbox_image"] == before["sandbox_image"]
    assert after["cni"] == before["cni"]
    assert after["containerd"]["runtimes"]["runc"] == before["containerd"]["runtimes"]["runc"]


def test_on_containerd_2_it_says_only_what_is_new(runtime):
    made = drop_in(runtime, "debian12.toml", "debian12-on-2.1.dump.toml")
    assert made["version"] == 2, "the format of the file that imports it"
    assert list(made["plugins"][V2]["containerd"]) == ["runtimes"]
    assert list(made["plugins"][V2]["containerd"]["runtimes"]) == ["nvidia"]


def test_in_a_configuration_of_format_3_it_is_of_format_3(runtime):
    made = drop_in(runtime, "containerd21-default.toml", "containerd21-default.toml")
    assert made["version"] == 3
    assert made["plugins"][V3]["containerd"]["runtimes"]["nvidia"]["runtime_type"] == "io.containerd.runc.v2"


def test_the_runtime_uses_cgroups_as_runc_does(runtime):
    text = read("debian12.dump.toml").replace("SystemdCgroup = false", "SystemdCgroup = true")
    made = tomllib.loads(runtime.drop_in_text(read("debian12.toml"), text, "nvidia", BINARY, False))
    assert made["plugins"][V2]["containerd"]["runtimes"]["nvidia"]["options"]["SystemdCgroup"] is True


def test_it_becomes_the_default_runtime_only_where_that_is_asked_for(runtime):
    assert drop_in(runtime, "debian12.toml", "debian12.dump.toml")["plugins"][V2]["containerd"][
        "default_runtime_name"
    ] == ("runc")
    made = drop_in(runtime, "debian12.toml", "debian12.dump.toml", default=True)
    assert made["plugins"][V2]["containerd"]["default_runtime_name"] == "nvidia"


def test_a_setting_of_somebody_else_that_would_change_is_told(runtime):
    base = read("debian12.dump.toml")
    after = with_nvidia(base.replace("registry.k8s.io/pause:3.6", "registry.k8s.io/pause:3.2"), V2)
    assert runtime.strangers(base, with_nvidia(base, V2), "nvidia") == []
    (told,) = runtime.strangers(base, after, "nvidia")
    assert "sandbox_image" in told
    assert "pause:3.6" in told
    assert "pause:3.2" in told


def test_a_runtime_that_somebody_else_has_set_up_right_serves(runtime):
    base = read("debian12.dump.toml")
    assert not runtime.serves(base, "nvidia", BINARY, False)
    assert runtime.serves(with_nvidia(base, V2), "nvidia", BINARY, False)
    assert not runtime.serves(with_nvidia(base, V2), "nvidia", BINARY, True), "not the default runtime"
    assert not runtime.serves(with_nvidia(base, V2, "true"), "nvidia", BINARY, False), "other cgroups than runc's"
    assert not runtime.serves(with_nvidia(base, V2), "nvidia", "/opt/other", False)


def test_a_cri_plugin_that_is_switched_off_is_seen(runtime):
    assert not runtime.cri_is_off(read("debian12.dump.toml"))
    for name in ("cri", "io.containerd.cri.v1.runtime"):
        assert runtime.cri_is_off(f'disabled_plugins = ["other", "{name}"]\nversion = 3\n'), name


def test_an_import_is_seen_by_pattern_and_relative_to_the_file(runtime):
    drop_in = "/etc/containerd/conf.d/50-edgectl-nvidia.toml"
    for imports in ('["/etc/containerd/conf.d/*.toml"]', '["conf.d/*.toml"]', f'["{drop_in}"]'):
        assert runtime.imports_it(f"imports = {imports}\n", "/etc/containerd/config.toml", drop_in), imports
    assert not runtime.imports_it("version = 2\n", "/etc/containerd/config.toml", drop_in)
    assert not runtime.imports_it('imports = ["config.d/*.toml"]\n', "/etc/containerd/config.toml", drop_in)


TOOLKIT = """\
# comment
[nvidia-container-runtime]
#debug = "/var/log/nvidia-container-runtime.log"
mode = "auto"
"""


def test_a_changed_setting_is_remembered_and_given_back(settings):
    text, record = settings.with_settings(TOOLKIT, {"nvidia-container-runtime.mode": "csv"}, {})
    assert 'mode = "csv"' in text
    assert text.startswith("# comment")
    assert settings.with_settings(text, {}, record) == (TOOLKIT, {})


def test_a_setting_that_was_not_there_goes_again(settings):
    wanted = {"nvidia-container-cli.no-cgroups": True}
    text, record = settings.with_settings(TOOLKIT, wanted, {})
    assert tomllib.loads(text)["nvidia-container-cli"] == {"no-cgroups": True}
    assert settings.with_settings(text, wanted, record) == (text, record), "a second time nothing changes"
    assert settings.with_settings(text, {}, record) == (TOOLKIT, {})


def test_a_value_that_somebody_has_changed_since_is_left_to_them(settings):
    text, record = settings.with_settings(TOOLKIT, {"nvidia-container-runtime.mode": "csv"}, {})
    edited = text.replace('"csv"', '"cdi"')
    assert settings.with_settings(edited, {}, record)[0] == edited
