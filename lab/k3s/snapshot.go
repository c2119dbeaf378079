package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/robfig/cron/v3"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/grpclog"
)

// Snapshots by hand and by the clock, with the names, the place and the table of docs.k3s.io, "k3s etcd-snapshot". k3s'
// command asks the server to do it; this one does it itself. Neither S3 nor compression.

func (s *server) scheduleSnapshots() {
	if !s.clustered || s.options.on("etcd-disable-snapshots") {
		return
	}
	schedule := cron.New()
	_, err := schedule.AddFunc(s.options.one("etcd-snapshot-schedule-cron", "0 */12 * * *"), func() {
		base := s.options.one("etcd-snapshot-name", "etcd-snapshot")
		name, err := saveSnapshot(s.etcd, s.options, base, nodeName())
		if err == nil {
			log.Printf("level=info msg=%q", "Snapshot "+name+" saved.")
			_, err = pruneSnapshots(s.options, base, retention(s.options))
		}
		if err != nil {
			log.Printf("level=error msg=%q", "Failed to take etcd snapshot: "+err.Error())
		}
	})
	check(err, "etcd-snapshot-schedule-cron")
	schedule.Start()
}

func snapshotDir(o options) string { return o.one("etcd-snapshot-dir", serverDir+"/db/snapshots") }

func retention(o options) int {
	count, err := strconv.Atoi(o.one("etcd-snapshot-retention", "5"))
	check(err, "etcd-snapshot-retention")
	return count
}

func saveSnapshot(client *clientv3.Client, o options, base, node string) (string, error) {
	name := fmt.Sprintf("%s-%s-%d", base, node, time.Now().Unix())
	path := filepath.Join(snapshotDir(o), name)
	if err := os.MkdirAll(snapshotDir(o), 0o700); err != nil {
		return "", err
	}
	ctx, done := shortly()
	defer done()
	content, err := client.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	defer content.Close()
	file, err := os.OpenFile(path+".part", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if _, err := io.Copy(file, content); err != nil {
		return "", err
	}
	if err := file.Sync(); err != nil {
		return "", err
	}
	return name, os.Rename(path+".part", path)
}

// listSnapshots, the oldest first: their names end in the time.
func listSnapshots(o options) []os.FileInfo {
	entries, _ := os.ReadDir(snapshotDir(o))
	var found []os.FileInfo
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && !strings.HasSuffix(entry.Name(), ".part") {
			found = append(found, info)
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].ModTime().Before(found[j].ModTime()) })
	return found
}

func pruneSnapshots(o options, base string, keep int) (gone []string, err error) {
	var names []string
	for _, info := range listSnapshots(o) {
		if strings.HasPrefix(info.Name(), base+"-") {
			names = append(names, info.Name())
		}
	}
	for ; len(names) > keep; names = names[1:] {
		if err := os.Remove(filepath.Join(snapshotDir(o), names[0])); err != nil {
			return gone, err
		}
		gone = append(gone, names[0])
	}
	return gone, nil
}

func runSnapshot(arguments []string) {
	o := configured(configFile)
	command := ""
	var rest []string
	for i := 0; i < len(arguments); i++ {
		name, value, given := strings.Cut(strings.TrimLeft(arguments[i], "-"), "=")
		switch {
		case !strings.HasPrefix(arguments[i], "-") && command == "":
			command = arguments[i]
		case !strings.HasPrefix(arguments[i], "-"):
			rest = append(rest, arguments[i])
		default:
			if !given && i+1 < len(arguments) {
				i++
				value = arguments[i]
			}
			o[strings.TrimPrefix(name, "etcd-")] = []string{value} // --etcd-snapshot-dir and --snapshot-dir are one
			o["etcd-"+strings.TrimPrefix(name, "etcd-")] = []string{value}
		}
	}
	base := o.one("name", "on-demand")
	say := func(name, what string) { log.Printf("level=info msg=%q", "Snapshot "+name+" "+what+".") }
	if _, err := os.Stat(etcdNameFile); err != nil {
		log.Fatal(`level=fatal msg="etcd datastore disabled"`) // pkg/etcd/snapshot_handler.go
	}
	switch command {
	case "save":
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
		client, err := etcdClient(etcdLocal)
		check(err, "etcd")
		name, err := saveSnapshot(client, o, base, strings.ToLower(o.one("node-name", hostname())))
		check(err, "snapshot")
		say(name, "saved")
	case "ls", "list", "l":
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
		fmt.Fprint(table, "Name\tLocation\tSize\tCreated\n")
		for _, info := range listSnapshots(o) {
			place := "file://" + filepath.Join(snapshotDir(o), info.Name())
			fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", info.Name(), place, info.Size(), info.ModTime().UTC().Format(time.RFC3339))
		}
		table.Flush()
	case "delete":
		if len(rest) == 0 {
			log.Fatal(`level=fatal msg="no snapshots given for removal"`)
		}
		for _, name := range rest {
			check(os.Remove(filepath.Join(snapshotDir(o), filepath.Base(name))), "snapshot")
			say(name, "deleted")
		}
	case "prune":
		gone, err := pruneSnapshots(o, base, retention(o))
		for _, name := range gone {
			say(name, "deleted")
		}
		check(err, "snapshot")
	default:
		usage()
	}
}
