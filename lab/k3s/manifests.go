package main

import (
	"embed"
	"fmt"
	"os/exec"
	"strings"
)

// Set by the linker: what the lab has built.
var (
	corednsImage = "rancher/mirrored-coredns-coredns:latest"
	pauseImage   = "rancher/mirrored-pause:3.6"
)

//go:embed manifests/*.yaml
var manifests embed.FS

func packaged() []string {
	entries, err := manifests.ReadDir("manifests")
	check(err, "manifests")
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func packagedManifest(name string) string {
	content, err := manifests.ReadFile("manifests/" + name)
	check(err, name)
	return string(content)
}

func (s *server) apply(file string) error {
	command := exec.Command(self())
	command.Args = []string{
		"kubectl", "--cache-dir", runDir + "/kubectl", "--kubeconfig", serverDir + "/cred/admin.kubeconfig", "apply", "--server-side", "--force-conflicts",
		"--field-manager", "deploy@" + nodeName(), "--filename", file,
	}
	said, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said)))
	}
	return nil
}

// runToken: `k3s token generate` and `k3s token create` (docs.k3s.io, "k3s token").
func runToken(arguments []string) {
	if len(arguments) == 1 && arguments[0] == "generate" {
		fmt.Printf("%s.%s\n", randomHex(3), randomHex(8))
		return
	}
	usage()
}
