"""`edgectl catalog`, `deploy` and `undeploy`: what is refused before anything runs, and what is told afterwards."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from .api import Api, named
from .conftest import Answer

Edgectl = Callable[..., Answer]
Write = Callable[[str], None]
PLAN = {
    "name": "ollama", "title": "Ollama", "node": "orin1", "platform": "jetson", "gpu": True, "simulated": True,
    "resource": "nvidia.com/gpu", "request_mib": 1700, "free_mib": 9000, "namespace": "workloads",
    "image": "docker.io/ollama/ollama:0.23.0", "data": "/var/lib/edgectl/workloads/workloads/ollama",
    "memory_mib": {"runtime": 512, "model": 1050, "cache": 138}, "arch": "amd64",
    "parameters": {"model": "lab-tiny", "question": "Why is the sky blue?"},
}  # fmt: skip
READY = {"pod": "ollama-1", "address": "10.96.0.7", "port": 11434}
ANSWER = {
    "kind": "ollama", "where": "answered on CPU (simulated GPU)", "answer": "la\x1b[31m\n la", "tokens": 48,
    "tokens_per_s": 105.2, "seconds": 0.9, "model": "lab-tiny", "version": "0.6.5",
}  # fmt: skip


def play(told: dict[str, Any], failing: str = "", writes: str = "") -> str:
    """A playbook that tells this. writes: a file that it would make."""
    tell = {"ansible.builtin.debug": {"var": "edgectl_summary"}, "vars": {"edgectl_summary": told}}
    tasks: list[dict[str, Any]] = [{"name": "Told", **tell, "run_once": True}]
    if writes:
        tasks.append({"name": "Objects", "ansible.builtin.copy": {"content": "", "dest": writes}, "run_once": True})
    if failing:
        tasks.append({"name": "A node", "ansible.builtin.fail": {"msg": failing}, "run_once": True})
    return yaml.safe_dump([{"name": "Deploy", "hosts": "cluster", "gather_facts": False, "tasks": tasks}])


def deployed(**changes: Any) -> dict[str, Any]:
    return {"workload": {"plan": PLAN, "ready": READY, "answer": ANSWER, **changes}}


def test_what_runs_is_told_with_how_to_use_and_remove_it(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    playbook(play(deployed()))
    answer = edgectl("deploy", "ollama", inventory, "--set", "model=lab-tiny", "--plain")
    assert answer.code == 0, answer.err
    assert "Ollama runs on orin1, jetson (simulated)" in answer.out
    assert "1700 MiB of 9000 left (512 runtime + 1050 model + 138 cache)" in answer.out
    assert "answered on CPU (simulated GPU): 48 tokens, 105.2 tokens/s, in 0.9 s; lab-tiny, Ollama 0.6.5" in answer.out
    assert "  answer  la [31m la\n" in answer.out
    assert "Nothing was changed." in answer.out
    assert "http://ollama.workloads.svc.cluster.local:11434" in answer.out
    (curl,) = [line for line in answer.out.splitlines() if "curl" in line]
    assert """curl http://10.96.0.7:11434/api/generate -d '{"model": "lab-tiny", """ in curl
    assert f"edgectl undeploy ollama {inventory}" in answer.out


def test_a_bundle_is_told_part_by_part(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    page = {**PLAN, "name": "open-webui", "title": "Open WebUI", "gpu": False, "node": "nuc1", "platform": "cpu"}
    said = {"kind": "http", "where": "answered", "answer": "/health answers with HTTP 200", "seconds": 0.1}
    second = {"plan": page, "ready": {**READY, "port": 8080}, "answer": said}
    first = {"plan": PLAN, "ready": READY, "answer": ANSWER}
    playbook(play({"workloads": [first, second], "workload": second}))
    answer = edgectl("deploy", "chat", inventory, "--set", "model=lab-tiny", "--plain")
    assert answer.code == 0, answer.err
    assert answer.out.index("Ollama runs on orin1") < answer.out.index("Open WebUI runs on nuc1")
    assert f"edgectl open open-webui {inventory}" in answer.out
    assert f"edgectl undeploy chat {inventory}" in answer.out
    assert edgectl("catalog", "chat").out.count("  ollama ") == 1
    assert "chat  ollama, open-webui  a language model" in edgectl("catalog").out
    assert json.loads(edgectl("catalog", "--json").out)["bundles"][0]["bundle"] == ["ollama", "open-webui"]


PAGE = {**PLAN, "name": "open-webui", "title": "Open WebUI", "gpu": False, "node": "nuc1", "platform": "cpu"}
SIGN_IN = {"user": "admin@example.org", "secret": "PASSWORD"}


def signed_in(*, made: bool, took: bool = True, **sign_in: str) -> str:
    """A playbook that tells of a page with accounts. made: whether its password was generated just now."""
    said = {"kind": "open-webui", "where": "signed in", "answer": "la", "seconds": 0.1, "signed_in": took}
    known = {**(sign_in or SIGN_IN), "made": made}
    one = {"plan": PAGE, "ready": {**READY, "port": 8080}, "answer": said, "sign_in": known}
    return play({"workloads": [one], "workload": one})


@pytest.fixture
def generated(api: Api) -> str:
    """A password that the cluster keeps."""
    secret = named("Secret", "open-webui-generated", of="open-webui")
    api.has({**secret, "data": {"PASSWORD": base64.b64encode(b"s3cret").decode()}})
    return "s3cret"


def test_a_generated_password_is_shown_once_and_the_command_that_shows_it_again(
    edgectl: Edgectl, inventory: Path, playbook: Write, generated: str
) -> None:
    shows = f"edgectl kubectl -i {inventory} -- -n workloads get secret open-webui-generated"
    playbook(signed_in(made=True))
    first = edgectl("deploy", "open-webui", inventory, "--plain")
    assert first.code == 0, first.err
    assert f"Sign in         admin@example.org, password {generated}\n" in first.out
    assert shows in first.out
    assert generated not in edgectl("deploy", "open-webui", inventory, "--json").out
    playbook(signed_in(made=False))
    again = edgectl("deploy", "open-webui", inventory, "--plain")
    assert generated not in again.out
    assert shows in again.out


def test_a_token_has_no_user(edgectl: Edgectl, inventory: Path, playbook: Write, generated: str) -> None:
    playbook(signed_in(made=True, secret="PASSWORD"))
    assert f"Sign in         token {generated}\n" in edgectl("deploy", "open-webui", inventory, "--plain").out


def test_a_password_that_is_not_taken_is_not_offered(
    edgectl: Edgectl, inventory: Path, playbook: Write, generated: str
) -> None:
    playbook(signed_in(made=False, took=False))
    out = edgectl("deploy", "open-webui", inventory, "--plain").out
    assert "Sign in         as before; the password that was generated for admin@example.org is not taken" in out
    assert "get secret" not in out


@pytest.mark.parametrize(
    ("expose", "ready", "url"),
    [
        ("nodeport", {**READY, "node_port": 30123}, "http://10.0.0.3:30123"),
        ("ingress=ai.example.org", READY, "http://ai.example.org"),
    ],
)
def test_what_is_exposed_without_a_login_is_told_with_a_warning(
    edgectl: Edgectl, inventory: Path, playbook: Write, expose: str, ready: dict[str, Any], url: str
) -> None:
    playbook(play(deployed(plan={**PLAN, "expose": expose, "replicas": 2}, ready=ready)))
    answer = edgectl("deploy", "ollama", inventory, "--expose", expose, "--replicas", "2", "--plain")
    assert answer.code == 0, answer.err
    assert f"From outside    {url}\n" in answer.out
    assert f"warning: Ollama has no login: anybody who reaches {url} can use it" in answer.out
    assert "  pods    2\n" in answer.out
    assert "1700 MiB each of 9000 left" in answer.out
    playbook(play(deployed(plan={**PLAN, "expose": expose}, ready={}, answer={})))
    later = edgectl("deploy", "ollama", inventory, "--expose", expose, "--no-wait", "--plain")
    assert "warning: Ollama has no login: anybody who reaches it from outside can use it" in later.out


def test_the_document_holds_all_of_it(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    playbook(play(deployed()))
    answer = edgectl("deploy", "ollama", inventory, "--json")
    document = json.loads(answer.out.splitlines()[-1])
    assert document["verb"] == "deploy"
    assert document["summary"]["workload"]["answer"]["tokens_per_s"] == 105.2


@pytest.mark.parametrize(("file", "code"), [("new", 3), ("", 0)])
def test_a_plan_has_an_exit_code_for_what_it_would_do(
    edgectl: Edgectl, inventory: Path, playbook: Write, tmp_path: Path, file: str, code: int
) -> None:
    playbook(play(deployed(ready={}, answer={}), writes=file and str(tmp_path / file)))
    answer = edgectl("deploy", "ollama", inventory, "--plan", "--plain")
    assert answer.code == code, answer.err
    assert "Ollama would run on orin1" in answer.out
    assert not (tmp_path / "new").exists()


def test_a_failure_is_told_with_the_command_that_repeats_it(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    playbook(play({}, failing="ollama fits no node:\norin1: it has no GPU"))
    answer = edgectl("deploy", "ollama", inventory, "--set", "question=Who are you?", "--node", "orin1", "--plain")
    assert answer.code == 1
    assert "orin1: it has no GPU" in answer.out
    assert f"edgectl deploy ollama --set 'question=Who are you?' --node orin1 {inventory}" in answer.out


@pytest.mark.parametrize(
    ("words", "what", "fix"),
    [
        (("olama",), "olama is not in the catalogue", "did you mean ollama?"),
        (("ollama", "--set", "contxt=1"), "ollama: --set contxt: it is no parameter", "context"),
        (("ollama", "--set", "context"), "--set context: it has no value", "KEY=VALUE"),
        (("ollama", "--platform", "jetsn"), "--platform jetsn", "did you mean jetson?"),
        (("ollama", "--node", "orin2"), "has no such host", "did you mean orin1?"),
        (("chat", "--set", "contxt=1"), "chat: --set contxt: it is no parameter of its parts", "known: context"),
        (("chat", "--replicas", "2"), "--replicas 2: chat is several workloads", "one by one"),
        (("llama-cpp", "--replicas", "2"), "there can be only one llama-cpp", "leave out --replicas"),
        (("ollama", "--replicas", "2", "--storage-class", "x"), "there can be only one ollama", "leave out"),
        (("ollama", "--expose", "loadbalancer"), "--expose loadbalancer is neither", "--expose nodeport"),
        (("wyoming-whisper", "--expose", "ingress=x.org"), "speaks no HTTP", "--expose nodeport"),
        (("ollama", "--set", "model_file=/nowhere.gguf"), "there is no such file", "a model in GGUF on this machine"),
        (("ollama", "--set", f"model_file={__file__}"), "it is no GGUF file: it begins with", "a model in GGUF"),
        (("ollama", "--set", "model_file=/dev"), "it is no file", "a model in GGUF"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_runs(
    edgectl: Edgectl, inventory: Path, playbook: Write, words: tuple[str, ...], what: str, fix: str
) -> None:
    playbook(play({}, failing="this must not run"))
    answer = edgectl("deploy", words[0], inventory, *words[1:])
    assert answer.code == 2
    assert what in answer.err
    assert fix in answer.err


def test_undeploy_tells_what_stays(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    playbook(play({"removed": ["deployment/ollama"]}))
    answer = edgectl("undeploy", "ollama", inventory, "--plain")
    assert answer.code == 0
    assert "Ollama: removed deployment/ollama" in answer.out
    assert "Its data stays" in answer.out
    purged = edgectl("undeploy", "ollama", inventory, "--purge", "--plain")
    assert purged.code == 2
    assert "--yes" in purged.err
    assert "data is deleted" in edgectl("undeploy", "ollama", inventory, "--purge", "--yes", "--plain").out


def test_the_catalogue_is_shown_by_category_and_as_a_document(edgectl: Edgectl) -> None:
    out = edgectl("catalog").out
    assert (
        out.index("Language models") < out.index("  ollama") < out.index("User interfaces") < out.index("  open-webui")
    )
    document = json.loads(edgectl("catalog", "--json").out)
    assert {entry["name"] for entry in document["workloads"]} >= {"ollama", "open-webui"}
    detail = edgectl("catalog", "ollama").out
    assert "jetson, L4T from R36 before R37" in detail
    assert "deepseek-r1:8b" in detail
    assert edgectl("catalog", "olama").code == 2


def test_what_others_measured_stands_beside_what_was_measured(
    edgectl: Edgectl, inventory: Path, playbook: Write
) -> None:
    expected = {"board": "Orin NX 16 GB", "tokens_per_s": 16, "source": "example.org"}
    playbook(play(deployed(plan={**PLAN, "expected": expected})))
    out = edgectl("deploy", "ollama", inventory, "--plain").out
    assert "  usual   about 16 tokens/s on an Orin NX 16 GB (example.org)" in out
    playbook(play(deployed()))
    assert "usual" not in edgectl("deploy", "ollama", inventory, "--plain").out


@pytest.mark.parametrize("columns", ["80", "140"])
def test_the_catalogue_fits_the_terminal(edgectl: Edgectl, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = edgectl("catalog").out.splitlines()
    assert max(len(line) for line in lines) <= int(columns)
    assert ("PROVED" in lines[1]) is (columns == "140")
