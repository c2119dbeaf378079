package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// The programs that k3s brings along are packed behind its own, as a zip archive; k3s unpacks its own the same way, into
// data/HASH with a link `current` (k3s-io/k3s, cmd/k3s/main.go).
func binDir() string { return dataDir + "/data/current/bin" }

func unpack() {
	archive, err := zip.OpenReader("/proc/self/exe")
	check(err, "the programs behind this one")
	defer archive.Close()
	digest := sha256.New()
	for _, member := range archive.File {
		fmt.Fprintf(digest, "%s %d %d\n", member.Name, member.CRC32, member.UncompressedSize64)
	}
	directory := filepath.Join(dataDir, "data", hex.EncodeToString(digest.Sum(nil)))
	if _, err := os.Stat(directory); err != nil {
		part := directory + ".part"
		check(os.RemoveAll(part), "data")
		check(os.MkdirAll(part+"/bin", 0o755), "data")
		for _, member := range archive.File {
			content, err := member.Open()
			check(err, member.Name)
			file, err := os.OpenFile(filepath.Join(part, "bin", member.Name), os.O_CREATE|os.O_WRONLY, 0o755)
			check(err, member.Name)
			_, err = io.Copy(file, content)
			check(err, member.Name)
			check(file.Close(), member.Name)
		}
		check(os.Rename(part, directory), "data")
	}
	current := dataDir + "/data/current"
	os.Remove(current)
	check(os.Symlink(directory, current), "data/current")
	os.Setenv("PATH", binDir()+":"+os.Getenv("PATH"))
}

func runProgram(name string, arguments []string) {
	check(syscall.Exec(filepath.Join(binDir(), name), append([]string{name}, arguments...), os.Environ()), name)
}

// start runs a program until this one ends, whose end it does not outlive. When it ends by itself, so does this one,
// and systemd starts all anew, as with k3s.
func start(name string, as *syscall.SysProcAttr, path string, arguments ...string) {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		command := exec.Command(path)
		command.Args = append([]string{name}, arguments...)
		command.Stdout, command.Stderr = os.Stdout, os.Stderr
		if name == "etcd" {
			command.Stderr = watchRemoval{}
		}
		command.Env = append(withoutNotify(), "NODE_NAME="+nodeName())
		command.SysProcAttr = as
		started <- command.Start()
		log.Fatalf("level=fatal msg=%q", fmt.Sprintf("%s ended: %v", name, command.Wait()))
	}()
	check(<-started, name)
}

func startComponent(name string, arguments ...string) {
	start(name, attributes(), self(), arguments...)
}

// startApart runs a program of the control plane under an identity of its own, with root's sight of files: the kernel
// counts inotify's instances by user, and the lab's nodes share one kernel.
func startApart(name string, arguments ...string) {
	apart := attributes()
	apart.Credential = &syscall.Credential{Uid: 65533, Gid: 65533}
	apart.AmbientCaps = []uintptr{1, 2} // CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
	start(name, apart, self(), arguments...)
}

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }

// self by its path, so that its processes are named after it, as those of k3s are.
func self() string {
	path, err := os.Executable()
	check(err, "own path")
	return path
}

func withoutNotify() []string {
	var kept []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "NOTIFY_SOCKET=") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// ready tells systemd (sd_notify(3)) that what waits for this unit may go on.
func ready() {
	log.Print("level=info msg=\"k3s (stand-in) is up and running\"")
	address := os.Getenv("NOTIFY_SOCKET")
	if address == "" {
		return
	}
	if address[0] == '@' {
		address = "\x00" + address[1:]
	}
	connection, err := net.Dial("unixgram", address)
	check(err, "systemd's socket")
	defer connection.Close()
	_, err = connection.Write([]byte("READY=1"))
	check(err, "systemd's socket")
}

// until calls again and again, twice a second.
func until(what string, try func() error) {
	for count := 0; ; count++ {
		err := try()
		if err == nil {
			return
		}
		if count%20 == 10 {
			log.Printf("level=info msg=%q", fmt.Sprintf("waiting for %s: %v", what, err))
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// waitForPorts: an earlier start's processes may still be ending.
func waitForPorts(addresses ...string) {
	for _, address := range addresses {
		until("port "+address, func() error {
			listener, err := net.Listen("tcp", address)
			if err == nil {
				err = listener.Close()
			}
			return err
		})
	}
}

func write(path string, content string, mode os.FileMode) {
	check(os.MkdirAll(filepath.Dir(path), 0o755), path)
	check(os.WriteFile(path+".new", []byte(content), mode), path)
	check(os.Chmod(path+".new", mode), path)
	check(os.Rename(path+".new", path), path)
}
