package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	vendor   = "nvidia.com/"
	resource = vendor + "gpu"
	// A Jetson is one device under a name of its own, however many GPUs it has.
	device    = "tegra"
	separator = "::"
	visible   = "NVIDIA_VISIBLE_DEVICES"
	// Of the strategy volume-mounts: the toolkit reads the names of the files that are mounted there.
	mountRoot = "/var/run/nvidia-container-devices"
)

// Plugin offers one resource to kubelet.
type Plugin struct {
	api.UnimplementedDevicePluginServer
	config   *Config
	resource string
	// Whole GPUs, and what each is offered as.
	gpus    []string
	devices []*api.Device
	// Where kubelet's socket and the plugins' are.
	directory string
	server    *grpc.Server
	stopped   chan struct{}
}

// newPlugin gives the plugin of these GPUs: UUIDs of discrete ones, or the one name of a Jetson's.
func newPlugin(config *Config, directory string, gpus []string) *Plugin {
	plugin := &Plugin{config: config, resource: resource, gpus: gpus, directory: directory, stopped: make(chan struct{})}
	replicas := 0
	if sharing := config.Sharing.TimeSlicing; sharing != nil {
		for _, shared := range sharing.Resources {
			if shared.Rename != "" && (!sharing.RenameByDefault || shared.Rename != shared.Name+sharedSuffix) {
				log.Print("Setting the 'rename' field in sharing.timeSlicing.resources is not supported. Ignoring...")
			}
			if shared.Name != resource {
				continue
			}
			replicas = *shared.Replicas
			if sharing.RenameByDefault {
				plugin.resource = resource + sharedSuffix
			}
		}
	}
	for _, gpu := range gpus {
		if replicas == 0 {
			plugin.devices = append(plugin.devices, &api.Device{ID: gpu, Health: api.Healthy})
		}
		for number := range replicas {
			id := fmt.Sprint(gpu, separator, number)
			plugin.devices = append(plugin.devices, &api.Device{ID: id, Health: api.Healthy})
		}
	}
	return plugin
}

func (plugin *Plugin) socket() string {
	return filepath.Join(plugin.directory, "nvidia-"+strings.TrimPrefix(plugin.resource, vendor)+".sock")
}

// start serves on the plugin's own socket and registers it at kubelet's.
func (plugin *Plugin) start(ctx context.Context) error {
	if err := os.Remove(plugin.socket()); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", plugin.socket())
	if err != nil {
		return err
	}
	plugin.server = grpc.NewServer()
	api.RegisterDevicePluginServer(plugin.server, plugin)
	go func() {
		if err := plugin.server.Serve(listener); err != nil {
			log.Printf("gRPC server of %s: %v", plugin.resource, err)
		}
	}()
	kubelet := "unix://" + filepath.Join(plugin.directory, filepath.Base(api.KubeletSocket))
	connection, err := grpc.NewClient(kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	_, err = api.NewRegistrationClient(connection).Register(ctx, &api.RegisterRequest{
		Version:      api.Version,
		Endpoint:     filepath.Base(plugin.socket()),
		ResourceName: plugin.resource,
		Options:      &api.DevicePluginOptions{GetPreferredAllocationAvailable: true},
	})
	return err
}

func (plugin *Plugin) stop() {
	close(plugin.stopped)
	if plugin.server != nil {
		plugin.server.Stop()
	}
}

// GetDevicePluginOptions says what else kubelet may ask.
func (plugin *Plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{GetPreferredAllocationAvailable: true}, nil
}

// ListAndWatch tells the devices once: those of the lab are always healthy.
func (plugin *Plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	if err := stream.Send(&api.ListAndWatchResponse{Devices: plugin.devices}); err != nil {
		return err
	}
	select {
	case <-plugin.stopped:
	case <-stream.Context().Done():
	}
	return nil
}

// GetPreferredAllocation has no preference: all devices are as good as one another.
func (plugin *Plugin) GetPreferredAllocation(
	_ context.Context, request *api.PreferredAllocationRequest,
) (*api.PreferredAllocationResponse, error) {
	response := &api.PreferredAllocationResponse{}
	for _, wanted := range request.ContainerRequests {
		chosen := slices.Clone(wanted.MustIncludeDeviceIDs)
		for _, id := range wanted.AvailableDeviceIDs {
			if len(chosen) < int(wanted.AllocationSize) && !slices.Contains(chosen, id) {
				chosen = append(chosen, id)
			}
		}
		response.ContainerResponses = append(
			response.ContainerResponses, &api.ContainerPreferredAllocationResponse{DeviceIDs: chosen})
	}
	return response, nil
}

// Allocate names the GPUs to the container runtime.
func (plugin *Plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for _, wanted := range request.ContainerRequests {
		sharing := plugin.config.Sharing.TimeSlicing
		if sharing != nil && sharing.FailRequestsGreaterThanOne && len(wanted.DevicesIds) > 1 {
			return nil, fmt.Errorf("request for '%s: %d' too large: maximum request size for shared resources is 1",
				plugin.resource, len(wanted.DevicesIds))
		}
		for _, id := range wanted.DevicesIds {
			if !slices.ContainsFunc(plugin.devices, func(known *api.Device) bool { return known.ID == id }) {
				return nil, fmt.Errorf("invalid allocation request for '%s': unknown device: %s", plugin.resource, id)
			}
		}
		response.ContainerResponses = append(response.ContainerResponses, plugin.allocation(wanted.DevicesIds))
	}
	return response, nil
}

func (plugin *Plugin) allocation(devices []string) *api.ContainerAllocateResponse {
	ids := []string{}
	for number, gpu := range plugin.gpus {
		if !slices.ContainsFunc(devices, func(id string) bool { return strings.Split(id, separator)[0] == gpu }) {
			continue
		}
		if plugin.config.Flags.Plugin.DeviceIDStrategy == "index" {
			gpu = fmt.Sprint(number)
		}
		ids = append(ids, gpu)
	}
	response := &api.ContainerAllocateResponse{Envs: map[string]string{visible: strings.Join(ids, ",")}}
	if plugin.config.lists("volume-mounts") {
		response.Envs[visible] = mountRoot
		for _, id := range ids {
			response.Mounts = append(
				response.Mounts, &api.Mount{HostPath: "/dev/null", ContainerPath: filepath.Join(mountRoot, id)})
		}
	}
	return response
}
