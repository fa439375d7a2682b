// SPDX-License-Identifier: Apache-2.0

// argo says what Argo CD would say, with Argo CD's own comparison code.
//
//	argo diff [-client-side] [-mutations] NAMESPACE <MANIFESTS
//	    one line an object, "KIND/NAME Synced|OutOfSync|Missing", and the difference; exit 1 if any
//	argo health SCRIPT.lua <OBJECT.json
//	    "STATUS: MESSAGE", from a health script run as Argo CD runs it
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/argoproj/gitops-engine/pkg/diff"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	lua "github.com/yuin/gopher-lua"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// Argo CD's own field manager.
const manager = "argocd-controller"

func readObjects(in io.Reader) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(in, 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

type cluster struct {
	client dynamic.Interface
	mapper meta.RESTMapper
}

func newCluster(config *rest.Config) (*cluster, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))
	return &cluster{client, mapper}, nil
}

// live gets the object as it is, nil where there is none; it sets the namespace of a namespaced one.
func (c *cluster) live(ctx context.Context, object *unstructured.Unstructured, namespace string) (
	*unstructured.Unstructured, error,
) {
	gvk := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	var client dynamic.ResourceInterface = c.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		client = c.client.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	live, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

func compare(ctx context.Context, namespace string, clientSide, mutations bool) (bool, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return false, err
	}
	c, err := newCluster(config)
	if err != nil {
		return false, err
	}
	objects, err := readObjects(os.Stdin)
	if err != nil {
		return false, err
	}
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	schema, parser, err := kubectl.LoadOpenAPISchema(config)
	if err != nil {
		return false, err
	}
	applier, cleanup, err := kube.ManageServerSideDiffDryRuns(config, schema, tracing.NopTracer{},
		logr.Discard(), func(string) (kube.CleanupFunc, error) { return func() {}, nil })
	if err != nil {
		return false, err
	}
	defer cleanup()
	options := []diff.Option{diff.WithLogr(logr.Discard()), diff.WithManager(manager)}
	if !clientSide {
		options = append(options, diff.WithServerSideDiff(true), diff.WithGVKParser(parser),
			diff.WithIgnoreMutationWebhook(!mutations),
			diff.WithServerSideDryRunner(diff.NewK8sServerSideDryRunner(applier)))
	}
	synced := true
	for _, object := range objects {
		name := object.GetKind() + "/" + object.GetName()
		live, err := c.live(ctx, object, namespace)
		if err != nil {
			return false, err
		}
		if live == nil {
			fmt.Println(name, "Missing")
			synced = false
			continue
		}
		result, err := diff.Diff(object, live, options...)
		if err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		}
		if !result.Modified {
			fmt.Println(name, "Synced")
			continue
		}
		synced = false
		fmt.Printf("%s OutOfSync\n  live:      %s\n  predicted: %s\n", name, result.NormalizedLive,
			result.PredictedLive)
	}
	return synced, nil
}

// luaValue turns decoded JSON into what a script sees.
func luaValue(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case bool:
		return lua.LBool(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		table := state.CreateTable(len(v), 0)
		for _, item := range v {
			table.Append(luaValue(state, item))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(v))
		for key, item := range v {
			table.RawSetString(key, luaValue(state, item))
		}
		return table
	}
	return lua.LNil
}

func health(script string) error {
	var object map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&object); err != nil {
		return err
	}
	// Argo CD opens these libraries and no other.
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString,
	} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true},
			lua.LString(name)); err != nil {
			return err
		}
	}
	state.SetGlobal("obj", luaValue(state, object))
	if err := state.DoFile(script); err != nil {
		return err
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return errors.New("the script returned no table")
	}
	fmt.Printf("%s: %s\n", result.RawGetString("status"), result.RawGetString("message"))
	return nil
}

func run() error {
	if len(os.Args) > 1 && os.Args[1] == "health" && len(os.Args) == 3 {
		return health(os.Args[2])
	}
	if len(os.Args) > 1 && os.Args[1] == "diff" {
		flags := flag.NewFlagSet("diff", flag.ExitOnError)
		clientSide := flags.Bool("client-side", false, "Argo CD's three-way diff, without the server")
		mutations := flags.Bool("mutations", false, "IncludeMutationWebhook=true")
		if err := flags.Parse(os.Args[2:]); err != nil {
			return err
		}
		if flags.NArg() == 1 {
			synced, err := compare(context.Background(), flags.Arg(0), *clientSide, *mutations)
			if err == nil && !synced {
				os.Exit(1)
			}
			return err
		}
	}
	return errors.New("usage: argo diff [-client-side] [-mutations] NAMESPACE | argo health SCRIPT.lua")
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "argo:", err)
		os.Exit(2)
	}
}
