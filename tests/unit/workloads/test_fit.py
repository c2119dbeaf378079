"""Which node a workload fits, with which image, and why the others don't."""

from __future__ import annotations

from typing import Any

import pytest

from edgectl.compat import tables
from edgectl.workloads import catalogue
from tests.unit.workloads.cluster import GPU, HOSTS, fit, host, node, pod

OLLAMA = catalogue.find("ollama").data
WEBUI = catalogue.find("open-webui").data


def chosen(**given: str) -> dict[str, Any]:
    return catalogue.find("ollama").values(given)


def need(model: str, context: int = 4096) -> dict[str, int]:
    found: dict[str, int] = fit.memory(OLLAMA, chosen(model=model, context=str(context)))
    return found


def assess(model: str, on: dict[str, Any], *pods: dict[str, Any], **of: Any) -> dict[str, Any]:
    found: dict[str, Any] = fit.assess(OLLAMA, need(model), on, list(pods), of.pop("host", HOSTS["jetson"]), **of)
    return found


@pytest.mark.parametrize(
    ("l4t", "environment"),
    [("35.4.1", "5"), ("36.3.0", "6"), ("36.4.3", "6"), ("38.2.0", None), ("39.0.0", None)],
)
def test_ollama_is_told_of_jetpack_5_and_6_and_of_no_later_one(l4t: str, environment: str | None) -> None:
    """facts: discover/gpu.go of Ollama; JETSON_JETPACK must not be set on R38 and later."""
    image, _ = fit.image_for(OLLAMA, host("jetson", l4t=l4t), "arm64", cpu=False)
    assert image["image"].startswith("docker.io/ollama/ollama:")
    assert image.get("environment", {}).get("JETSON_JETPACK") == environment


@pytest.mark.parametrize(
    ("name", "tags"),
    [
        ("stable-diffusion-webui", {"35.4.1": "r35.4.1", "36.3.0": "r36.2.0", "36.4.0": "r36.4.0", "38.2.0": ""}),
        ("comfyui", {"35.4.1": "", "36.3.0": "r36.3.0", "36.4.4": "r36.4.3", "39.0.0": ""}),
        ("llama-cpp", {"36.3.0": "", "36.4.3": "b5283-r36.4-cu128-24.04", "38.2.0": ""}),
        ("homeassistant", {"36.3.0": "", "36.4.3": "2024.12.4-r36.4.0"}),
    ],
)
def test_an_image_of_another_release_is_not_taken(name: str, tags: dict[str, str]) -> None:
    """Those of R36.4 are for R36.4 and later, those before for R36 before: jetson-containers' rule, within a major."""
    entry = catalogue.find(name).data
    for l4t, tag in tags.items():
        image, _ = fit.image_for(entry, host("jetson", l4t=l4t), "arm64", cpu=False)
        assert (image["image"].rpartition(":")[2] if image else "") == tag, l4t


@pytest.mark.parametrize(
    ("seen", "arch", "words"),
    [
        (host("jetson", l4t="32.7.4"), "arm64", "jetson with L4T 32.7.4"),
        (host("jetson"), "arm64", "L4T of unknown release"),
        (host("dgpu", driver="470.256.02"), "amd64", "dgpu with driver 470.256.02"),
        (host("cpu"), "riscv64", "on riscv64"),
    ],
)
def test_where_there_is_no_image_it_is_said_for_what(seen: dict[str, Any], arch: str, words: str) -> None:
    image, why = fit.image_for(OLLAMA, seen, arch, cpu=seen["platform"] == "cpu")
    assert image is None
    assert words in why


@pytest.mark.parametrize(
    ("gib", "largest"),
    # Memory that a board's kernel shows of its 4, 8, 16, 32 and 64 GB.
    [(3.4, "1.5b"), (7.4, "7b"), (15.3, "14b"), (29.9, "32b"), (61.3, "70b")],
)
def test_the_largest_deepseek_that_a_board_can_hold(gib: float, largest: str) -> None:
    board = node("orin1", gib, gpus=1)
    fitting = [name for name in OLLAMA["model"]["known"] if not assess(name, board)["why_not"]]
    assert fitting[-1] == f"deepseek-r1:{largest}"
    room = assess("deepseek-r1:1.5b", board)["free_mib"]
    known = {name: one for name, one in OLLAMA["model"]["known"].items() if name.startswith("deepseek-r1:")}
    deepseek = {**OLLAMA, "model": {**OLLAMA["model"], "known": known}}
    assert fit.largest(deepseek, chosen(), room) == f"deepseek-r1:{largest}"


def test_what_others_asked_for_is_not_there_any_more_and_is_told() -> None:
    board, other = node("orin1", 15.3, gpus=4), pod("camera", "orin1", "6Gi")
    assert not assess("deepseek-r1:14b", board)["why_not"]
    why = assess("deepseek-r1:14b", board, other)["why_not"]
    assert "6.0 GiB for others/camera" in why
    assert "1.5 GiB kept for the system" in why
    assert not assess("deepseek-r1:14b", board, pod("camera", "orin1", "6Gi", phase="Succeeded"))["why_not"]
    assert not assess("deepseek-r1:14b", board, pod("camera", "nuc1", "6Gi"))["why_not"]


def test_a_longer_context_needs_more() -> None:
    short, long = need("deepseek-r1:8b"), need("deepseek-r1:8b", 32768)
    assert (short["cache"], long["cache"]) == (576, 4608)
    assert short["model"] == long["model"] == 4960


def test_a_model_of_unknown_size_is_asked_about() -> None:
    with pytest.raises(fit.Unknown) as caught:
        need("mystery:7b")
    assert "--set model_gb=SIZE" in caught.value.problem[2]
    given = chosen(model="mystery:7b", model_gb="4")
    assert fit.memory(OLLAMA, given)["model"] == 3815
    assert fit.memory(OLLAMA, chosen(model="mystery:7b"), 600_000)["model"] == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"status": {"conditions": []}}, "not Ready"),
        ({"spec": {"unschedulable": True}}, "cordoned"),
        ({"spec": {"taints": [{"key": "k/control-plane", "effect": "NoSchedule"}]}}, "the taint k/control-plane"),
    ],
)
def test_a_node_that_takes_no_pods_is_none(change: dict[str, Any], words: str) -> None:
    board = node("orin1", 16, gpus=1)
    for key, value in change.items():
        board[key] = {**board[key], **value}
    assert words in assess("deepseek-r1:1.5b", board)["why_not"]


def test_slots_that_are_taken_are_told_with_their_holders() -> None:
    board = node("orin1", 16, gpus=2)
    holders = [pod("a", "orin1", gpus=1), pod("b", "orin1", gpus=1)]
    assert not assess("deepseek-r1:1.5b", board, holders[0])["why_not"]
    why = assess("deepseek-r1:1.5b", board, *holders)["why_not"]
    assert why == f"all 2 of its {GPU} are in use, by others/a, others/b"
    assert f"offers no {GPU}" in assess("deepseek-r1:1.5b", node("orin1", 16))["why_not"]


def test_without_a_gpu_it_runs_only_when_asked_to() -> None:
    nuc = node("nuc1", 16, arch="amd64")
    assert assess("deepseek-r1:1.5b", nuc, host=HOSTS["cpu"])["why_not"] == "it has no GPU"
    on_cpu = assess("deepseek-r1:1.5b", nuc, host=HOSTS["cpu"], cpu=True)
    assert (on_cpu["why_not"], on_cpu["gpu"]) == ("", False)


def test_a_discrete_gpu_has_memory_of_its_own() -> None:
    box = node("box", 8, gpus=1, arch="amd64", **{"nvidia.com/gpu.memory": "8192"})
    small = assess("deepseek-r1:7b", box, host=HOSTS["dgpu"])
    assert (small["why_not"], small["request_mib"]) == ("", 512)
    assert "of GPU memory" in assess("deepseek-r1:14b", box, host=HOSTS["dgpu"])["why_not"]
    mine = pod("other", "box")
    mine["metadata"]["annotations"] = {fit.GPU_MEMORY: "6000"}
    assert "of GPU memory" in assess("deepseek-r1:7b", box, mine, host=HOSTS["dgpu"])["why_not"]


def test_a_host_that_nobody_saw_is_not_taken() -> None:
    assert "knows nothing" in assess("deepseek-r1:1.5b", node("orin1", 16, gpus=1), host=None)["why_not"]


def fits(*which: tuple[str, float, bool]) -> list[dict[str, Any]]:
    return [
        {"node": name, "platform": "jetson" if gpu else "cpu", "gpu": gpu, "free_mib": free, "why_not": ""}
        for name, free, gpu in which
    ]


def test_the_node_with_the_most_memory_is_taken_but_one_that_has_its_data_stays() -> None:
    both = fits(("orin1", 4000, True), ("orin2", 9000, True))
    assert fit.choose(both, {})["node"] == "orin2"
    assert fit.choose(both, {}, "orin1")["node"] == "orin1"
    assert fit.choose(both, {"node": "orin2"}, "orin1")["node"] == "orin2"
    both[0]["why_not"] = "full"
    assert fit.choose(both, {}, "orin1") is None
    assert fit.choose(both, {"platform": "cpu"}) is None


def test_what_needs_no_gpu_leaves_boards_alone() -> None:
    nuc = fit.assess(WEBUI, {"runtime": 1024}, node("nuc1", 4, arch="amd64"), [], HOSTS["cpu"])
    orin = fit.assess(WEBUI, {"runtime": 1024}, node("orin1", 16, gpus=1), [], HOSTS["jetson"])
    assert (nuc["why_not"], orin["why_not"], orin["gpu"]) == ("", "", False)
    assert fit.choose([orin, nuc], {})["node"] == "nuc1"


@pytest.mark.parametrize(
    ("quantity", "mib"), [("1Gi", 1024), ("1536Mi", 1536), ("2097152Ki", 2048), ("1G", 953), ("134217728", 128)]
)
def test_quantities_are_read_as_kubernetes_writes_them(quantity: str, mib: int) -> None:
    assert fit.mib(quantity) == mib


def test_a_sidecar_counts_beside_the_containers_and_an_init_container_alone() -> None:
    one = pod("a", "orin1", "100Mi")
    asks = {"resources": {"requests": {"memory": "300Mi"}}}
    one["spec"]["initContainers"] = [asks]
    assert fit.requested_mib(one) == 300
    one["spec"]["initContainers"] = [{**asks, "restartPolicy": "Always"}]
    assert fit.requested_mib(one) == 400


def test_oldest_drivers_are_those_of_the_compatibility_table() -> None:
    assert {int(row.cuda): int(row.driver) for row in tables.shipped().drivers.drivers} == fit.CUDA_DRIVERS
