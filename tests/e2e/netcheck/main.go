// Command netcheck is the one program in the pods of the end-to-end tests: `netcheck serve PORT` answers every
// request with the address it came from, and `netcheck get URL` prints what another one answers.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fail("usage: netcheck serve PORT | netcheck get URL")
	}
	switch os.Args[1] {
	case "serve":
		serve(os.Args[2])
	case "get":
		get(os.Args[2])
	default:
		fail("unknown verb " + os.Args[1])
	}
}

func serve(port string) {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		from, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			from = r.RemoteAddr
		}
		fmt.Fprintf(w, "from=%s path=%s\n", from, r.URL.Path)
	})
	fail(http.ListenAndServe(":"+port, nil).Error())
}

func get(url string) {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		fail(err.Error())
	}
	defer response.Body.Close()
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		fail(err.Error())
	}
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, "netcheck: "+message)
	os.Exit(1)
}
