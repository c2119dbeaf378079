package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"slices"
	"sort"
	"strings"
)

// What servers share, below server/ (k3s-io/k3s, pkg/daemons/config/types.go, ControlRuntimeBootstrap).
var bootstrapFiles = []string{
	"tls/server-ca.crt", "tls/server-ca.key", "tls/client-ca.crt", "tls/client-ca.key",
	"tls/request-header-ca.crt", "tls/request-header-ca.key", "tls/etcd/server-ca.crt", "tls/etcd/server-ca.key",
	"tls/etcd/peer-ca.crt", "tls/etcd/peer-ca.key", "tls/service.key", "cred/encryption-config.json",
}

// Options that must be the same on all servers (docs.k3s.io, "k3s server", Critical Configuration Values); of `disable`
// servicelb alone.
var critical = []string{
	"cluster-cidr", "cluster-dns", "cluster-domain", "disable-cloud-controller", "disable-helm-controller",
	"disable-network-policy", "egress-selector-mode", "embedded-registry", "flannel-backend", "flannel-external-ip",
	"flannel-ipv6-masq", "secrets-encryption", "secrets-encryption-provider", "service-cidr",
}

// joins is the cluster that this server joins, whose keys are here then; nil where it makes one or is of one already
// (k3s-io/k3s, pkg/cluster/bootstrap.go, shouldBootstrapLoad and httpBootstrap).
func (s *server) joins() *supervisor {
	address := s.options.one("server", "")
	if address == "" || initialised() {
		return nil
	}
	token := s.options.one("token", fileContent(s.options.one("token-file", "")))
	_, secret, err := splitToken(token)
	if err != nil {
		log.Fatal(`level=fatal msg="starting kubernetes: preparing server: K3S_TOKEN is required to join a cluster"`)
	}
	found := contact(address, token, secret)
	found.user = "server"
	content, err := found.get("/v1-k3s/server-bootstrap")
	check(err, "starting kubernetes: preparing server: failed to bootstrap cluster data")
	files := map[string][]byte{}
	check(json.Unmarshal(content, &files), "bootstrap data")
	for name, content := range files {
		if slices.Contains(bootstrapFiles, name) {
			mode := os.FileMode(0o600)
			if strings.HasSuffix(name, ".crt") {
				mode = 0o644
			}
			write(serverDir+"/"+name, string(content), mode)
		}
	}
	return &found
}

// criticalValues are this server's, as `/v1-k3s/config` shows them to others.
func (s *server) criticalValues() map[string]string {
	values := map[string]string{
		"cluster-cidr": s.shared.ClusterCIDR, "cluster-dns": s.shared.ClusterDNS, "cluster-domain": s.shared.ClusterDomain,
		"flannel-backend": s.shared.FlannelBackend, "service-cidr": s.shared.ServiceCIDR,
	}
	for _, name := range critical {
		if _, set := values[name]; !set {
			values[name] = fmt.Sprint(s.options[name])
		}
	}
	values["disable=servicelb"] = fmt.Sprint(slices.Contains(s.options["disable"], "servicelb"))
	digest := sha256.Sum256([]byte("agent-token " + s.agentSecret))
	values["agent-token"] = hex.EncodeToString(digest[:])
	return values
}

// compare ends a server that is set up otherwise than those it joins (pkg/cluster/bootstrap.go, compareConfig).
func (s *server) compare(peer *supervisor) {
	var theirs shared
	content, err := peer.get("/v1-k3s/config")
	check(err, "config")
	check(json.Unmarshal(content, &theirs), "config")
	var different []string
	for name, value := range s.shared.Critical {
		if theirs.Critical[name] != value {
			different = append(different, name)
		}
	}
	if len(different) > 0 {
		sort.Strings(different)
		log.Printf("level=warning msg=%q", "critical configuration mismatched: "+strings.Join(different, ", "))
		log.Fatal(`level=fatal msg="starting kubernetes: preparing server: critical configuration value mismatch between servers"`)
	}
}

// forServers answers who has the secret of servers, where there can be several (pkg/server/router.go).
func (s *server) forServers(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if user != "server" || !same(password, s.secret) {
		http.Error(w, "not authorized", http.StatusUnauthorized)
		return
	}
	if !s.clustered {
		http.NotFound(w, r)
		return
	}
	if r.URL.Path == "/db/info" {
		ctx, done := shortly()
		defer done()
		members, err := s.etcd.MemberList(ctx)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"members": members.Members})
		return
	}
	files := map[string][]byte{}
	for _, name := range bootstrapFiles {
		if content, err := os.ReadFile(serverDir + "/" + name); err == nil {
			files[name] = content
		}
	}
	json.NewEncoder(w).Encode(files)
}

// encryption is how kube-apiserver keeps Secrets, written at the first start (pkg/secretsencrypt/config.go).
func (s *server) encryption() []string {
	if !s.options.on("secrets-encryption") {
		return nil
	}
	file := serverDir + "/cred/encryption-config.json"
	if _, err := os.Stat(file); err != nil {
		key := make([]byte, 32)
		_, err := rand.Read(key)
		check(err, "random")
		write(file, fmt.Sprintf(`{"kind":"EncryptionConfiguration","apiVersion":"apiserver.config.k8s.io/v1","resources":`+
			`[{"resources":["secrets"],"providers":[{"aescbc":{"keys":[{"name":"aescbckey","secret":%q}]}},{"identity":{}}]}]}`+"\n",
			base64.StdEncoding.EncodeToString(key)), 0o600)
	}
	return []string{"--encryption-provider-config=" + file, "--encryption-provider-config-automatic-reload=true"}
}
