#!/usr/bin/env bash
# What a bootstrap costs without edgectl: the steps of the blog posts on a lab, with nothing checked and nothing kept
# for a second run. The measure that `edgectl bootstrap` is compared with.
#   tests/bench/by_hand.sh LAB
set -euo pipefail
lab=$1
inventory=$(edgectl lab status --name "$lab" --json | python -c 'import json, sys; print(json.load(sys.stdin)["labs"][0]["inventory"])')
artifacts=$(sed -n 's/^cluster_artifacts_dir: "\(.*\)"/\1/p' "$inventory/group_vars/all.yml")
version=$(cd "$artifacts/kubernetes" && ls)
key=$(sed -n 's/^ansible_ssh_private_key_file: //p' "$inventory/group_vars/all.yml")
mapfile -t lines < <(edgectl lab status --name "$lab" --json | python -c '
import json, sys
for node in json.load(sys.stdin)["labs"][0]["nodes"]:
    print(node["name"], node["address"])')
names=() addresses=()
for line in "${lines[@]}"; do names+=("${line% *}") addresses+=("${line#* }"); done
options=(-i "$key" -o "UserKnownHostsFile=$inventory/.edgectl/known_hosts" -o BatchMode=yes -o LogLevel=ERROR)
on() { ssh "${options[@]}" "edge@${addresses[$1]}" sudo sh -ec "$(printf %q "$2")"; }
everywhere() { local i pids=() p; for i in "${!names[@]}"; do "$@" "$i" & pids+=($!); done; for p in "${pids[@]}"; do wait "$p"; done; }

prepare() {
  on "$1" 'export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update
    apt-get -qq install -y --no-install-recommends containerd wireguard-tools wireguard-go containernetworking-plugins \
      conntrack socat ethtool iptables >/dev/null
    containerd config default | sed "s/SystemdCgroup = false/SystemdCgroup = true/; s#/opt/cni/bin#/usr/lib/cni#
      s#sandbox_image = .*#sandbox_image = \"registry.k8s.io/pause:3.10.1\"#
      s/restrict_oom_score_adj = false/restrict_oom_score_adj = true/" > /etc/containerd/config.toml
    systemctl restart containerd
    umask 077; wg genkey > /etc/wireguard/wg0.key; wg pubkey < /etc/wireguard/wg0.key > /etc/wireguard/wg0.pub'
}
tunnel() {
  local i config
  config="[Interface]
Address = 10.200.0.$(($1 + 1))/32
ListenPort = 51871
PostUp = wg set %i private-key /etc/wireguard/%i.key"
  for i in "${!names[@]}"; do
    [ "$i" = "$1" ] || config+="
[Peer]
PublicKey = ${public[$i]}
Endpoint = ${addresses[$i]}:51871
AllowedIPs = 10.200.0.$((i + 1))/32, 10.244.$i.0/24"
  done
  on "$1" "echo '$config' > /etc/wireguard/wg0.conf; systemctl enable -q --now wg-quick@wg0
    mkdir -p /etc/cni/net.d
    echo '{\"cniVersion\": \"1.0.0\", \"name\": \"bench\", \"plugins\": [{\"type\": \"bridge\", \"bridge\": \"cni0\",
      \"isGateway\": true, \"ipam\": {\"type\": \"host-local\", \"ranges\": [[{\"subnet\": \"10.244.$1.0/24\"}]],
      \"routes\": [{\"dst\": \"0.0.0.0/0\"}]}}, {\"type\": \"portmap\", \"capabilities\": {\"portMappings\": true}}]}' \
      > /etc/cni/net.d/10-bench.conflist"
}
kubernetes() {
  tar -C "$artifacts/kubernetes/$version/linux-amd64" -c . |
    ssh "${options[@]}" "edge@${addresses[$1]}" sudo tar -C /usr/local/bin -x --no-same-owner
  on "$1" "ctr -n k8s.io images import /usr/local/bin/images.tar >/dev/null; rm /usr/local/bin/images.tar
    printf '[Unit]\nAfter=containerd.service\n[Service]\nEnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\n' > /etc/systemd/system/kubelet.service
    printf 'ExecStart=/usr/local/bin/kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml \$KUBELET_KUBEADM_ARGS\nRestart=always\n[Install]\nWantedBy=multi-user.target\n' >> /etc/systemd/system/kubelet.service
    systemctl daemon-reload; systemctl enable -q kubelet"
}
member() { # the part of a kubeadm configuration that is the same for init and join
  printf 'nodeRegistration:\n  name: %s\n  criSocket: unix:///run/containerd/containerd.sock\n' "${names[$1]}"
  printf '  kubeletExtraArgs: [{name: node-ip, value: 10.200.0.%s}]\n  ignorePreflightErrors: [all]\n' $(($1 + 1))
}
join() {
  [ "$1" != 0 ] || return 0
  on "$1" "cat > /run/join.yml <<'END'
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery: {bootstrapToken: {token: ${token}, apiServerEndpoint: '10.200.0.1:6443', caCertHashes: ['${ca_hash}']}}
$(member "$1")
END
    kubeadm join --config /run/join.yml >/dev/null 2>&1"
}

everywhere prepare
public=()
for i in "${!names[@]}"; do public+=("$(on "$i" 'cat /etc/wireguard/wg0.pub')"); done
everywhere tunnel
everywhere kubernetes
kubelet_config=$(python -c 'import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))["kubeadm_kubelet_config"]))' "$inventory/group_vars/all.yml")
on 0 "cat > /run/init.yml <<'END'
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: 10.200.0.1}
$(member 0)
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: $version
---
$(python -c 'import json, sys; print(json.dumps({"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", **json.loads(sys.argv[1])}))' "$kubelet_config")
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
conntrack: {maxPerCore: 0, min: 0}
END
  kubeadm init --config /run/init.yml >/dev/null 2>&1"
token=$(on 0 'kubeadm token create 2>/dev/null')
ca_hash=sha256:$(on 0 "openssl x509 -pubkey -in /etc/kubernetes/pki/ca.crt | openssl pkey -pubin -outform der | sha256sum | cut -d' ' -f1")
everywhere join
on 0 "export KUBECONFIG=/etc/kubernetes/admin.conf
  until [ \$(kubectl get nodes --no-headers | grep -c ' Ready ') = ${#names[@]} ]; do sleep 1; done"
