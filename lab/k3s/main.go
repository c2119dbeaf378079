// K3s is a stand-in for k3s in edgectl's lab, for machines where its release cannot be downloaded: it is not k3s.
//
// It runs the same Kubernetes as the lab's kubeadm cluster, and keeps to k3s' outside: subcommands, config.yaml, paths,
// tokens, join, generated containerd configuration, manifests folder. Sources are the pages of docs.k3s.io and the
// packages of k3s-io/k3s that stand beside what they explain. What k3s has and this has not: SQLite (a lone server
// runs on etcd here too), resetting a cluster, network policies, the cloud controller, servicelb, traefik, local-path,
// metrics-server, Helm.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	_ "time/tzdata" // CronJob's timeZone

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	componentversion "k8s.io/component-base/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// components are Kubernetes' own programs; k3s runs them inside of itself, this as children of its own file.
var components = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-proxy":              proxy.NewProxyCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	"kubectl":                 kubectl.NewDefaultKubectlCommand,
}

func main() {
	runtime.LockOSThread() // children die with the thread that started them (Pdeathsig)
	log.SetFlags(0)
	name := filepath.Base(os.Args[0])
	if name == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	if component, known := components[name]; known {
		os.Exit(cli.Run(component()))
	}
	if len(os.Args) < 2 {
		usage()
	}
	switch command := os.Args[1]; command {
	case "server":
		runServer(parse("server", os.Args[2:]))
	case "agent":
		runAgent(parse("agent", os.Args[2:]))
	case "kubectl":
		os.Setenv("KUBECONFIG", kubeconfigFor(os.Getenv("KUBECONFIG")))
		os.Args = append([]string{"kubectl"}, os.Args[2:]...)
		os.Exit(cli.Run(kubectl.NewDefaultKubectlCommand()))
	case "ctr":
		runProgram("ctr", append([]string{"--address", containerdSocket, "--namespace", "k8s.io"}, os.Args[2:]...))
	case "token":
		runToken(os.Args[2:])
	case "etcd-snapshot":
		runSnapshot(os.Args[2:])
	case "certificate":
		runCertificate(os.Args[2:])
	case "--version", "-v":
		fmt.Printf("k3s version %s+k3s1 (edgectl's stand-in, not k3s)\n", componentversion.Get().GitVersion)
	default:
		usage()
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "k3s (a stand-in of edgectl's lab): server, agent, kubectl, ctr, token, etcd-snapshot, certificate check, --version")
	os.Exit(1)
}

// kubeconfigFor is where `k3s kubectl` looks when it is told nothing (docs.k3s.io, "Cluster Access").
func kubeconfigFor(told string) string {
	if told != "" {
		return told
	}
	return adminKubeconfig
}

func check(err error, what string) {
	if err != nil {
		log.Fatalf("level=fatal msg=%q", fmt.Sprintf("%s: %v", what, err))
	}
}
