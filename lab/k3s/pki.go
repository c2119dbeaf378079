package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"time"
)

// authority is a CA below server/tls, with the names that k3s gives them (docs.k3s.io, "k3s certificate").
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         string
}

func loadAuthority(name string) authority {
	path := serverDir + "/tls/" + name
	if _, err := os.Stat(path + ".crt"); err != nil {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		check(err, name)
		now := time.Now()
		template := &x509.Certificate{
			SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: fmt.Sprintf("%s@%d", authorityName(name), now.Unix())},
			NotBefore: now.Add(-time.Minute), NotAfter: now.AddDate(10, 0, 0), IsCA: true, BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		check(err, name)
		write(path+".key", keyPEM(key), 0o600)
		write(path+".crt", certificatePEM(der), 0o644)
	}
	text, err := os.ReadFile(path + ".crt")
	check(err, name)
	block, _ := pem.Decode(text)
	certificate, err := x509.ParseCertificate(block.Bytes)
	check(err, name)
	return authority{certificate, loadKey(path + ".key"), string(text)}
}

// authorityName: k3s-server-ca, but etcd-server-ca.
func authorityName(file string) string {
	if strings.HasPrefix(file, "etcd/") {
		return strings.ReplaceAll(file, "/", "-")
	}
	return "k3s-" + file
}

func loadKey(path string) crypto.Signer {
	text, err := os.ReadFile(path)
	check(err, path)
	block, _ := pem.Decode(text)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	check(err, path)
	return key
}

// issue makes a certificate for a year; organizations are groups, hosts are names and addresses of a server.
func (a authority) issue(name string, organizations []string, hosts ...string) (certificate, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err, name)
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	check(err, name)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name, Organization: organizations},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	check(err, name)
	return certificatePEM(der), keyPEM(private)
}

func (a authority) issueTo(path, name string, organizations []string, hosts ...string) {
	certificate, key := a.issue(name, organizations, hosts...)
	write(path+".crt", certificate+a.pem, 0o644)
	write(path+".key", key, 0o600)
}

func certificatePEM(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func keyPEM(key *ecdsa.PrivateKey) string {
	der, err := x509.MarshalECPrivateKey(key)
	check(err, "key")
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

// caHash is the part of a token that names the CA: the sha256 of the file with its certificate (k3s-io/k3s,
// pkg/clientaccess/token.go, hashCA).
func caHash(certificate string) string {
	digest := sha256.Sum256([]byte(certificate))
	return hex.EncodeToString(digest[:])
}

// splitToken takes the full form K10HASH::USER:SECRET, or a bare secret (docs.k3s.io, "k3s token").
func splitToken(token string) (hash, secret string, err error) {
	token = strings.TrimSpace(token)
	if token == "" {
		return "", "", errors.New("token must not be empty")
	}
	rest, full := strings.CutPrefix(token, "K10")
	if !full {
		return "", token, nil
	}
	hash, credentials, found := strings.Cut(rest, "::")
	if !found || (hash != "" && len(hash) != 2*sha256.Size) {
		return "", "", errors.New("invalid token CA hash length")
	}
	_, secret, found = strings.Cut(credentials, ":")
	if !found || secret == "" {
		return "", "", errors.New("invalid token format")
	}
	return hash, secret, nil
}

func randomHex(bytes int) string {
	content := make([]byte, bytes)
	_, err := rand.Read(content)
	check(err, "random")
	return hex.EncodeToString(content)
}
