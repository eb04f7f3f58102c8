// Syncs a cache of Secrets, as a controller does at its start: whole objects less managedFields, or only what the common job needs of them.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func syncWhole(ctx context.Context, config *rest.Config) error {
	return syncSecrets(ctx, config, cache.TransformStripManagedFields())
}

// The transform that an expert writes when memory matters: names and the certificate's digest stay.
func syncDigest(ctx context.Context, config *rest.Config) error {
	return syncSecrets(ctx, config, func(object any) (any, error) {
		secret, ok := object.(*corev1.Secret)
		if !ok {
			return object, nil
		}
		kept := metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name, UID: secret.UID, ResourceVersion: secret.ResourceVersion}
		sum := sha256.Sum256(secret.Data["tls.crt"])
		return &corev1.Secret{ObjectMeta: kept, Data: map[string][]byte{"sha256": sum[:]}}, nil
	})
}

func syncSecrets(ctx context.Context, config *rest.Config, transform toolscache.TransformFunc) error {
	started := time.Now()
	secrets, err := cache.New(config, cache.Options{
		DefaultTransform: transform,
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
