package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os/exec"
	"strings"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// Names of flannel (flannel-io/flannel, Documentation/backends.md and pkg/subnet/kube/annotations.go), which k3s has
// inside. Its CNI plugin hands on to `bridge`; here the configuration names `bridge` itself.
const (
	vxlanDevice    = "flannel.1"
	annotationIP   = "flannel.alpha.coreos.com/public-ip"
	annotationData = "flannel.alpha.coreos.com/backend-data"
	annotationType = "flannel.alpha.coreos.com/backend-type"
)

type vtep struct {
	VNI     int
	VtepMAC string
}

// startNetwork makes a VXLAN between the nodes: a device, and for each other node its address, and a route to its pods.
func startNetwork(o options, cluster shared, address string) {
	config, err := clientcmd.BuildConfigFromFlags("", agentDir+"/k3scontroller.kubeconfig")
	check(err, "k3scontroller.kubeconfig")
	client, err := kubernetes.NewForConfig(config)
	check(err, "k3scontroller.kubeconfig")
	var own string
	until("a pod CIDR", func() error {
		node, err := client.CoreV1().Nodes().Get(context.Background(), nodeName(), meta.GetOptions{})
		if err != nil {
			return err
		}
		if own = node.Spec.PodCIDR; own == "" {
			return fmt.Errorf("the node has none yet")
		}
		return nil
	})
	device := o.one("flannel-iface", deviceOf(address))
	under, err := net.InterfaceByName(device)
	check(err, device)
	mtu := under.MTU - 50
	exec.Command("ip", "link", "delete", vxlanDevice).Run()
	must("ip", "link", "add", vxlanDevice, "type", "vxlan", "id", "1", "dev", device, "local", address, "dstport", "8472", "nolearning")
	must("ip", "address", "add", nth(own, 0)+"/32", "dev", vxlanDevice)
	must("ip", "link", "set", vxlanDevice, "mtu", fmt.Sprint(mtu), "up")
	tunnel, err := net.InterfaceByName(vxlanDevice)
	check(err, vxlanDevice)
	data, _ := json.Marshal(vtep{1, tunnel.HardwareAddr.String()})
	patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		annotationIP: address, annotationData: string(data), annotationType: "vxlan",
	}}})
	until("the node's annotations", func() error {
		_, err := client.CoreV1().Nodes().Patch(
			context.Background(), nodeName(), types.StrategicMergePatchType, patch, meta.PatchOptions{})
		return err
	})
	masquerade(cluster.ClusterCIDR, own)
	write(agentDir+"/etc/cni/net.d/10-flannel.conflist", fmt.Sprintf(`{
  "name": "cbr0", "cniVersion": "1.0.0",
  "plugins": [
    {"type": "bridge", "bridge": "cni0", "mtu": %d, "isDefaultGateway": true, "hairpinMode": true, "forceAddress": true,
     "ipam": {"type": "host-local", "ranges": [[{"subnet": "%s"}]], "routes": [{"dst": "%s"}]}},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`, mtu, own, cluster.ClusterCIDR), 0o600)
	go follow(client, own)
}

func follow(client *kubernetes.Clientset, own string) {
	known := map[string]string{}
	for {
		nodes, err := client.CoreV1().Nodes().List(context.Background(), meta.ListOptions{})
		if err != nil {
			time.Sleep(3 * time.Second)
			continue
		}
		there := map[string]bool{}
		for _, node := range nodes.Items {
			var far vtep
			pods, address := node.Spec.PodCIDR, node.Annotations[annotationIP]
			json.Unmarshal([]byte(node.Annotations[annotationData]), &far)
			if pods == "" || pods == own || address == "" || far.VtepMAC == "" {
				continue
			}
			there[pods] = true
			state := address + " " + far.VtepMAC
			if known[pods] == state {
				continue
			}
			gateway := nth(pods, 0)
			must("ip", "neighbour", "replace", gateway, "lladdr", far.VtepMAC, "dev", vxlanDevice, "nud", "permanent")
			// By its path: `bridge` alone is the CNI plugin, which stands first and says nothing.
			must("/sbin/bridge", "fdb", "replace", far.VtepMAC, "dev", vxlanDevice, "dst", address)
			must("ip", "route", "replace", pods, "via", gateway, "dev", vxlanDevice, "onlink")
			known[pods] = state
		}
		for pods := range known {
			if !there[pods] {
				exec.Command("ip", "route", "delete", pods, "dev", vxlanDevice).Run()
				delete(known, pods)
			}
		}
		time.Sleep(3 * time.Second)
	}
}

// masquerade as flannel does with --ip-masq (pkg/trafficmngr/iptables): what leaves the cluster gets the host's address.
func masquerade(cluster, own string) {
	rules := [][]string{
		{"-s", own, "-d", cluster, "-j", "RETURN"},
		{"-s", cluster, "-d", own, "-j", "RETURN"},
		{"!", "-s", cluster, "-d", own, "-j", "RETURN"},
		{"-s", cluster, "!", "-d", "224.0.0.0/4", "-j", "MASQUERADE", "--random-fully"},
		{"!", "-s", cluster, "-d", cluster, "-j", "MASQUERADE", "--random-fully"},
	}
	chain("nat", "POSTROUTING", "FLANNEL-POSTRTG", rules)
	chain("filter", "FORWARD", "FLANNEL-FWD", [][]string{{"-s", cluster, "-j", "ACCEPT"}, {"-d", cluster, "-j", "ACCEPT"}})
}

func chain(table, from, name string, rules [][]string) {
	exec.Command("iptables", "-w", "-t", table, "-N", name).Run()
	must("iptables", "-w", "-t", table, "-F", name)
	for _, rule := range rules {
		must("iptables", append([]string{"-w", "-t", table, "-A", name, "-m", "comment", "--comment", "flanneld"}, rule...)...)
	}
	jump := []string{from, "-m", "comment", "--comment", "flanneld", "-j", name}
	if exec.Command("iptables", append([]string{"-w", "-t", table, "-C"}, jump...)...).Run() != nil {
		must("iptables", append([]string{"-w", "-t", table, "-A"}, jump...)...)
	}
}

func must(name string, arguments ...string) {
	if said, err := exec.Command(name, arguments...).CombinedOutput(); err != nil {
		log.Fatalf("level=fatal msg=%q", fmt.Sprintf("%s %s: %v: %s", name, strings.Join(arguments, " "), err, said))
	}
}

func deviceOf(address string) string {
	interfaces, err := net.Interfaces()
	check(err, "interfaces")
	for _, one := range interfaces {
		addresses, _ := one.Addrs()
		for _, found := range addresses {
			if network, ok := found.(*net.IPNet); ok && network.IP.String() == address {
				return one.Name
			}
		}
	}
	log.Fatalf("level=fatal msg=%q", "no interface has "+address)
	return ""
}
