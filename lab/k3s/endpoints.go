package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/url"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// Where the API is: servers that live say so in etcd every few seconds, and each writes what it finds there to the
// EndpointSlice of Service kubernetes. Upstream's kube-apiserver does the same (pkg/controlplane/reconcilers/lease.go,
// leases of 15 s), but would name its own port.
const (
	serversKey = "k3s/stand-in/servers/"
	serverTTL  = 15
	announcing = 5 * time.Second
)

func (s *server) announce() error {
	ctx, done := shortly()
	defer done()
	lease, err := s.etcd.Grant(ctx, serverTTL)
	if err != nil {
		return err
	}
	if _, err = s.etcd.Put(ctx, serversKey+s.advertised(), "", clientv3.WithLease(lease.ID)); err != nil {
		return err
	}
	found, err := s.etcd.Get(ctx, serversKey, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	var addresses []string
	for _, pair := range found.Kvs {
		addresses = append(addresses, strings.TrimPrefix(string(pair.Key), serversKey))
	}
	sort.Strings(addresses)
	published := s.client.DiscoveryV1().EndpointSlices("default")
	slice, err := published.Get(ctx, "kubernetes", meta.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return err
	}
	if !missing && slices.Equal(addressesOf(slice), addresses) {
		return nil
	}
	name, protocol, port, isReady := "https", core.ProtocolTCP, int32(6443), true
	slice.ObjectMeta.Name, slice.AddressType = "kubernetes", discovery.AddressTypeIPv4
	slice.ObjectMeta.Labels = map[string]string{
		discovery.LabelServiceName: "kubernetes", discovery.LabelManagedBy: "k3s-stand-in",
	}
	slice.Endpoints = nil
	for _, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discovery.Endpoint{
			Addresses: []string{address}, Conditions: discovery.EndpointConditions{Ready: &isReady},
		})
	}
	slice.Ports = []discovery.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}}
	if missing {
		_, err = published.Create(ctx, slice, meta.CreateOptions{})
	} else {
		_, err = published.Update(ctx, slice, meta.UpdateOptions{})
	}
	return err
}

func addressesOf(slice *discovery.EndpointSlice) []string {
	var addresses []string
	for _, endpoint := range slice.Endpoints {
		addresses = append(addresses, endpoint.Addresses...)
	}
	sort.Strings(addresses)
	return addresses
}

func (s *server) keepAnnouncing() {
	for ; ; time.Sleep(announcing) {
		if err := s.announce(); err != nil {
			log.Printf("level=warning msg=%q", "API's addresses: "+err.Error())
		}
	}
}

// balancer is the agent's way to the API, at 127.0.0.1:6444: to one server, and to the next when that does not answer.
// It learns of all servers from the cluster and remembers them (docs.k3s.io, "Architecture"; k3s-io/k3s,
// pkg/agent/loadbalancer: file and fields).
type balancer struct {
	mutex sync.Mutex
	known balancerState
	open  map[net.Conn]string
}

type balancerState struct {
	ServerURL       string
	ServerAddresses []string
}

const balancerFile = agentDir + "/etc/k3s-agent-load-balancer.json"

// newBalancer knows the server that it is told of, and those that it learnt of while it was told of the same one.
func newBalancer(server string) *balancer {
	target, err := url.Parse(server)
	check(err, "server")
	b := &balancer{open: map[net.Conn]string{}}
	json.Unmarshal([]byte(fileContent(balancerFile)), &b.known)
	if b.known.ServerURL != server || len(b.known.ServerAddresses) == 0 {
		b.known = balancerState{server, []string{target.Host}}
	}
	return b
}

func (b *balancer) addresses() []string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return slices.Clone(b.known.ServerAddresses)
}

func (b *balancer) serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:6444")
	check(err, "load balancer")
	for {
		client, err := listener.Accept()
		check(err, "load balancer")
		go b.carry(client)
	}
}

func (b *balancer) carry(client net.Conn) {
	defer client.Close()
	for _, address := range b.addresses() {
		upstream, err := net.DialTimeout("tcp", address, 3*time.Second)
		if err != nil {
			b.last(address)
			continue
		}
		b.mutex.Lock()
		b.open[upstream] = address
		b.mutex.Unlock()
		go func() {
			defer upstream.Close()
			defer client.Close()
			io.Copy(upstream, client)
		}()
		io.Copy(client, upstream)
		upstream.Close()
		b.mutex.Lock()
		delete(b.open, upstream)
		b.mutex.Unlock()
		return
	}
}

// last: a server that does not answer is tried after all others, and what hangs on it is let go.
func (b *balancer) last(address string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if i := slices.Index(b.known.ServerAddresses, address); i >= 0 {
		b.known.ServerAddresses = append(slices.Delete(b.known.ServerAddresses, i, i+1), address)
	}
	for connection, to := range b.open {
		if to == address {
			connection.Close()
		}
	}
}

// follow asks the cluster for its servers, and each of them whether it lives.
func (b *balancer) follow() {
	config, err := clientcmd.BuildConfigFromFlags("", agentDir+"/k3scontroller.kubeconfig")
	check(err, "k3scontroller.kubeconfig")
	config.Timeout = announcing
	client, err := kubernetes.NewForConfig(config)
	check(err, "k3scontroller.kubeconfig")
	for ; ; time.Sleep(announcing) {
		for _, address := range b.addresses() {
			if probe, err := net.DialTimeout("tcp", address, 3*time.Second); err != nil {
				b.last(address)
			} else {
				probe.Close()
			}
		}
		slice, err := client.DiscoveryV1().EndpointSlices("default").Get(context.Background(), "kubernetes", meta.GetOptions{})
		if err == nil {
			b.learn(addressesOf(slice))
		}
	}
}

func (b *balancer) learn(hosts []string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	var now []string
	for _, host := range hosts {
		now = append(now, net.JoinHostPort(host, "6443"))
	}
	kept := slices.DeleteFunc(slices.Clone(b.known.ServerAddresses), func(one string) bool { return !slices.Contains(now, one) })
	for _, address := range now {
		if !slices.Contains(kept, address) {
			kept = append(kept, address)
		}
	}
	if len(kept) == 0 || slices.Equal(kept, b.known.ServerAddresses) {
		return
	}
	b.known.ServerAddresses = kept
	text, err := json.Marshal(b.known)
	check(err, "load balancer")
	write(balancerFile, string(text)+"\n", 0o600)
}
