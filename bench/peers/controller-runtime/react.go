// Reacts to changes of labelled Secrets: says when the reconcile that answers a change begins.
package main

import (
	"context"
	"strconv"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func react(ctx context.Context, config *rest.Config) error {
	return start(ctx, config, scenarioController{
		label:      "react",
		reconciler: func(client client.Client) reconcile.Reconciler { return &reactor{client: client} },
	})
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
