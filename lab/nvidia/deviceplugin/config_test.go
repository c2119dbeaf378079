package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const timeSlicing = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n"

func none(string) string { return "" }

func settings(t *testing.T, file string, environment map[string]string, arguments ...string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) string {
		if name == "CONFIG_FILE" {
			return path
		}
		return environment[name]
	}
	return load(arguments, lookup)
}

func TestDefaultsAreThoseOfTheRealPlugin(t *testing.T) {
	config, err := load(nil, none)
	if err != nil {
		t.Fatal(err)
	}
	if config.Flags.DeviceDiscoveryStrategy != "auto" || config.Flags.Plugin.DeviceIDStrategy != "uuid" {
		t.Errorf("%+v", config.Flags)
	}
	if !*config.Flags.FailOnInitError || !config.lists("envvar") {
		t.Errorf("%+v", config.Flags)
	}
}

func TestTheCommandLineBeatsTheEnvironmentAndThatTheFile(t *testing.T) {
	file := "flags: {deviceDiscoveryStrategy: tegra, failOnInitError: true, plugin: {deviceIDStrategy: index}}"
	environment := map[string]string{
		"DEVICE_DISCOVERY_STRATEGY": "nvml", "FAIL_ON_INIT_ERROR": "false", "DEVICE_ID_STRATEGY": "uuid",
	}
	config, err := settings(t, file, environment, "--device-id-strategy=index")
	if err != nil {
		t.Fatal(err)
	}
	if config.platform(t.TempDir()) != "nvml" || *config.Flags.FailOnInitError || config.Flags.Plugin.DeviceIDStrategy != "index" {
		t.Errorf("%+v", config.Flags)
	}
}

func TestTheFileOfTheCommandLineIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yml")
	if err := os.WriteFile(path, []byte("flags: {deviceDiscoveryStrategy: tegra}"), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := load([]string{"--config-file=" + path}, none)
	if err != nil || config.platform(t.TempDir()) != "tegra" {
		t.Errorf("%+v %v", config, err)
	}
}

func TestAListMayBeOneWord(t *testing.T) {
	for _, list := range []string{"envvar", "[envvar]"} {
		config, err := settings(t, "flags: {plugin: {deviceListStrategy: "+list+"}}", nil)
		if err != nil || !config.lists("envvar") {
			t.Errorf("%s: %v", list, err)
		}
	}
}

func TestAllKeysOfTheRealFileAreKnown(t *testing.T) {
	file := `
version: v1
flags:
  migStrategy: mixed
  failOnInitError: true
  nvidiaDriverRoot: /
  gdsEnabled: false
  plugin: {passDeviceSpecs: false, deviceListStrategy: [envvar], deviceIDStrategy: uuid, containerDriverRoot: /driver-root}
  gfd: {oneshot: false}
resources: {gpus: []}
sharing:
  timeSlicing:
    renameByDefault: false
    failRequestsGreaterThanOne: true
    resources: [{name: gpu, replicas: 2, devices: all}]
`
	if _, err := settings(t, file, nil); err != nil {
		t.Error(err)
	}
}

func TestWhatTheRealPluginRefusesIsRefused(t *testing.T) {
	mps := strings.Replace(timeSlicing, "timeSlicing", "mps", 1)
	both := timeSlicing[:len(timeSlicing)-2] + ", mps: {resources: [{name: gpu, replicas: 2}]}}\n"
	for file, want := range map[string]string{
		"version: v2": "unknown version",
		strings.Replace(timeSlicing, "4", "1", 1):              "must be >= 2",
		strings.Replace(mps, "4", "0", 1):                      "must be >= 2",
		strings.Replace(timeSlicing, ", replicas: 4", "", 1):   "no replicas",
		"sharing: {timeSlicing: {resources: []}}":              "no resources",
		"sharing: {timeSlicing: {resources: [{replicas: 2}]}}": "no resource name",
		"flags: {plugin: {deviceIDStrategy: name}}":            "invalid --device-id-strategy",
		"flags: {deviceDiscoveryStrategy: cuda}":               "invalid --device-discovery-strategy",
		"flags: {plugin: {deviceListStrategy: cdi-cri}}":       "only supported on NVML-based systems",
		both: "both MPS and time-slicing",
	} {
		if _, err := settings(t, file, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestAMisspeltKeyIsAnError(t *testing.T) {
	for _, file := range []string{
		"flag: {}",
		"flags: {deviceIDStrategy: index}",
		strings.Replace(timeSlicing, "replicas", "replica", 1),
		strings.Replace(timeSlicing, "resources", "failRequests: true, resources", 1),
	} {
		if _, err := settings(t, file, nil); err == nil {
			t.Errorf("accepted: %s", file)
		}
	}
}

func TestAutoFindsAJetsonOnlyBelowTheDriverRoot(t *testing.T) {
	root := t.TempDir()
	config, err := settings(t, "", map[string]string{"CONTAINER_DRIVER_ROOT": root})
	if err != nil {
		t.Fatal(err)
	}
	if found := config.platform(t.TempDir()); found != "unknown" {
		t.Error(found)
	}
	if err := os.MkdirAll(root+"/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/etc/nv_tegra_release", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if found := config.platform(t.TempDir()); found != "tegra" {
		t.Error(found)
	}
}

func TestAutoFindsDiscreteGPUsByTheLibraryThatTheRuntimePutThere(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.261.03", "/dev/nvidia0", "/dev/nvidia1"} {
		if err := os.MkdirAll(filepath.Dir(root+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	config, err := settings(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if found := config.platform(root); found != "nvml" {
		t.Error(found)
	}
	if found := discrete(root); len(found) != 2 || !strings.HasPrefix(found[1], "GPU-") || found[0] == found[1] {
		t.Error(found)
	}
}
