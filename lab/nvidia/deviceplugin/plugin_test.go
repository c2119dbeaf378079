package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const jetson = "version: v1\nflags: {deviceDiscoveryStrategy: tegra, plugin: {deviceIDStrategy: index}}\n"

func pluginOf(t *testing.T, file string, environment map[string]string) *Plugin {
	t.Helper()
	config, err := settings(t, file, environment)
	if err != nil {
		t.Fatal(err)
	}
	return newPlugin(config, t.TempDir(), []string{device})
}

func ids(plugin *Plugin) []string {
	var found []string
	for _, known := range plugin.devices {
		found = append(found, known.ID)
	}
	return found
}

func allocate(plugin *Plugin, devices ...string) (*api.ContainerAllocateResponse, error) {
	response, err := plugin.Allocate(context.Background(),
		&api.AllocateRequest{ContainerRequests: []*api.ContainerAllocateRequest{{DevicesIds: devices}}})
	if err != nil {
		return nil, err
	}
	return response.ContainerResponses[0], nil
}

func TestAJetsonIsOneDevice(t *testing.T) {
	if found := ids(pluginOf(t, jetson, nil)); !slices.Equal(found, []string{"tegra"}) {
		t.Error(found)
	}
}

func TestTheStrategyDecidesHowTheGPUIsNamed(t *testing.T) {
	for strategy, want := range map[string]string{"uuid": "tegra", "index": "0"} {
		for _, file := range []string{"", timeSlicing} {
			plugin := pluginOf(t, file, map[string]string{"DEVICE_ID_STRATEGY": strategy})
			response, err := allocate(plugin, plugin.devices[0].ID)
			if err != nil || response.Envs[visible] != want || len(response.Envs) != 1 {
				t.Errorf("%s: %v %v", strategy, response, err)
			}
		}
	}
}

func TestTimeSlicingMakesSeveralOfOne(t *testing.T) {
	plugin := pluginOf(t, timeSlicing, nil)
	if found := ids(plugin); !slices.Equal(found, []string{"tegra::0", "tegra::1", "tegra::2", "tegra::3"}) {
		t.Error(found)
	}
	if plugin.resource != "nvidia.com/gpu" {
		t.Error(plugin.resource)
	}
	if _, err := allocate(plugin, "tegra::0", "tegra::1"); err != nil {
		t.Error(err)
	}
}

func TestASharedGPUIsRenamedOnDemand(t *testing.T) {
	plugin := pluginOf(t, strings.Replace(timeSlicing, "resources", "renameByDefault: true, resources", 1), nil)
	if plugin.resource != "nvidia.com/gpu.shared" || filepath.Base(plugin.socket()) != "nvidia-gpu.shared.sock" {
		t.Error(plugin.resource, plugin.socket())
	}
}

func TestMoreThanOneShareIsRefusedOnDemand(t *testing.T) {
	plugin := pluginOf(t, strings.Replace(timeSlicing, "resources", "failRequestsGreaterThanOne: true, resources", 1), nil)
	if _, err := allocate(plugin, "tegra::0", "tegra::1"); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
	if _, err := allocate(plugin, "tegra::1"); err != nil {
		t.Error(err)
	}
}

func TestAnUnknownDeviceIsRefused(t *testing.T) {
	if _, err := allocate(pluginOf(t, timeSlicing, nil), "tegra"); err == nil {
		t.Error("allocated")
	}
}

func TestTheNameCanGoByAMount(t *testing.T) {
	plugin := pluginOf(t, jetson, map[string]string{"DEVICE_LIST_STRATEGY": "volume-mounts"})
	response, err := allocate(plugin, "tegra")
	if err != nil || response.Envs[visible] != mountRoot || response.Mounts[0].ContainerPath != mountRoot+"/0" {
		t.Error(response, err)
	}
}

// kubelet is as much of kubelet as a plugin meets.
type kubelet struct {
	api.UnimplementedRegistrationServer
	requests chan *api.RegisterRequest
}

func (k *kubelet) Register(_ context.Context, request *api.RegisterRequest) (*api.Empty, error) {
	k.requests <- request
	return &api.Empty{}, nil
}

func startKubelet(t *testing.T, directory string) (*kubelet, *grpc.Server) {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(directory, "kubelet.sock"))
	if err != nil {
		t.Fatal(err)
	}
	made, server := &kubelet{requests: make(chan *api.RegisterRequest, 8)}, grpc.NewServer()
	api.RegisterRegistrationServer(server, made)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return made, server
}

func registered(t *testing.T, from *kubelet) *api.RegisterRequest {
	t.Helper()
	select {
	case request := <-from.requests:
		return request
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was registered")
		return nil
	}
}

func TestKubeletIsToldAgainAfterItsRestart(t *testing.T) {
	directory := t.TempDir()
	first, server := startKubelet(t, directory)
	signals, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() {
		ended <- run(func() (*Config, error) { return settings(t, jetson, nil) }, t.TempDir(), directory, signals)
	}()
	request := registered(t, first)
	if request.ResourceName != "nvidia.com/gpu" || request.Version != "v1beta1" {
		t.Error(request)
	}
	server.Stop()
	second, _ := startKubelet(t, directory)
	endpoint := registered(t, second).Endpoint

	// What kubelet does next: ask the plugin for its devices.
	connection, err := grpc.NewClient("unix://"+filepath.Join(directory, endpoint),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	stream, err := api.NewDevicePluginClient(connection).ListAndWatch(ctx, &api.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := stream.Recv()
	if err != nil || len(list.Devices) != 1 || list.Devices[0].Health != api.Healthy {
		t.Error(list, err)
	}

	signals <- syscall.SIGTERM
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWithoutNVMLThePluginFailsOrIdles(t *testing.T) {
	directory := t.TempDir()
	if _, _, err := offer(func() (*Config, error) { return settings(t, "", nil) }, t.TempDir(), directory); err == nil {
		t.Error("no error")
	}
	idle := map[string]string{"FAIL_ON_INIT_ERROR": "false"}
	plugin, again, err := offer(func() (*Config, error) { return settings(t, "", idle) }, t.TempDir(), directory)
	if plugin != nil || again != nil || err != nil {
		t.Error(plugin, again, err)
	}
}

func TestMPSOnAJetsonWaitsForEver(t *testing.T) {
	file := jetson + strings.TrimPrefix(strings.Replace(timeSlicing, "timeSlicing", "mps", 1), "version: v1\n")
	plugin, again, err := offer(func() (*Config, error) { return settings(t, file, nil) }, t.TempDir(), t.TempDir())
	if plugin != nil || again == nil || err != nil {
		t.Error(plugin, again, err)
	}
}

func TestDiscreteGPUsAreOfferedEachAndNamedOnce(t *testing.T) {
	config, err := settings(t, timeSlicing, nil)
	if err != nil {
		t.Fatal(err)
	}
	plugin := newPlugin(config, t.TempDir(), []string{"GPU-a", "GPU-b"})
	if found := ids(plugin); len(found) != 8 || found[7] != "GPU-b::3" {
		t.Error(found)
	}
	for devices, want := range map[string]string{"GPU-b::0": "GPU-b", "GPU-a::1 GPU-a::2 GPU-b::0": "GPU-a,GPU-b"} {
		response, err := allocate(plugin, strings.Fields(devices)...)
		if err != nil || response.Envs[visible] != want {
			t.Errorf("%s: %v %v", devices, response, err)
		}
	}
	config.Flags.Plugin.DeviceIDStrategy = "index"
	if response, err := allocate(plugin, "GPU-b::1"); err != nil || response.Envs[visible] != "1" {
		t.Errorf("%v %v", response, err)
	}
}
