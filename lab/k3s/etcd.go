package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log"
	"net/url"
	"os"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Embedded etcd of several servers, after k3s-io/k3s, pkg/etcd/etcd.go and member_controller.go. A lone server that was
// not told `cluster-init` has SQLite in k3s; here it runs an etcd that nobody else can reach.
const (
	etcdDir      = serverDir + "/db/etcd"
	etcdNameFile = etcdDir + "/name"
	tombstone    = etcdDir + "/tombstone"
	etcdLocal    = "https://127.0.0.1:2379"

	etcdLabel         = "node-role.kubernetes.io/etcd"
	annotationMember  = "etcd.k3s.cattle.io/node-name"
	annotationAddress = "etcd.k3s.cattle.io/node-address"
	// k3s' library names the finalizer of a controller so (rancher/wrangler, pkg/generic).
	memberFinalizer = "wrangler.cattle.io/managed-etcd-controller"
)

// initialised: etcd has run here before (IsInitialized).
func initialised() bool {
	_, err := os.Stat(etcdDir + "/member/wal")
	return err == nil
}

// buryRemoved: the data of a member that was removed is put aside, so that this server can join anew (Register).
func buryRemoved() {
	if _, err := os.Stat(tombstone); err == nil {
		log.Print(`level=info msg="tombstone file has been detected, removing data dir to rejoin the cluster"`)
		check(os.Rename(etcdDir, fmt.Sprintf("%s-old-%d", etcdDir, time.Now().Unix())), "tombstone")
	}
}

// watchRemoval hears etcd say that others have removed this member, and leaves the tombstone (pkg/executor/embed.go).
type watchRemoval struct{}

func (watchRemoval) Write(said []byte) (int, error) {
	if bytes.Contains(said, []byte("data-dir used by this member must be removed")) {
		log.Print(`level=info msg="This node has been removed from the cluster - please restart k3s to rejoin the cluster"`)
		os.WriteFile(tombstone, nil, 0o600)
	}
	return os.Stderr.Write(said)
}

func etcdClient(endpoints ...string) (*clientv3.Client, error) {
	tlsDir := serverDir + "/tls/etcd/"
	certificate, err := tls.LoadX509KeyPair(tlsDir+"client.crt", tlsDir+"client.key")
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM([]byte(fileContent(tlsDir + "server-ca.crt")))
	return clientv3.New(clientv3.Config{
		Logger: zap.NewNop(), Endpoints: endpoints, DialTimeout: 5 * time.Second, DialKeepAliveTime: 30 * time.Second, DialKeepAliveTimeout: 10 * time.Second,
		TLS: &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	})
}

func shortly() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 10*time.Second)
}

// startEtcd starts this server's member, of a cluster that it makes or joins, and waits until it has a vote.
func (s *server) startEtcd(peer *supervisor) {
	s.member = "default"
	clients, peers := etcdLocal, "https://127.0.0.1:2380"
	if s.clustered {
		if s.member = fileContent(etcdNameFile); s.member == "" {
			s.member = nodeName() + "-" + randomHex(4)
			check(os.MkdirAll(etcdDir, 0o700), etcdDir)
			write(etcdNameFile, s.member, 0o600)
		}
		clients, peers = s.clientURL()+","+etcdLocal, s.peerURL()
	}
	cluster, state := s.member+"="+s.peerURL(), "new"
	if peer != nil {
		cluster, state = s.addMember(peer), "existing"
	}
	tlsDir := serverDir + "/tls/etcd/"
	waitForPorts("127.0.0.1:2379", strings.TrimPrefix(peers, "https://"))
	startApart("etcd", "--name="+s.member, "--data-dir="+etcdDir, "--log-level=warn",
		"--listen-client-urls="+clients, "--advertise-client-urls="+strings.Split(clients, ",")[0],
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+s.peerURL(),
		"--initial-cluster="+cluster, "--initial-cluster-state="+state, "--heartbeat-interval=500", "--election-timeout=5000",
		"--client-cert-auth", "--trusted-ca-file="+tlsDir+"server-ca.crt",
		"--cert-file="+tlsDir+"server-client.crt", "--key-file="+tlsDir+"server-client.key",
		"--peer-client-cert-auth", "--peer-trusted-ca-file="+tlsDir+"peer-ca.crt",
		"--peer-cert-file="+tlsDir+"peer-server-client.crt", "--peer-key-file="+tlsDir+"peer-server-client.key")
	var err error
	s.etcd, err = etcdClient(etcdLocal)
	check(err, "etcd")
	until("etcd", func() error {
		ctx, done := shortly()
		defer done()
		status, err := s.etcd.Status(ctx, etcdLocal)
		if err == nil && status.IsLearner {
			err = fmt.Errorf("this server has not yet been promoted from learner to voting member")
		} else if err == nil && status.Leader == 0 {
			err = fmt.Errorf("etcd has no leader: more than half of its members must live")
		}
		return err
	})
	go s.promoteLearners()
}

func (s *server) address() string   { return s.options.one("node-ip", firstAddress()) }
func (s *server) peerURL() string   { return "https://" + s.address() + ":2380" }
func (s *server) clientURL() string { return "https://" + s.address() + ":2379" }

// addMember makes this server a learner of the others' etcd, and says who its members are (join).
func (s *server) addMember(peer *supervisor) string {
	content, err := peer.get("/db/info")
	check(err, "ETCD join failed")
	var known struct{ Members []*etcdserverpb.Member }
	check(json.Unmarshal(content, &known), "ETCD join failed")
	var endpoints []string
	for _, member := range known.Members {
		if !member.IsLearner && host(member.ClientURLs) != s.address() {
			endpoints = append(endpoints, member.ClientURLs...)
		}
	}
	client, err := etcdClient(endpoints...)
	check(err, "ETCD join failed")
	defer client.Close()
	ctx, done := shortly()
	defer done()
	members, err := client.MemberList(ctx)
	check(err, "ETCD join failed")
	var cluster []string
	add := true
	for _, member := range members.Members {
		if member.Name == "" && host(member.PeerURLs) == s.address() {
			member.Name = s.member // one that has not started yet
		}
		if member.Name == s.member && host(member.PeerURLs) == s.address() {
			add = false
		}
		if last := strings.LastIndex(member.Name, "-"); member.Name != s.member && last > 1 && member.Name[:last] == nodeName() {
			os.Remove(etcdNameFile)
			log.Fatal(`level=fatal msg="ETCD join failed: duplicate node name found, please use a unique name for this node"`)
		}
		if len(member.PeerURLs) > 0 {
			cluster = append(cluster, member.Name+"="+member.PeerURLs[0])
		}
	}
	if add {
		log.Printf("level=info msg=%q", fmt.Sprintf("Adding member %s=%s to etcd cluster %v", s.member, s.peerURL(), cluster))
		_, err = client.MemberAddAsLearner(ctx, []string{s.peerURL()})
		check(err, "ETCD join failed")
		cluster = append(cluster, s.member+"="+s.peerURL())
	}
	return strings.Join(cluster, ",")
}

func host(urls []string) string {
	if len(urls) == 0 {
		return ""
	}
	parsed, err := url.Parse(urls[0])
	if err != nil {
		return ""
	}
	return parsed.Hostname()
}

// promoteLearners: the leader gives a vote to who has caught up (manageLearners; it evicts those who never do as well).
func (s *server) promoteLearners() {
	for ; ; time.Sleep(3 * time.Second) {
		ctx, done := shortly()
		if status, err := s.etcd.Status(ctx, etcdLocal); err == nil && status.Header.MemberId == status.Leader {
			if members, err := s.etcd.MemberList(ctx); err == nil {
				for _, member := range members.Members {
					if member.IsLearner {
						s.etcd.MemberPromote(ctx, member.ID)
					}
				}
			}
		}
		done()
	}
}

// followMember: an etcd server gets a finalizer on its Node, so that its member leaves when the Node is deleted
// (member_controller.go; there the elected leader alone does it).
func (s *server) followMember(node core.Node) {
	if node.Labels[etcdLabel] == "" {
		return
	}
	var others []string
	bound := false
	for _, finalizer := range node.Finalizers {
		if finalizer == memberFinalizer {
			bound = true
		} else {
			others = append(others, finalizer)
		}
	}
	ctx, done := shortly()
	defer done()
	nodes := s.client.CoreV1().Nodes()
	if node.DeletionTimestamp == nil && !bound {
		node.Finalizers = append(node.Finalizers, memberFinalizer)
		nodes.Update(ctx, &node, meta.UpdateOptions{})
	} else if node.DeletionTimestamp != nil && bound {
		if err := s.removeMember(ctx, node.Annotations[annotationMember], node.Annotations[annotationAddress]); err != nil {
			log.Printf("level=error msg=%q", fmt.Sprintf("removing etcd member of %s: %v", node.Name, err))
			return
		}
		node.Finalizers = others
		nodes.Update(ctx, &node, meta.UpdateOptions{})
	}
}

// removeMember: name and address must both match (RemovePeer). Others take out a server that still runs.
func (s *server) removeMember(ctx context.Context, name, address string) error {
	members, err := s.etcd.MemberList(ctx)
	if err != nil {
		return err
	}
	for _, member := range members.Members {
		if member.Name != name || host(member.PeerURLs) != address || len(members.Members) == 1 {
			continue
		}
		if name == s.member {
			return fmt.Errorf("another server does this")
		}
		log.Printf("level=info msg=%q", fmt.Sprintf("Removing name=%s id=%d address=%s from etcd", name, member.ID, address))
		_, err = s.etcd.MemberRemove(ctx, member.ID)
	}
	return err
}
