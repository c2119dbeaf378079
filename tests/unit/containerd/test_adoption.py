"""Which values of somebody else's config.toml change. The dumps are containerd's own."""

import tomllib
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
OPTIONS = {"sandbox_image": "registry.k8s.io/pause:3.10.1", "restrict_oom_score_adj": False}


def read(name):
    return (DATA / name).read_text()


def changed(config, text, dump, **options):
    return dict(config.setting_changes(text, dump, {**OPTIONS, **options}))


def test_dockers_file_gets_a_format_and_its_cri_plugin_back(config):
    text = config.with_changes(read("docker.toml"), config.format_changes(read("docker.toml"), enable_cri=True))
    assert tomllib.loads(text) == {"version": 2, "disabled_plugins": []}
    assert "#   Copyright" in text


def test_without_consent_the_cri_plugin_stays_off(config):
    changes = config.format_changes(read("docker.toml"), enable_cri=False)
    assert [path for path, _ in changes] == [("version",)]


def test_a_file_in_format_1_is_left_to_its_owner(config, toml):
    with pytest.raises(toml.Unsupported, match="config migrate"):
        config.format_changes('[plugins.cri]\n  sandbox_image = "x"\n', enable_cri=True)


def test_a_fresh_containerd_16_gets_cgroup_driver_and_sandbox_image(config):
    changes = changed(config, read("debian12.toml"), read("debian12.dump.toml"))
    cri = ("plugins", "io.containerd.grpc.v1.cri")
    assert changes == {
        (*cri, "containerd", "runtimes", "runc", "runtime_type"): '"io.containerd.runc.v2"',
        (*cri, "containerd", "runtimes", "runc", "options", "SystemdCgroup"): "true",
        (*cri, "sandbox_image"): '"registry.k8s.io/pause:3.10.1"',
    }


def test_nothing_changes_where_the_effective_values_are_right_already(config):
    dump = (
        read("debian12.dump.toml")
        .replace("SystemdCgroup = false", "SystemdCgroup = true")
        .replace("registry.k8s.io/pause:3.6", "registry.k8s.io/pause:3.10.1")
    )
    assert changed(config, read("debian12.toml"), dump) == {}


def test_a_mirrors_sandbox_image_is_kept(config):
    dump = read("debian12.dump.toml").replace("registry.k8s.io/pause:3.6", "mirror.example/pause:3.6")
    assert not [path for path in changed(config, read("debian12.toml"), dump) if path[-1] == "sandbox_image"]


def test_oom_scores_are_restricted_where_it_is_asked(config):
    changes = changed(config, read("debian12.toml"), read("debian12.dump.toml"), restrict_oom_score_adj=True)
    assert changes["plugins", "io.containerd.grpc.v1.cri", "restrict_oom_score_adj"] == "true"
