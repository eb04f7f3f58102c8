// Reacts to changes of labelled Secrets: says when the reconcile that answers a change begins.
package main

import (
	"context"
	"strconv"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func react(ctx context.Context, config *rest.Config) error {
	manager, err := controllerruntime.NewManager(config, controllerruntime.Options{
		Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         map[client.Object]cache.ByObject{&corev1.Secret{}: {Label: labels.SelectorFromSet(labels.Set{"bench": "react"})}},
		},
	})
	if err != nil {
		return err
	}
	err = controllerruntime.NewControllerManagedBy(manager).
		For(&corev1.Secret{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 16}).
		Complete(&reactor{client: manager.GetClient()})
	if err != nil {
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

type reactor struct{ client client.Client }

func (r *reactor) Reconcile(ctx context.Context, request controllerruntime.Request) (controllerruntime.Result, error) {
	atNs, err := monotonicNs()
	if err != nil {
		return controllerruntime.Result{}, err
	}
	var secret corev1.Secret
	if err := r.client.Get(ctx, request.NamespacedName, &secret); err != nil {
		return controllerruntime.Result{}, client.IgnoreNotFound(err)
	}
	report(map[string]any{"type": "reconciled", "sequence": secret.Annotations["bench/sequence"], "atNs": strconv.FormatInt(atNs, 10)})
	return controllerruntime.Result{}, nil
}

// The kernel's monotonic clock, which all processes of a machine share.
func monotonicNs() (int64, error) {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano(), err
}
