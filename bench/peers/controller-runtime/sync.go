// Syncs a cache of whole Secrets, less managedFields: what a controller that reads Secrets does at its start.
package main

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func syncWhole(ctx context.Context, config *rest.Config) error {
	started := time.Now()
	secrets, err := cache.New(config, cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject:         map[client.Object]cache.ByObject{&corev1.Secret{}: {Label: labels.SelectorFromSet(labels.Set{"bench": "sync"})}},
	})
	if err != nil {
		return err
	}
	go func() {
		if err := secrets.Start(ctx); err != nil {
			fail(err)
		}
	}()
	if _, err := secrets.GetInformer(ctx, &corev1.Secret{}); err != nil {
		return err
	}
	if !secrets.WaitForCacheSync(ctx) {
		return errors.New("the cache did not sync")
	}
	syncMs := float64(time.Since(started).Microseconds()) / 1000
	var all corev1.SecretList
	if err := secrets.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	report(map[string]any{"type": "synced", "objects": len(all.Items), "ms": syncMs})
	return nil
}
