// Istio's own injection webhook, from its Go module, without the rest of istiod: it needs no cluster, and is configured by files as istiod is. It prints its URL.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"istio.io/api/networking/v1beta1"
	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pkg/config"
	"istio.io/istio/pkg/config/mesh"
	"istio.io/istio/pkg/config/mesh/meshwatcher"
	"istio.io/istio/pkg/config/schema/gvk"
	"istio.io/istio/pkg/kube/inject"
	"istio.io/istio/pkg/kube/multicluster"
	"istio.io/istio/pkg/util/protomarshal"
)

// In a folder: `config` and `values` as in the ConfigMap istio-sidecar-injector, `mesh` as in the ConfigMap istio, `proxyconfigs.json`, `revision`, `tls.crt`, `tls.key`.
func main() {
	folder := os.Args[1]
	meshConfig, err := mesh.ApplyMeshConfigDefaults(read(folder, "mesh"))
	check(err)
	store := model.NewFakeStore()
	var proxyConfigs []struct {
		Namespace, Name string
		Spec            json.RawMessage
	}
	check(json.Unmarshal([]byte(read(folder, "proxyconfigs.json")), &proxyConfigs))
	for _, each := range proxyConfigs {
		spec := &v1beta1.ProxyConfig{}
		check(protomarshal.Unmarshal(each.Spec, spec))
		_, err := store.Create(config.Config{
			Meta: config.Meta{GroupVersionKind: gvk.ProxyConfig, Namespace: each.Namespace, Name: each.Name},
			Spec: spec,
		})
		check(err)
	}
	env := &model.Environment{Watcher: meshwatcher.NewTestWatcher(meshConfig), ConfigStore: store}
	env.SetPushContext(&model.PushContext{ProxyConfigs: model.GetProxyConfigs(store, meshConfig)})
	watcher, err := inject.NewFileWatcher(filepath.Join(folder, "config"), filepath.Join(folder, "values"))
	check(err)
	mux := http.NewServeMux()
	_, err = inject.NewWebhook(inject.WebhookParameters{
		Watcher:      watcher,
		Env:          env,
		Mux:          mux,
		Revision:     read(folder, "revision"),
		MultiCluster: multicluster.NewFakeController(),
	})
	check(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Printf("https://%s/inject\n", listener.Addr())
	check(http.ServeTLS(listener, mux, filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")))
}

func read(folder, name string) string {
	text, err := os.ReadFile(filepath.Join(folder, name))
	check(err)
	return string(text)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
