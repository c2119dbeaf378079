// Deviceplugin stands in for NVIDIA's k8s-device-plugin v0.20.0 in edgectl's lab: it reads the same settings and speaks
// the same protocol to kubelet, but knows only what that plugin does on a Jetson, with whole discrete GPUs, or without
// any. NVIDIA's image is not on the Go module proxy. Rules: api/config/v1 and internal/rm of github.com/NVIDIA/k8s-device-plugin.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	registration = 5 * time.Second
	retry        = 30 * time.Second
)

func main() {
	log.SetFlags(log.LstdFlags | log.LUTC)
	log.Print("This is edgectl's lab stand-in for NVIDIA's k8s-device-plugin v0.20.0, not NVIDIA's program.")
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	settings := func() (*Config, error) { return load(os.Args[1:], os.Getenv) }
	if err := run(settings, "", api.DevicePluginPath, signals); err != nil {
		log.Print(err)
		os.Exit(1)
	}
}

// run offers the GPUs until a signal other than SIGHUP comes; once more whenever kubelet makes its socket anew.
func run(settings func() (*Config, error), root, directory string, signals <-chan os.Signal) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer watcher.Close()
	if err := watcher.Add(directory); err != nil {
		return fmt.Errorf("failed to watch %s: %w", directory, err)
	}
	for {
		plugin, again, err := offer(settings, root, directory)
		if err != nil {
			return err
		}
		over := wait(watcher, filepath.Join(directory, filepath.Base(api.KubeletSocket)), again, signals)
		if plugin != nil {
			plugin.stop()
		}
		if over {
			return nil
		}
	}
}

// offer registers the GPUs with kubelet. Without a plugin there is nothing to offer; again is when to try once more.
func offer(
	settings func() (*Config, error), root, directory string,
) (plugin *Plugin, again <-chan time.Time, err error) {
	config, err := settings()
	if err != nil {
		return nil, nil, fmt.Errorf("unable to load config: %w", err)
	}
	platform := config.platform(root)
	if config.Flags.MigStrategy != "none" {
		log.Printf("MIG strategy %s has no meaning here: no GPU is partitioned", config.Flags.MigStrategy)
	}
	gpus := []string{device}
	if platform == "nvml" {
		gpus = discrete(root)
	}
	if platform == "unknown" || platform == "nvml" && !hasNVML(root) {
		log.Printf("Detected platform: %s; there is no libnvidia-ml.so.1 in this container", platform)
		if *config.Flags.FailOnInitError {
			return nil, nil, errors.New("failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND")
		}
		log.Print("No devices found. Waiting indefinitely.")
		return nil, nil, nil
	}
	if config.Sharing.MPS != nil {
		log.Print("Waiting for the MPS control daemon, which never runs in the lab. Retrying in 30s...")
		return nil, time.After(retry), nil
	}
	plugin = newPlugin(config, directory, gpus)
	ctx, cancel := context.WithTimeout(context.Background(), registration)
	defer cancel()
	if err := plugin.start(ctx); err != nil {
		log.Printf("Could not register with kubelet: %v. Retrying in 30s...", err)
		return plugin, time.After(retry), nil
	}
	log.Printf("Registered %s with kubelet: %d device(s)", plugin.resource, len(plugin.devices))
	return plugin, nil, nil
}

// wait returns when kubelet's socket was made anew, when it is time to try again, or at a signal; over at one that ends.
func wait(watcher *fsnotify.Watcher, socket string, again <-chan time.Time, signals <-chan os.Signal) (over bool) {
	for {
		select {
		case event := <-watcher.Events:
			if event.Name == socket && event.Has(fsnotify.Create) {
				log.Print("kubelet has started")
				return false
			}
		case err := <-watcher.Errors:
			log.Printf("watching %s: %v", filepath.Dir(socket), err)
		case <-again:
			return false
		case received := <-signals:
			log.Printf("received signal %v", received)
			return received != syscall.SIGHUP
		}
	}
}
