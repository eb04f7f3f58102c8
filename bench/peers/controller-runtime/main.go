// The Go contestant: what an expert would write on controller-runtime for each scenario, with its best settings.
//
// It takes the scenario's name as its argument and a kubeconfig in BENCH_KUBECONFIG, says on standard output, in lines of JSON,
// what it reached, and ends when its standard input does, so that it never outlives the benchmark.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func main() {
	log.SetLogger(logr.Discard())
	scenarios := map[string]func(context.Context, *rest.Config) error{
		"sync-whole": syncWhole, "sync-digest": syncDigest, "react": react, "job": job, "job-lead": jobLead,
	}
	if len(os.Args) != 2 || scenarios[os.Args[1]] == nil {
		fail(fmt.Errorf("usage: peer sync-whole|sync-digest|react|job|job-lead"))
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

// A scenario's part: the label of what it watches, what it owns besides Secrets, and its reconciler.
type scenarioController struct {
	label      string
	owned      []client.Object
	elected    bool
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
		Metrics:                 server.Options{BindAddress: "0"},
		LeaderElection:          scenario.elected,
		LeaderElectionID:        "bench-peer",
		LeaderElectionNamespace: "default",
		Cache:                   cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: byObject},
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

const digestKey = "bench/digest"

// The common job: for each labelled Secret a ConfigMap with its certificate's SHA-256, and the same in an annotation of the Secret.
func job(ctx context.Context, config *rest.Config) error {
	return startJob(ctx, config, false)
}

// The common job by a process that is elected.
func jobLead(ctx context.Context, config *rest.Config) error {
	return startJob(ctx, config, true)
}

func startJob(ctx context.Context, config *rest.Config, elected bool) error {
	return start(ctx, config, scenarioController{
		label:      "job",
		elected:    elected,
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

// Reacts to changes of labelled Secrets: says when the reconcile that answers a change begins.
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

// Syncs a cache of Secrets, as a controller does at its start: whole objects less managedFields.
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
