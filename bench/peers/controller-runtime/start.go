// Starts a controller over labelled objects: the same set-up for every scenario that reconciles.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A scenario's part: the label of what it watches, what it owns besides Secrets, and its reconciler.
type scenarioController struct {
	label      string
	owned      []client.Object
	reconciler func(client.Client) reconcile.Reconciler
}

// Reports when the caches are synced; the controller then goes on until the process ends.
func start(ctx context.Context, config *rest.Config, scenario scenarioController) error {
	selected := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{"bench": scenario.label})}
	byObject := map[client.Object]cache.ByObject{&corev1.Secret{}: selected}
	for _, kind := range scenario.owned {
		byObject[kind] = selected
	}
	consistent := true
	manager, err := controllerruntime.NewManager(config, controllerruntime.Options{
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: byObject},
		// Reads wait for the process's own writes: without, a key that runs again at once would repeat its last write from an older cache.
		Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: &consistent}},
	})
	if err != nil {
		return err
	}
	build := controllerruntime.NewControllerManagedBy(manager).
		For(&corev1.Secret{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 16})
	for _, kind := range scenario.owned {
		build = build.Owns(kind)
	}
	if err := build.Complete(scenario.reconciler(manager.GetClient())); err != nil {
		return err
	}
	go func() {
		if err := manager.Start(ctx); err != nil {
			fail(err)
		}
	}()
	if !manager.GetCache().WaitForCacheSync(ctx) {
		return nil
	}
	report(map[string]any{"type": "ready"})
	return nil
}
