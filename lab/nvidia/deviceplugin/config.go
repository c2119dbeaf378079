package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

const sharedSuffix = ".shared"

// Config is the file that NVIDIA's plugin v0.20.0 reads. Keys without a meaning in the lab are known and ignored.
type Config struct {
	Version   string  `json:"version"`
	Flags     Flags   `json:"flags"`
	Sharing   Sharing `json:"sharing"`
	Resources any     `json:"resources"`
	Imex      any     `json:"imex"`
}

// Flags are settings that environment and command line can override.
type Flags struct {
	MigStrategy             string      `json:"migStrategy"`
	FailOnInitError         *bool       `json:"failOnInitError"`
	DeviceDiscoveryStrategy string      `json:"deviceDiscoveryStrategy"`
	NvidiaDriverRoot        string      `json:"nvidiaDriverRoot"`
	Plugin                  PluginFlags `json:"plugin"`

	NvidiaDevRoot            any `json:"nvidiaDevRoot"`
	RestartOnDeviceUnhealthy any `json:"restartOnDeviceUnhealthy"`
	UseNodeFeatureAPI        any `json:"useNodeFeatureAPI"`
	GDRCopyEnabled           any `json:"gdrcopyEnabled"`
	GDSEnabled               any `json:"gdsEnabled"`
	MOFEDEnabled             any `json:"mofedEnabled"`
	GFD                      any `json:"gfd"`
}

// PluginFlags are the flags that GPU feature discovery, which reads the same file, does not know.
type PluginFlags struct {
	DeviceListStrategy  Words  `json:"deviceListStrategy"`
	DeviceIDStrategy    string `json:"deviceIDStrategy"`
	ContainerDriverRoot string `json:"containerDriverRoot"`

	// A Jetson's device has no paths, so there is nothing to pass.
	PassDeviceSpecs     any `json:"passDeviceSpecs"`
	CDIAnnotationPrefix any `json:"cdiAnnotationPrefix"`
	NvidiaCTKPath       any `json:"nvidiaCTKPath"`
}

// Sharing is how one GPU becomes several.
type Sharing struct {
	TimeSlicing *Replicated `json:"timeSlicing"`
	MPS         *Replicated `json:"mps"`
}

// Replicated is one way of sharing.
type Replicated struct {
	RenameByDefault            bool       `json:"renameByDefault"`
	FailRequestsGreaterThanOne bool       `json:"failRequestsGreaterThanOne"`
	Resources                  []Resource `json:"resources"`
}

// Resource says how many of a resource each of its devices becomes. NVIDIA's plugin warns of rename and devices.
type Resource struct {
	Name     string `json:"name"`
	Rename   string `json:"rename"`
	Devices  any    `json:"devices"`
	Replicas *int   `json:"replicas"`
}

// Words is a list that may also be written as one word.
type Words []string

// UnmarshalJSON takes a string or a list of strings.
func (w *Words) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*w = strings.Split(one, ",")
		return nil
	}
	return json.Unmarshal(data, (*[]string)(w))
}

// override is a setting that the command line or, failing that, the environment takes out of the file's hands.
type override struct {
	variable, option string
	set              func(*Config, string) error
}

func text(field func(*Config) *string) func(*Config, string) error {
	return func(config *Config, value string) error {
		*field(config) = value
		return nil
	}
}

var overrides = []override{
	{"MIG_STRATEGY", "mig-strategy", text(func(c *Config) *string { return &c.Flags.MigStrategy })},
	{"NVIDIA_DRIVER_ROOT", "nvidia-driver-root", text(func(c *Config) *string { return &c.Flags.NvidiaDriverRoot })},
	{"DEVICE_DISCOVERY_STRATEGY", "device-discovery-strategy",
		text(func(c *Config) *string { return &c.Flags.DeviceDiscoveryStrategy })},
	{"DEVICE_ID_STRATEGY", "device-id-strategy",
		text(func(c *Config) *string { return &c.Flags.Plugin.DeviceIDStrategy })},
	{"CONTAINER_DRIVER_ROOT", "container-driver-root",
		text(func(c *Config) *string { return &c.Flags.Plugin.ContainerDriverRoot })},
	{"DEVICE_LIST_STRATEGY", "device-list-strategy", func(c *Config, value string) error {
		c.Flags.Plugin.DeviceListStrategy = strings.Split(value, ",")
		return nil
	}},
	{"FAIL_ON_INIT_ERROR", "fail-on-init-error", func(c *Config, value string) error {
		fail, err := strconv.ParseBool(value)
		c.Flags.FailOnInitError = &fail
		return err
	}},
	{"PASS_DEVICE_SPECS", "pass-device-specs", func(_ *Config, value string) error {
		_, err := strconv.ParseBool(value)
		return err
	}},
}

// load gives the settings in effect: command line, then environment, then file, then defaults.
func load(arguments []string, environment func(string) string) (*Config, error) {
	options := flag.NewFlagSet("nvidia-device-plugin", flag.ContinueOnError)
	options.SetOutput(io.Discard)
	file := options.String("config-file", environment("CONFIG_FILE"), "")
	given := map[string]*string{}
	for _, known := range overrides {
		given[known.option] = options.String(known.option, environment(known.variable), "")
	}
	if err := options.Parse(arguments); err != nil {
		return nil, err
	}
	config := &Config{}
	if *file != "" {
		data, err := os.ReadFile(*file)
		if err != nil {
			return nil, fmt.Errorf("unable to read config file: %w", err)
		}
		if err := config.read(data); err != nil {
			return nil, fmt.Errorf("unable to parse config file %s: %w", *file, err)
		}
	}
	for _, known := range overrides {
		if value := *given[known.option]; value != "" {
			if err := known.set(config, value); err != nil {
				return nil, fmt.Errorf("invalid --%s or %s: %w", known.option, known.variable, err)
			}
		}
	}
	config.complete()
	return config, config.validate()
}

// read takes a file's content. NVIDIA's plugin passes over a key that it does not know; here it is an error, so that a
// misspelt one shows in the lab and not on a board.
func (config *Config) read(data []byte) error {
	if err := yaml.UnmarshalStrict(data, config); err != nil {
		return err
	}
	if config.Version != "" && config.Version != "v1" {
		return fmt.Errorf("unknown version: %s", config.Version)
	}
	for _, sharing := range []*Replicated{config.Sharing.TimeSlicing, config.Sharing.MPS} {
		if sharing == nil {
			continue
		}
		if len(sharing.Resources) == 0 {
			return errors.New("no resources specified")
		}
		for index := range sharing.Resources {
			if err := sharing.Resources[index].check(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (resource *Resource) check() error {
	switch {
	case resource.Name == "":
		return errors.New("no resource name specified")
	case resource.Replicas == nil:
		return errors.New("no replicas specified")
	case *resource.Replicas < 2:
		return errors.New("number of replicas must be >= 2")
	}
	if !strings.HasPrefix(resource.Name, vendor) {
		resource.Name = vendor + resource.Name
	}
	return nil
}

func (config *Config) complete() {
	setDefault := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	setDefault(&config.Flags.MigStrategy, "none")
	setDefault(&config.Flags.DeviceDiscoveryStrategy, "auto")
	setDefault(&config.Flags.NvidiaDriverRoot, "/")
	setDefault(&config.Flags.Plugin.DeviceIDStrategy, "uuid")
	setDefault(&config.Flags.Plugin.ContainerDriverRoot, "/driver-root")
	if config.Flags.FailOnInitError == nil {
		fail := true
		config.Flags.FailOnInitError = &fail
	}
	if len(config.Flags.Plugin.DeviceListStrategy) == 0 {
		config.Flags.Plugin.DeviceListStrategy = Words{"envvar"}
	}
}

func (config *Config) validate() error {
	for _, setting := range []struct {
		name    string
		values  []string
		allowed []string
	}{
		{"mig-strategy", []string{config.Flags.MigStrategy}, []string{"none", "single", "mixed"}},
		{"device-discovery-strategy", []string{config.Flags.DeviceDiscoveryStrategy}, []string{"auto", "nvml", "tegra"}},
		{"device-id-strategy", []string{config.Flags.Plugin.DeviceIDStrategy}, []string{"uuid", "index"}},
		{"device-list-strategy", config.Flags.Plugin.DeviceListStrategy,
			[]string{"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"}},
	} {
		for _, value := range setting.values {
			if !slices.Contains(setting.allowed, value) {
				return fmt.Errorf("invalid --%s option: %s", setting.name, value)
			}
		}
	}
	if config.Sharing.TimeSlicing != nil && config.Sharing.MPS != nil {
		return errors.New("using both MPS and time-slicing is not supported")
	}
	if config.lists("cdi-annotations") || config.lists("cdi-cri") {
		return errors.New("CDI --device-list-strategy options are only supported on NVML-based systems")
	}
	return nil
}

func (config *Config) lists(strategy string) bool {
	return slices.Contains(config.Flags.Plugin.DeviceListStrategy, strategy)
}

// platform says what the discovery strategy finds: discrete GPUs where the runtime has put NVML's library into the
// plugin's container, which on the lab's Jetson it has not.
func (config *Config) platform(root string) string {
	if config.Flags.DeviceDiscoveryStrategy != "auto" {
		return config.Flags.DeviceDiscoveryStrategy
	}
	if hasNVML(root) {
		return "nvml"
	}
	// Not in the plugin's own container: the toolkit puts the file into every container.
	if _, err := os.Stat(config.Flags.Plugin.ContainerDriverRoot + "/etc/nv_tegra_release"); err == nil {
		return "tegra"
	}
	return "unknown"
}

// hasNVML says whether the library is where the runtime puts it in the lab.
func hasNVML(root string) bool {
	found, _ := filepath.Glob(root + "/usr/lib*/*/libnvidia-ml.so.*")
	return len(found) > 0
}

// discrete gives the UUIDs of the discrete GPUs, one for each device node, as the lab's library does.
func discrete(root string) []string {
	uuids := []string{}
	for {
		number := len(uuids)
		if _, err := os.Stat(fmt.Sprintf("%s/dev/nvidia%d", root, number)); err != nil {
			return uuids
		}
		uuids = append(uuids, fmt.Sprintf("GPU-ed6ec710-0000-4000-8000-00000000000%d", number))
	}
}
