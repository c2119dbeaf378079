package main

import (
	_ "embed"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"
)

// Paths as docs.k3s.io has them ("Cluster Access", "Configuration Options", "k3s token", "Advanced Options").
const (
	configFile       = "/etc/rancher/k3s/config.yaml"
	adminKubeconfig  = "/etc/rancher/k3s/k3s.yaml"
	nodePasswordFile = "/etc/rancher/node/password"
	dataDir          = "/var/lib/rancher/k3s"
	serverDir        = dataDir + "/server"
	agentDir         = dataDir + "/agent"
	runDir           = "/run/k3s"
	containerdSocket = runDir + "/containerd/containerd.sock"
)

//go:embed keys.yml
var keysDocument []byte

// options are the values of one start, by name; a repeated or listed option has several.
type options map[string][]string

func (o options) one(name, otherwise string) string {
	if values := o[name]; len(values) > 0 {
		return values[len(values)-1]
	}
	return otherwise
}

// on: a switch that is named, and not with the value false.
func (o options) on(name string) bool { return len(o[name]) > 0 && o.one(name, "") != "false" }

// configured is what the file and those beside it say (docs.k3s.io, "Configuration Options").
func configured(file string) options {
	found := options{}
	beside, _ := filepath.Glob(file + ".d/*.yaml")
	sort.Strings(beside)
	for _, path := range append([]string{file}, beside...) {
		readConfig(path, found)
	}
	return found
}

// parse reads config.yaml, the files beside it, and the command line, which comes last and wins (docs.k3s.io,
// "Configuration Options"). k3s turns each key into a flag (pkg/configfilearg), so a key that is no flag ends it.
func parse(command string, arguments []string) options {
	var keys struct {
		Agent, Server, Components, Acts string
		Environment                     map[string]string
	}
	check(yaml.Unmarshal(keysDocument, &keys), "keys.yml")
	known := strings.Fields(keys.Agent)
	if command == "server" {
		known = append(known, strings.Fields(keys.Server)...)
	}
	file := configFile
	for i, argument := range arguments {
		if name, value, _ := strings.Cut(argument, "="); name == "--config" || name == "-c" {
			if file = value; value == "" && len(arguments) > i+1 {
				file = arguments[i+1]
			}
		}
	}
	found := options{}
	for variable, name := range keys.Environment { // what is weakest comes first
		if value := os.Getenv(variable); value != "" && slices.Contains(known, name) {
			found[name] = []string{value}
		}
	}
	maps.Copy(found, configured(file))
	for i := 0; i < len(arguments); i++ {
		name, value, given := strings.Cut(strings.TrimLeft(arguments[i], "-"), "=")
		if !strings.HasPrefix(arguments[i], "-") {
			log.Fatalf("level=fatal msg=%q", "unexpected argument "+arguments[i])
		}
		if !given && i+1 < len(arguments) && !strings.HasPrefix(arguments[i+1], "-") {
			i++
			value = arguments[i]
		}
		found[name] = append(found[name], value)
	}
	for name := range found {
		if !slices.Contains(known, name) {
			fmt.Printf("Incorrect Usage: flag provided but not defined: -%s\n", name)
			log.Fatalf("level=fatal msg=%q", "flag provided but not defined: -"+name)
		}
		if !slices.Contains(strings.Fields(keys.Acts), name) {
			log.Printf("level=warning msg=%q", "the stand-in does nothing about "+name)
		}
	}
	for _, component := range found["disable"] {
		if !slices.Contains(strings.Fields(keys.Components), component) {
			log.Printf("level=warning msg=%q", "nothing to disable by the name "+component)
		}
	}
	return found
}

func readConfig(path string, into options) {
	content, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return
	}
	check(err, "config file")
	values := map[string]any{}
	check(yaml.UnmarshalStrict(content, &values), path)
	for key, value := range values {
		key, adds := strings.CutSuffix(key, "+")
		var texts []string
		switch value := value.(type) {
		case []any:
			for _, one := range value {
				texts = append(texts, fmt.Sprint(one))
			}
		default:
			texts = []string{fmt.Sprint(value)}
		}
		if adds {
			texts = append(into[key], texts...)
		}
		into[key] = texts
	}
}
