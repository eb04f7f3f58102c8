// The Go contestant: what an expert would write on controller-runtime for each scenario, with its best settings.
//
// It takes the scenario's name as its argument and a kubeconfig in BENCH_KUBECONFIG, says on standard output, in lines of JSON,
// what it reached, and ends when its standard input does, so that it never outlives the benchmark.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	log.SetLogger(logr.Discard())
	scenarios := map[string]func(context.Context, *rest.Config) error{
		"sync-whole": syncWhole, "sync-digest": syncDigest, "react": react, "job": job,
	}
	if len(os.Args) != 2 || scenarios[os.Args[1]] == nil {
		fail(fmt.Errorf("usage: peer sync-whole|sync-digest|react|job"))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("BENCH_KUBECONFIG"))
	if err != nil {
		fail(fmt.Errorf("reading the kubeconfig in BENCH_KUBECONFIG: %w", err))
	}
	// No limit of the client's own: the server decides.
	config.QPS = -1
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if err := scenarios[os.Args[1]](context.Background(), config); err != nil {
		fail(fmt.Errorf("%s: %w", os.Args[1], err))
	}
	select {}
}

func report(line any) {
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
