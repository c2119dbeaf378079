package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// shared is what an agent is told about the cluster (k3s: /v1-k3s/config).
type shared struct {
	ClusterCIDR, ServiceCIDR, ClusterDNS, ClusterDomain, FlannelBackend string
	Critical                                                            map[string]string
}

type server struct {
	options                             options
	shared                              shared
	serverCA, clientCA, requestHeaderCA authority
	secret, agentSecret                 string
	client                              *kubernetes.Clientset
	clustered                           bool // one of several servers, or told to be the first of them
	member                              string
	etcd                                *clientv3.Client
}

const apiserverPort = "6444" // behind the supervisor's 6443, on the loopback only (k3s-io/k3s, pkg/cli/server/server.go)

func runServer(o options) {
	for _, unable := range []string{"datastore-endpoint", "cluster-reset"} {
		if len(o[unable]) > 0 {
			log.Fatalf("level=fatal msg=%q", "the stand-in has no "+unable)
		}
	}
	unpack()
	buryRemoved()
	s := &server{options: o, shared: shared{
		ClusterCIDR: o.one("cluster-cidr", "10.42.0.0/16"), ServiceCIDR: o.one("service-cidr", "10.43.0.0/16"),
		ClusterDomain: o.one("cluster-domain", "cluster.local"), FlannelBackend: o.one("flannel-backend", "vxlan"),
	}}
	s.shared.ClusterDNS = o.one("cluster-dns", nth(s.shared.ServiceCIDR, 10))
	named = strings.ToLower(o.one("node-name", hostname()))
	check(os.MkdirAll(serverDir+"/tls", 0o700), serverDir)
	peer := s.joins()
	s.clustered = peer != nil || o.on("cluster-init") || fileContent(etcdNameFile) != ""
	s.serverCA, s.clientCA, s.requestHeaderCA =
		loadAuthority("server-ca"), loadAuthority("client-ca"), loadAuthority("request-header-ca")
	s.readTokens()
	s.shared.Critical = s.criticalValues()
	if peer != nil {
		s.compare(peer)
	}
	s.writeCertificates()
	s.startEtcd(peer)
	s.startControlPlane()
	go s.serve()
	s.connect()
	s.startControllers()
	until("the API's address", s.announce)
	go s.keepAnnouncing()
	s.writeKubeconfig()
	go s.deploy()
	join(o, "https://127.0.0.1:6443", s.secret)
	until("the node", s.labelNode)
	s.scheduleSnapshots()
	ready()
	s.followNodes()
}

// readTokens: a token of one's own, or one made at the first start; the files that show it in full form
// (docs.k3s.io, "k3s token").
func (s *server) readTokens() {
	wanted := s.options.one("token", fileContent(s.options.one("token-file", "")))
	_, given, err := splitToken(wanted)
	if wanted == "" {
		given, err = "", nil
	}
	check(err, "token")
	_, remembered, err := splitToken(fileContent(serverDir + "/token"))
	if err != nil {
		remembered = ""
	}
	switch {
	case given != "" && remembered != "" && given != remembered:
		log.Fatal(`level=fatal msg="starting kubernetes: preparing server: bootstrap data already found and encrypted with different token"`)
	case given != "":
		s.secret = given
	case remembered != "":
		s.secret = remembered
	default:
		s.secret = randomHex(16)
	}
	full := func(user, secret string) string {
		return "K10" + caHash(s.serverCA.pem) + "::" + user + ":" + secret + "\n"
	}
	write(serverDir+"/token", full("server", s.secret), 0o600)
	link(serverDir+"/token", serverDir+"/node-token")
	s.agentSecret = s.secret
	if own := s.options.one("agent-token", fileContent(s.options.one("agent-token-file", ""))); own != "" {
		_, s.agentSecret, err = splitToken(own)
		check(err, "agent token")
		os.Remove(serverDir + "/agent-token")
		write(serverDir+"/agent-token", full("node", s.agentSecret), 0o600)
	} else {
		link(serverDir+"/token", serverDir+"/agent-token")
	}
}

func (s *server) advertised() string {
	return s.options.one("advertise-address", s.options.one("node-ip", firstAddress()))
}

func (s *server) writeCertificates() {
	tlsDir := serverDir + "/tls/"
	domain := s.shared.ClusterDomain
	hosts := append([]string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + domain, "localhost",
		"127.0.0.1", nth(s.shared.ServiceCIDR, 1), nodeName(), s.advertised(),
	}, s.options["tls-san"]...)
	s.serverCA.issueTo(tlsDir+"serving-kube-apiserver", "kube-apiserver", nil, hosts...)
	s.clientCA.issueTo(tlsDir+"client-admin", "system:admin", []string{"system:masters"})
	s.clientCA.issueTo(tlsDir+"client-kube-apiserver", "system:apiserver", []string{"system:masters"})
	s.clientCA.issueTo(tlsDir+"client-controller", "system:kube-controller-manager", nil)
	s.clientCA.issueTo(tlsDir+"client-scheduler", "system:kube-scheduler", nil)
	s.requestHeaderCA.issueTo(tlsDir+"client-auth-proxy", "system:auth-proxy", nil)
	etcdCA, peerCA := loadAuthority("etcd/server-ca"), loadAuthority("etcd/peer-ca")
	etcdCA.issueTo(tlsDir+"etcd/server-client", "etcd-server", nil, "localhost", "127.0.0.1", nodeName(), s.address())
	peerCA.issueTo(tlsDir+"etcd/peer-server-client", "etcd-peer", nil, "localhost", "127.0.0.1", nodeName(), s.address())
	etcdCA.issueTo(tlsDir+"etcd/client", "etcd-client", nil)
	if _, err := os.Stat(tlsDir + "service.key"); err != nil {
		_, key := s.clientCA.issue("service", nil)
		write(tlsDir+"service.key", key, 0o600)
	}
	for _, user := range []string{"admin", "controller", "scheduler"} {
		text := kubeconfig("https://127.0.0.1:"+apiserverPort, tlsDir+"server-ca.crt", tlsDir+"client-"+user)
		write(serverDir+"/cred/"+user+".kubeconfig", text, 0o600)
	}
}

func (s *server) startControlPlane() {
	tlsDir := serverDir + "/tls/"
	arguments := []string{
		"--etcd-servers=" + etcdLocal, "--etcd-cafile=" + tlsDir + "etcd/server-ca.crt",
		"--etcd-certfile=" + tlsDir + "etcd/client.crt", "--etcd-keyfile=" + tlsDir + "etcd/client.key", "--bind-address=127.0.0.1", "--secure-port=" + apiserverPort,
		"--advertise-address=" + s.advertised(), "--endpoint-reconciler-type=none", "--allow-privileged=true",
		"--anonymous-auth=false", "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--enable-bootstrap-token-auth=true", "--profiling=false", "--service-cluster-ip-range=" + s.shared.ServiceCIDR,
		"--client-ca-file=" + tlsDir + "client-ca.crt", "--tls-cert-file=" + tlsDir + "serving-kube-apiserver.crt",
		"--tls-private-key-file=" + tlsDir + "serving-kube-apiserver.key",
		"--kubelet-certificate-authority=" + tlsDir + "server-ca.crt",
		"--kubelet-client-certificate=" + tlsDir + "client-kube-apiserver.crt",
		"--kubelet-client-key=" + tlsDir + "client-kube-apiserver.key",
		"--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
		"--requestheader-client-ca-file=" + tlsDir + "request-header-ca.crt",
		"--requestheader-allowed-names=system:auth-proxy", "--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + tlsDir + "client-auth-proxy.crt",
		"--proxy-client-key-file=" + tlsDir + "client-auth-proxy.key",
		"--service-account-issuer=https://kubernetes.default.svc." + s.shared.ClusterDomain,
		"--service-account-key-file=" + tlsDir + "service.key",
		"--service-account-signing-key-file=" + tlsDir + "service.key", "--cert-dir=" + tlsDir + "temporary-certs",
	}
	arguments = append(arguments, s.encryption()...)
	waitForPorts("127.0.0.1:"+apiserverPort, ":6443")
	startApart("kube-apiserver", append(arguments, flags(s.options["kube-apiserver-arg"])...)...)
}

func (s *server) startControllers() {
	tlsDir, cred := serverDir+"/tls/", serverDir+"/cred/"
	arguments := []string{
		"--kubeconfig=" + cred + "controller.kubeconfig", "--authentication-kubeconfig=" + cred + "controller.kubeconfig",
		"--authorization-kubeconfig=" + cred + "controller.kubeconfig", "--bind-address=127.0.0.1",
		"--allocate-node-cidrs=true", "--cluster-cidr=" + s.shared.ClusterCIDR, "--profiling=false",
		"--service-cluster-ip-range=" + s.shared.ServiceCIDR, "--use-service-account-credentials=true",
		"--controllers=*,tokencleaner", "--root-ca-file=" + tlsDir + "server-ca.crt",
		"--service-account-private-key-file=" + tlsDir + "service.key",
		"--cluster-signing-cert-file=" + tlsDir + "client-ca.crt", "--cluster-signing-key-file=" + tlsDir + "client-ca.key",
	}
	startApart("kube-controller-manager", append(arguments, flags(s.options["kube-controller-manager-arg"])...)...)
	arguments = []string{
		"--kubeconfig=" + cred + "scheduler.kubeconfig", "--authentication-kubeconfig=" + cred + "scheduler.kubeconfig",
		"--authorization-kubeconfig=" + cred + "scheduler.kubeconfig", "--bind-address=127.0.0.1", "--profiling=false",
	}
	startApart("kube-scheduler", append(arguments, flags(s.options["kube-scheduler-arg"])...)...)
}

func (s *server) connect() {
	config, err := clientcmd.BuildConfigFromFlags("", serverDir+"/cred/admin.kubeconfig")
	check(err, "admin.kubeconfig")
	s.client, err = kubernetes.NewForConfig(config)
	check(err, "admin.kubeconfig")
	until("kube-apiserver", func() error {
		_, err := s.client.RESTClient().Get().AbsPath("/readyz").DoRaw(context.Background())
		return err
	})
}

// serve is the supervisor on 6443: what agents ask for, and the API for all else, under one certificate
// (k3s-io/k3s, pkg/server/router.go).
func (s *server) serve() {
	tlsDir := serverDir + "/tls/"
	certificate, err := tls.LoadX509KeyPair(tlsDir+"serving-kube-apiserver.crt", tlsDir+"serving-kube-apiserver.key")
	check(err, "certificate")
	clients := x509.NewCertPool()
	clients.AddCert(s.clientCA.certificate)
	mux := http.NewServeMux()
	mux.HandleFunc("/ping", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "pong") })
	mux.HandleFunc("/cacerts", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s.serverCA.pem) })
	mux.HandleFunc("/v1-k3s/", s.forAgents)
	mux.HandleFunc("/v1-k3s/server-bootstrap", s.forServers)
	mux.HandleFunc("/db/info", s.forServers)
	mux.Handle("/", s.api(clients))
	listener := &http.Server{
		Addr: ":6443", Handler: mux, ReadHeaderTimeout: 30 * time.Second, ErrorLog: log.New(quiet{}, "", 0),
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: clients,
			MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		},
	}
	check(listener.ListenAndServeTLS("", ""), "supervisor")
}

type quiet struct{}

func (quiet) Write(line []byte) (int, error) { return len(line), nil }

// api hands a request on to kube-apiserver: with a client's certificate as the user whom that names, by the front
// proxy's own; without one as it is, with its bearer token.
func (s *server) api(clients *x509.CertPool) http.Handler {
	tlsDir := serverDir + "/tls/"
	trusted := x509.NewCertPool()
	trusted.AddCert(s.serverCA.certificate)
	front, err := tls.LoadX509KeyPair(tlsDir+"client-auth-proxy.crt", tlsDir+"client-auth-proxy.key")
	check(err, "front proxy's certificate")
	target := &url.URL{Scheme: "https", Host: "127.0.0.1:" + apiserverPort}
	proxy := func(certificates []tls.Certificate) *httputil.ReverseProxy {
		made := httputil.NewSingleHostReverseProxy(target)
		made.Transport = &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: trusted, Certificates: certificates, MinVersion: tls.VersionTLS12},
			MaxIdleConnsPerHost: 50,
		}
		made.FlushInterval = -1
		made.ErrorLog = log.New(quiet{}, "", 0)
		return made
	}
	named, plain := proxy([]tls.Certificate{front}), proxy(nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for header := range r.Header {
			if strings.HasPrefix(header, "X-Remote-") {
				r.Header.Del(header)
			}
		}
		if len(r.TLS.PeerCertificates) == 0 {
			plain.ServeHTTP(w, r)
			return
		}
		subject := r.TLS.PeerCertificates[0].Subject
		r.Header.Set("X-Remote-User", subject.CommonName)
		for _, group := range subject.Organization {
			r.Header.Add("X-Remote-Group", group)
		}
		r.Header.Del("Authorization")
		named.ServeHTTP(w, r)
	})
}

// forAgents answers who knows the secret (k3s-io/k3s, pkg/server/handlers).
func (s *server) forAgents(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	known := same(password, s.secret) && (user == "server" || user == "node") || same(password, s.agentSecret) && user == "node"
	if !known {
		http.Error(w, "not authorized", http.StatusUnauthorized)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/v1-k3s/")
	node, address := r.Header.Get("K3s-Node-Name"), r.Header.Get("K3s-Node-Ip")
	answer := func(certificate, key string) { fmt.Fprint(w, certificate+key) }
	switch name {
	case "config":
		check(json.NewEncoder(w).Encode(s.shared), "config")
	case "client-ca.crt":
		fmt.Fprint(w, s.clientCA.pem)
	case "client-kubelet.crt", "serving-kubelet.crt":
		if err := s.ensurePassword(node, r.Header.Get("K3s-Node-Password")); err != nil {
			log.Printf("level=error msg=%q", fmt.Sprintf("unable to verify password for node %s: %v", node, err))
			http.Error(w, err.Error(), http.StatusForbidden)
		} else if name == "client-kubelet.crt" {
			answer(s.clientCA.issue("system:node:"+node, []string{"system:nodes"}))
		} else {
			answer(s.serverCA.issue(node, nil, node, "localhost", "127.0.0.1", address))
		}
	case "client-kube-proxy.crt":
		answer(s.clientCA.issue("system:kube-proxy", nil))
	case "client-k3s-controller.crt":
		answer(s.clientCA.issue("system:k3s-controller", nil))
	default:
		http.NotFound(w, r)
	}
}

func same(one, other string) bool { return subtle.ConstantTimeCompare([]byte(one), []byte(other)) == 1 }

// ensurePassword keeps a hash of each node's password in a Secret, so that no second host takes its name
// (docs.k3s.io, "Architecture", How Agent Node Registration Works).
func (s *server) ensurePassword(node, password string) error {
	if node == "" || password == "" {
		return fmt.Errorf("node name or password not set")
	}
	if s.client == nil {
		return fmt.Errorf("the API is not up yet")
	}
	secrets := s.client.CoreV1().Secrets("kube-system")
	name, digest := passwordSecret(node), sha256.Sum256([]byte(node+" "+password))
	hash := hex.EncodeToString(digest[:])
	found, err := secrets.Get(context.Background(), name, meta.GetOptions{})
	if apierrors.IsNotFound(err) {
		made := &core.Secret{ObjectMeta: meta.ObjectMeta{Name: name}, StringData: map[string]string{"hash": hash}}
		_, err = secrets.Create(context.Background(), made, meta.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	if !same(string(found.Data["hash"]), hash) {
		return fmt.Errorf("Node password rejected, duplicate hostname or contents of '%s' may not match server node-passwd "+
			"entry, try enabling a unique node name with the --with-node-id flag", nodePasswordFile)
	}
	return nil
}

func passwordSecret(node string) string { return node + ".node-password.k3s" }

// followNodes: a node that is deleted takes its password along (same page), and its member of etcd.
func (s *server) followNodes() {
	seen := map[string]bool{}
	for ; ; time.Sleep(2 * time.Second) {
		nodes, err := s.client.CoreV1().Nodes().List(context.Background(), meta.ListOptions{})
		if err != nil {
			continue
		}
		now := map[string]bool{}
		for _, node := range nodes.Items {
			now[node.Name] = true
			s.followMember(node)
		}
		for name := range seen {
			if !now[name] {
				s.client.CoreV1().Secrets("kube-system").Delete(context.Background(), passwordSecret(name), meta.DeleteOptions{})
			}
		}
		seen = now
	}
}

func (s *server) writeKubeconfig() {
	tlsDir := serverDir + "/tls/"
	text := embeddedKubeconfig("https://127.0.0.1:6443", tlsDir+"server-ca.crt", tlsDir+"client-admin")
	mode := os.FileMode(0o600)
	if told := s.options.one("write-kubeconfig-mode", ""); told != "" {
		_, err := fmt.Sscanf(told, "%o", &mode)
		check(err, "write-kubeconfig-mode")
	}
	write(adminKubeconfig, text, mode)
}

// deploy applies what lies in the manifests folder, and what changes there (docs.k3s.io, "Managing Packaged Components").
func (s *server) deploy() {
	folder := serverDir + "/manifests"
	variables := strings.NewReplacer("%{CLUSTER_DOMAIN}%", s.shared.ClusterDomain, "%{CLUSTER_DNS}%", s.shared.ClusterDNS,
		"%{COREDNS_IMAGE}%", corednsImage)
	disabled := strings.Join(s.options["disable"], ",")
	for _, name := range packaged() {
		component := strings.TrimSuffix(name, ".yaml")
		if !strings.Contains(disabled, component) {
			write(filepath.Join(folder, name), variables.Replace(packagedManifest(name)), 0o600)
		}
	}
	applied := map[string]time.Time{}
	for {
		files, _ := filepath.Glob(folder + "/*.y*ml")
		for _, file := range files {
			state, err := os.Stat(file)
			if err != nil || applied[file].Equal(state.ModTime()) {
				continue
			}
			if err := s.apply(file); err != nil {
				log.Printf("level=error msg=%q", fmt.Sprintf("failed to process %s: %v", file, err))
				continue
			}
			applied[file] = state.ModTime()
		}
		time.Sleep(5 * time.Second)
	}
}

func (s *server) labelNode() error {
	labels, annotations := map[string]string{"node-role.kubernetes.io/control-plane": "true"}, map[string]string{}
	if s.clustered {
		labels[etcdLabel], annotations[annotationMember], annotations[annotationAddress] = "true", s.member, s.address()
	}
	patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}})
	_, err := s.client.CoreV1().Nodes().Patch(
		context.Background(), nodeName(), types.MergePatchType, patch, meta.PatchOptions{})
	return err
}

// nth is an address of a network, counted from its first.
func nth(cidr string, n byte) string {
	_, network, err := net.ParseCIDR(strings.Split(cidr, ",")[0])
	check(err, "network")
	address := network.IP.To4()
	address[3] += n
	return address.String()
}
