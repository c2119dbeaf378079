"""The role with real Ansible: an API in a file, an Ollama of the test's own, and this machine as the hosts."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgectl import content
from edgectl.lab import gguf
from edgectl.workloads import adhoc
from tests.unit.ansible_playbook import run
from tests.unit.workloads.cluster import node
from tests.unit.workloads.ollama_server import State, serving

KUBECTL = Path(__file__).with_name("kubectl.py")
Done = subprocess.CompletedProcess[str]
Deploy = Callable[..., Done]


class Api:
    """The API's file."""

    def __init__(self, directory: Path, port: int) -> None:
        self.file, self.program = directory / "api.json", directory / "kubectl.py"
        self.program.write_text(KUBECTL.read_text())
        nodes = [{"kind": "Node", **node(name, 8, arch="amd64")} for name in ("nuc1", "nuc2")]
        nodes[1]["status"]["allocatable"]["memory"] = "7000Mi"
        objects = {f"Node//{one['metadata']['name']}": one for one in nodes}
        document = {"objects": objects, "said": [], "logs": {}, "address": "127.0.0.1", "pod": {"phase": "Running"}}
        document |= {"uid": "u1", "job": [], "namespace": "workloads"}
        self.file.write_text(json.dumps(document))
        self.port = port

    def put(self, **values: Any) -> None:
        self.file.write_text(json.dumps({**json.loads(self.file.read_text()), **values}))

    def objects(self, kind: str) -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = json.loads(self.file.read_text())["objects"]
        return [one for name, one in found.items() if name.startswith(kind + "/")]


@pytest.fixture
def ollama() -> Iterator[State]:
    with serving() as state:
        yield state


@pytest.fixture
def api(tmp_path: Path, ollama: State) -> Api:
    return Api(tmp_path, ollama.port)


@pytest.fixture
def deploy(api: Api, tmp_path: Path) -> Deploy:
    """Run the role on the control plane."""
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    hosts = {"control_plane": {"hosts": {"nuc1": {}}}, "workers": {"hosts": {"nuc2": {}}}}
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(yaml.safe_dump({"all": {"vars": local, "children": {"cluster": {"children": hosts}}}}))
    catalogue = tmp_path / "workloads"
    (catalogue / "ollama").mkdir(parents=True)
    entry = yaml.safe_load((content.root() / "workloads" / "ollama" / "workload.yml").read_text())
    # A Service forwards; the test's server has the port that it got.
    entry.update(port=api.port)
    entry["readiness"]["seconds"] = 3
    (catalogue / "ollama" / "workload.yml").write_text(yaml.safe_dump(entry))
    for name in ("chat", "open-webui"):
        (catalogue / name).mkdir()
        text = (content.root() / "workloads" / name / "workload.yml").read_text()
        (catalogue / name / "workload.yml").write_text(text)
    page = yaml.safe_load((catalogue / "open-webui" / "workload.yml").read_text())
    page.update(port=api.port, readiness={"seconds": 3})
    (catalogue / "open-webui" / "workload.yml").write_text(yaml.safe_dump(page))
    variables = {
        "__cluster_kubectl": [sys.executable, str(api.program)],
        "__cluster_control_plane": "nuc1",
        "workload_name": "ollama",
        "workload_cpu": True,
        "workload_catalogue": str(catalogue),
        "workload_data_dir": str(tmp_path / "data"),
    }

    def run_role(*options: str, tasks_from: str = "main.yml", **more: Any) -> Done:
        tasks = [
            {"edgectl_facts": {}},
            {
                "ansible.builtin.include_role": {"name": "workload", "tasks_from": tasks_from},
                "when": "inventory_hostname == 'nuc1'",
            },
        ]
        play = {"hosts": "cluster", "gather_facts": False, "roles": [{"role": "cluster"}], "tasks": tasks}
        return run(inventory, [play], "-e", json.dumps({**variables, **more}), *options)

    return run_role


def changed(done: Done) -> int:
    """How many tasks changed something on the control plane."""
    line = next(line for line in done.stdout.splitlines() if line.startswith("nuc1 ") and "changed=" in line)
    return int(line.split("changed=")[1].split()[0])


def test_it_is_made_asked_and_made_only_once(deploy: Deploy, api: Api, ollama: State) -> None:
    done = deploy()
    assert done.returncode == 0, done.stdout
    (deployment,) = api.objects("Deployment")
    assert deployment["spec"]["template"]["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "nuc1"}
    assert [path for path, _ in ollama.asked] == ["/api/pull", "/api/generate"]
    assert changed(done) > 0
    again = deploy()
    assert (again.returncode, changed(again)) == (0, 0), again.stdout


def names(objects: list[dict[str, Any]]) -> list[str]:
    return [one["metadata"]["name"] for one in objects]


def test_a_bundle_is_deployed_asked_and_taken_away_as_a_whole(deploy: Deploy, api: Api, ollama: State) -> None:
    settings = {"context": "2048"}
    done = deploy(workload_name="chat", workload_parameters=settings)
    assert done.returncode == 0, done.stdout
    assert names(api.objects("Deployment")) == names(api.objects("Service")) == ["ollama", "open-webui"]
    server, _ = (one["spec"]["template"]["spec"]["containers"][0]["env"] for one in api.objects("Deployment"))
    assert {"name": "OLLAMA_CONTEXT_LENGTH", "value": "2048"} in server
    assert [path for path, _ in ollama.asked] == [
        "/api/pull", "/api/generate", "/api/v1/auths/signin", "/api/chat/completions"
    ]  # fmt: skip
    again = deploy(workload_name="chat", workload_parameters=settings)
    assert (again.returncode, changed(again)) == (0, 0), again.stdout
    gone = deploy(workload_name="chat", workload_state="absent", workload_purge=True)
    assert gone.returncode == 0, gone.stdout
    assert api.objects("Deployment") == api.objects("Service") == api.objects("Namespace") == []


def test_a_password_is_made_once_signed_in_with_and_in_no_output(deploy: Deploy, api: Api, ollama: State) -> None:
    done = deploy("-vvv", workload_name="chat")
    assert done.returncode == 0, done.stdout
    (secret,) = api.objects("Secret")
    values = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
    assert set(values) == {"WEBUI_ADMIN_PASSWORD", "WEBUI_SECRET_KEY"}
    assert re.fullmatch(r"[A-Za-z0-9]{20}", values["WEBUI_ADMIN_PASSWORD"])
    signed = dict(ollama.asked)["/api/v1/auths/signin"]
    assert signed == {"email": "admin@edgectl.internal", "password": values["WEBUI_ADMIN_PASSWORD"]}
    for text in (*values.values(), *secret["data"].values()):
        assert text not in done.stdout + done.stderr
    assert deploy(workload_name="open-webui").returncode == 0
    assert api.objects("Secret")[0]["data"] == secret["data"]


def test_of_a_bundle_nothing_is_made_where_its_last_part_does_not_fit(deploy: Deploy, api: Api) -> None:
    nodes = {f"Node//{one['metadata']['name']}": one for one in api.objects("Node")}
    for one in nodes.values():
        one["status"]["allocatable"]["memory"] = "2400Mi"
    api.put(objects=nodes)
    done = deploy(workload_name="chat", workload_node="nuc1")
    assert done.returncode != 0
    assert "open-webui fits no node:" in done.stdout
    assert "for workloads/ollama-0" in done.stdout
    assert api.objects("Deployment") == []
    assert deploy("--check", workload_name="chat").returncode == 0  # on two nodes they fit


def test_it_is_exposed_and_the_next_deploy_takes_that_back(deploy: Deploy, api: Api) -> None:
    api.put(objects={**{f"Node//{one['metadata']['name']}": one for one in api.objects("Node")},
                     "IngressClass//nginx": {"kind": "IngressClass", "metadata": {"name": "nginx"}}})  # fmt: skip
    done = deploy(workload_expose="ingress=chat.example.org")
    assert done.returncode == 0, done.stdout
    (ingress,) = api.objects("Ingress")
    assert ingress["spec"]["rules"][0]["host"] == "chat.example.org"
    done = deploy(workload_expose="nodeport")
    assert done.returncode == 0, done.stdout
    assert api.objects("Ingress") == []
    assert [one["spec"]["type"] for one in api.objects("Service")] == ["NodePort"]
    assert deploy().returncode == 0
    assert [one["spec"]["type"] for one in api.objects("Service")] == ["ClusterIP"]


def test_a_file_becomes_the_model_and_is_not_left_on_the_node(deploy: Deploy, ollama: State, tmp_path: Path) -> None:
    gguf.write(tmp_path / "tiny.gguf", "tiny")
    done = deploy(workload_parameters={"model": "tiny", "model_file": str(tmp_path / "tiny.gguf")})
    assert done.returncode == 0, done.stdout
    assert ollama.models == ["tiny:latest"]
    assert list((tmp_path / "data").iterdir()) == []


def test_what_does_not_fit_is_refused_before_anything_is_made(deploy: Deploy, api: Api) -> None:
    done = deploy(workload_parameters={"model": "deepseek-r1:32b"})
    assert done.returncode != 0
    assert "ollama fits no node:" in done.stdout
    assert "the largest that fits: --set model=deepseek-r1:8b" in done.stdout
    assert api.objects("Namespace") == api.objects("Deployment") == []


def test_a_pod_that_crashes_is_told_with_its_last_words(deploy: Deploy, api: Api) -> None:
    waiting = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 3}
    waiting["lastState"] = {"terminated": {"exitCode": 1}}
    api.put(pod={"phase": "Pending", "containerStatuses": [waiting]}, logs={"ollama-1": "no space left on device"})
    done = deploy()
    assert done.returncode != 0
    assert "ollama-1 ended 4 times, with exit code 1" in done.stdout
    assert "no space left on device" in done.stdout


def test_a_model_that_cannot_be_fetched_ends_the_run_at_the_first_refusal(deploy: Deploy, ollama: State) -> None:
    ollama.pull = [{"status": "pulling manifest"}, {"error": "pull model manifest: file does not exist"}]
    done = deploy()
    assert done.returncode != 0
    assert "can't be fetched: pull model manifest: file does not exist" in done.stdout
    assert [path for path, _ in ollama.asked] == ["/api/pull"]


def test_check_mode_makes_nothing_and_does_not_fail(deploy: Deploy, api: Api, ollama: State) -> None:
    done = deploy("--check")
    assert done.returncode == 0, done.stdout
    assert changed(done) > 0
    assert api.objects("Deployment") == []
    assert ollama.asked == []


def test_it_is_taken_away_with_the_namespace_that_was_made_for_it(deploy: Deploy, api: Api) -> None:
    assert deploy().returncode == 0
    done = deploy(workload_state="absent")
    assert done.returncode == 0, done.stdout
    assert api.objects("Deployment") == api.objects("Service") == api.objects("Namespace") == []
    again = deploy(workload_state="absent")
    assert (again.returncode, changed(again)) == (0, 0), again.stdout


def test_an_entry_that_is_not_there_is_told_with_those_that_are(deploy: Deploy) -> None:
    done = deploy(workload_name="olama")
    assert done.returncode != 0
    assert "olama is not in the catalogue. It has: chat, ollama, open-webui" in done.stdout


@pytest.mark.parametrize("other", [True, False])
def test_a_purge_takes_the_data_and_the_image_only_where_nobody_else_has_it(
    deploy: Deploy, tmp_path: Path, other: bool
) -> None:
    data = tmp_path / "data"
    for namespace in ("workloads", "other") if other else ("workloads",):
        (data / namespace / "ollama" / "models").mkdir(parents=True)
    done = deploy(tasks_from="purge.yml", workload_purge=True)
    assert done.returncode == 0, done.stdout
    left = {str(path.relative_to(data)) for path in data.rglob("*")} if data.exists() else set()
    assert left == ({"other", "other/ollama", "other/ollama/models"} if other else set())
    assert ("Image that was imported" in done.stdout) is not other  # A task that is skipped is not shown.


def ended(code: int) -> dict[str, Any]:
    """The status of a pod whose container has ended."""
    state = {"terminated": {"exitCode": code}}
    return {"phase": "Failed" if code else "Succeeded", "containerStatuses": [{"state": state}]}


@pytest.fixture
def own(tmp_path: Path) -> dict[str, str]:
    """What the role is told of an entry that `edgectl run` makes."""
    command = ["python3", "-c", "print('{{ x }} {y}')"]
    made = adhoc.workload("debian:12", adhoc.Ask("job", gpus=0, seconds=6, command=command), [])
    file = tmp_path / "own.yml"
    file.write_text(yaml.safe_dump(dict(made.data)))
    return {"workload_name": made.name, "workload_file": str(file)}


def test_a_job_of_its_own_runs_to_its_end_each_time_and_is_taken_away(
    deploy: Deploy, api: Api, own: dict[str, str]
) -> None:
    api.put(pod=ended(0), job=[{"type": "Complete", "status": "True"}], logs={"debian-1": "la la"})
    done = deploy("-v", **own)
    assert done.returncode == 0, done.stdout
    (job,) = api.objects("Job")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "docker.io/library/debian:12"
    assert container["args"][-1] == "print('{{ x }} {y}')"
    assert '"exit_code": 0' in done.stdout
    assert '"log": "la la"' in done.stdout
    api.put(pod=ended(3), job=[{"type": "Failed", "status": "True"}], logs={"debian-1": "no such thing"})
    again = deploy(**own)
    assert again.returncode != 0
    assert "debian ended with exit code 3" in again.stdout
    assert "no such thing" in again.stdout
    gone = deploy(workload_state="absent", workload_name="debian")
    assert gone.returncode == 0, gone.stdout
    assert api.objects("Job") == api.objects("Namespace") == []


def test_one_name_is_one_workload(deploy: Deploy, api: Api, own: dict[str, str]) -> None:
    assert deploy().returncode == 0
    done = deploy(**{**own, "workload_name": "ollama"})
    assert done.returncode != 0
    assert "ollama is there already, as a Deployment: edgectl undeploy ollama first" in done.stdout
    assert api.objects("Job") == []
