"""`edgectl probe HOST --record FILE`, on hosts that are this machine."""

from __future__ import annotations

import pytest

from edgectl.errors import UsageError
from edgectl.recording import model
from tests.unit.cli.conftest import edgectl, inventory  # noqa: F401


@pytest.fixture
def recorded(edgectl, inventory, tmp_path):  # noqa: F811
    file = tmp_path / "nuc1.yml"
    return edgectl("probe", "nuc1", "-i", inventory, "--record", file), file


def test_the_file_is_a_recording_of_the_host_that_replays(recorded):
    answer, file = recorded
    assert answer.code == 0, answer.err
    recording = model.load(file)
    assert recording.kind == "captured"
    assert recording.document["identity"]["hostname"] == "host"
    assert recording.replay() == recording.document


def test_the_user_is_told_on_stderr_what_was_taken_out_and_where_it_is(recorded):
    answer, file = recorded
    assert answer.out == ""
    assert "taken out  host name" in answer.err
    assert str(file) in answer.err


def test_a_file_that_exists_is_kept(edgectl, inventory, tmp_path):  # noqa: F811
    file = tmp_path / "nuc1.yml"
    file.write_text("mine")
    answer = edgectl("probe", "nuc1", "-i", inventory, "--record", file)
    assert answer.code == 2
    assert file.read_text() == "mine"


def test_a_recording_is_of_one_host(edgectl, inventory, tmp_path):  # noqa: F811
    answer = edgectl("probe", "-i", inventory, "--record", tmp_path / "all.yml")
    assert answer.code == 2
    assert "edgectl probe HOST --record" in answer.err


SOUND = "schema_version: 1\nkind: captured\ntitle: x\ndate: '2026-11-21'\nedgectl: '0'\ndocument: {}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "not YAML"),
        ("- a", "no mapping"),
        (SOUND.replace("version: 1", "version: 2") + "files: {}", "schema_version is 2"),
        (SOUND, "files is missing"),
        (SOUND.replace("captured", "dreamt") + "files: {}", "'dreamt'"),
        (SOUND + "files: {}\nscript: x", "script is unknown"),
        (SOUND + "files: {/etc/../../x: y}", "below the root"),
        (SOUND + "files: {}\npresent: [etc/passwd]", "below the root"),
        (SOUND + "files: {}\ncommands: {../../x: y}", "holds no text"),
        (SOUND + "files: {/etc/hostname: 1}", "holds no text"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_the_reason(tmp_path, text, said):
    file = tmp_path / "odd.yml"
    file.write_text(text)
    with pytest.raises(UsageError) as raised:
        model.load(file)
    assert said in raised.value.why


def test_a_recording_survives_being_written_and_read(tmp_path):
    recording = model.Recording("captured", "t", "2026-11-21", "0", files={"/a": "b\tc\nd \n", "/x.gz": "y\0z\n"})
    model.save(recording, tmp_path / "r.yml")
    assert model.load(tmp_path / "r.yml") == recording


def test_a_host_that_does_not_answer_leaves_no_file(edgectl, inventory, tmp_path):  # noqa: F811
    hosts = inventory / "hosts.yml"
    hosts.write_text(hosts.read_text().replace("ansible_connection: local", "ansible_ssh_common_args: ''"))
    hosts.write_text(hosts.read_text().replace("10.0.0.1", "127.0.0.1, ansible_port: 1"))
    answer = edgectl("probe", "nuc1", "-i", inventory, "--record", tmp_path / "nuc1.yml")
    assert answer.code == 4
    assert not (tmp_path / "nuc1.yml").exists()


def test_the_lab_lists_the_recordings_that_its_nodes_can_be(edgectl):  # noqa: F811
    answer = edgectl("lab", "recordings")
    assert "orin-nano-jp5.1  constructed  Jetson Orin Nano" in answer.out
