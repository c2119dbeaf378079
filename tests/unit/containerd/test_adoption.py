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


def test_containerd_21_is_understood_though_its_file_is_in_format_2(config):
    """The dump of 2.1 is in format 3; what is written stays in the file's own format 2."""
    changes = changed(config, read("debian12.toml"), read("debian12-on-2.1.dump.toml"))
    assert {path[:2] for path in changes} == {("plugins", "io.containerd.grpc.v1.cri")}
    dump = read("debian12-on-2.1.dump.toml")
    right = dump.replace("SystemdCgroup = false", "SystemdCgroup = true").replace("pause:3.10'", "pause:3.10.1'")
    assert changed(config, read("debian12.toml"), right) == {}


def test_a_file_in_format_3_is_changed_in_format_3(config, toml):
    """containerd 2.1's own `config default`: every key is there, so that only values change."""
    text = read("containerd21-default.toml")
    after = config.with_changes(text, list(changed(config, text, text).items()))
    assert len(after.splitlines()) == len(text.splitlines())
    plugins = tomllib.loads(after)["plugins"]
    assert plugins["io.containerd.cri.v1.images"]["pinned_images"]["sandbox"] == "registry.k8s.io/pause:3.10.1"
    runc = plugins["io.containerd.cri.v1.runtime"]["containerd"]["runtimes"]["runc"]
    assert runc["options"]["SystemdCgroup"] is True
