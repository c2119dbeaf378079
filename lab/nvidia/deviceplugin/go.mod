// The stand-in for NVIDIA's device plugin in the lab, which has no GPU.
module edgectl.invalid/lab/nvidia/deviceplugin

go 1.25.0

require (
	github.com/fsnotify/fsnotify v1.9.0
	google.golang.org/grpc v1.72.2
	k8s.io/kubelet v0.35.4
	sigs.k8s.io/yaml v1.6.0
)

require (
	go.yaml.in/yaml/v2 v2.4.3 // indirect
	golang.org/x/net v0.47.0 // indirect
	golang.org/x/sys v0.38.0 // indirect
	golang.org/x/text v0.31.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250528174236-200df99c418a // indirect
	google.golang.org/protobuf v1.36.8 // indirect
)
