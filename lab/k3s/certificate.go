package main

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// runCertificate: `k3s certificate check`, always with the table of docs.k3s.io, "k3s certificate".
func runCertificate(arguments []string) {
	if len(arguments) == 0 || arguments[0] != "check" {
		usage()
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprint(table, "FILENAME\tSUBJECT\tUSAGES\tEXPIRES\tRESIDUAL TIME\tSTATUS\n")
	fmt.Fprint(table, "--------\t-------\t------\t-------\t-------------\t------\n")
	for _, pattern := range []string{serverDir + "/tls/*.crt", serverDir + "/tls/etcd/*.crt", agentDir + "/*.crt"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			for rest := []byte(fileContent(file)); ; {
				var block *pem.Block
				if block, rest = pem.Decode(rest); block == nil {
					break
				}
				if block.Type != "CERTIFICATE" {
					continue
				}
				certificate, err := x509.ParseCertificate(block.Bytes)
				check(err, file)
				left, status := residual(time.Until(certificate.NotAfter))
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", filepath.Base(file), certificate.Subject.CommonName, usages(certificate),
					certificate.NotAfter.UTC().Format("Jan 02, 2006 15:04 MST"), left, status)
			}
		}
	}
	table.Flush()
}

func residual(left time.Duration) (text, status string) {
	days := int(left.Hours()) / 24
	switch {
	case left < 0:
		return "0 days", "EXPIRED"
	case days < 120: // k3s renews them at its next start
		status = "WARNING"
	default:
		status = "OK"
	}
	return fmt.Sprintf("%d days", days), status
}

func usages(certificate *x509.Certificate) string {
	var names []string
	for _, usage := range certificate.ExtKeyUsage {
		switch usage {
		case x509.ExtKeyUsageServerAuth:
			names = append(names, "ServerAuth")
		case x509.ExtKeyUsageClientAuth:
			names = append(names, "ClientAuth")
		}
	}
	if certificate.IsCA {
		names = append(names, "CertSign")
	}
	return strings.Join(names, ",")
}
