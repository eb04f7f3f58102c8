// The common job: for each labelled Secret a ConfigMap with its certificate's SHA-256, and the same in an annotation of the Secret.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const digestKey = "bench/digest"

func job(ctx context.Context, config *rest.Config) error {
	return start(ctx, config, scenarioController{
		label:      "job",
		owned:      []client.Object{&corev1.ConfigMap{}},
		reconciler: func(client client.Client) reconcile.Reconciler { return &publisher{client: client} },
	})
}

type publisher struct{ client client.Client }

func (p *publisher) Reconcile(ctx context.Context, request controllerruntime.Request) (controllerruntime.Result, error) {
	var secret corev1.Secret
	if err := p.client.Get(ctx, request.NamespacedName, &secret); err != nil {
		return controllerruntime.Result{}, client.IgnoreNotFound(err)
	}
	sum := sha256.Sum256(secret.Data["tls.crt"])
	digest := hex.EncodeToString(sum[:])
	if err := p.publish(ctx, &secret, digest); err != nil {
		return controllerruntime.Result{}, err
	}
	if secret.Annotations[digestKey] == digest {
		return controllerruntime.Result{}, nil
	}
	before := secret.DeepCopy()
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, digestKey, digest)
	return controllerruntime.Result{}, p.client.Patch(ctx, &secret, client.MergeFrom(before))
}

func (p *publisher) publish(ctx context.Context, secret *corev1.Secret, digest string) error {
	var published corev1.ConfigMap
	err := p.client.Get(ctx, client.ObjectKeyFromObject(secret), &published)
	if apierrors.IsNotFound(err) {
		published = corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name, Labels: map[string]string{"bench": "job"}},
			Data:       map[string]string{"sha256": digest},
		}
		if err := controllerutil.SetControllerReference(secret, &published, p.client.Scheme()); err != nil {
			return err
		}
		return p.client.Create(ctx, &published)
	}
	if err != nil || published.Data["sha256"] == digest {
		return err
	}
	published.Data = map[string]string{"sha256": digest}
	return p.client.Update(ctx, &published)
}
