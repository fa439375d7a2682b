// SPDX-License-Identifier: Apache-2.0

// flux says what Flux would say, with Flux's own code.
//
//	flux apply NAMESPACE <MANIFESTS   one line an object: "KIND/NS/NAME created|configured|unchanged"
//	flux diff NAMESPACE <MANIFESTS    the same words, nothing is changed; exit 1 if anything differs
//	flux status <OBJECT.json          "STATUS: MESSAGE" of kstatus
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func newManager() (*ssa.ResourceManager, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, err
	}
	// The field manager of Flux's kustomize-controller.
	poller := polling.NewStatusPoller(c, c.RESTMapper(), polling.Options{})
	return ssa.NewResourceManager(c, poller, ssa.Owner{
		Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io",
	}), nil
}

func readObjects(namespace string) ([]*unstructured.Unstructured, error) {
	objects, err := utils.ReadObjects(os.Stdin)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if object.GetNamespace() == "" && !utils.IsClusterDefinition(object) {
			object.SetNamespace(namespace)
		}
	}
	return objects, nil
}

func apply(ctx context.Context, namespace string) error {
	manager, err := newManager()
	if err != nil {
		return err
	}
	objects, err := readObjects(namespace)
	if err != nil {
		return err
	}
	changes, err := manager.ApplyAllStaged(ctx, objects, ssa.DefaultApplyOptions())
	if err != nil {
		return err
	}
	for _, entry := range changes.Entries {
		fmt.Println(entry.String())
	}
	return nil
}

func compare(ctx context.Context, namespace string) (bool, error) {
	manager, err := newManager()
	if err != nil {
		return false, err
	}
	objects, err := readObjects(namespace)
	if err != nil {
		return false, err
	}
	same := true
	for _, object := range objects {
		entry, live, merged, err := manager.Diff(ctx, object, ssa.DefaultDiffOptions())
		if err != nil {
			return false, err
		}
		fmt.Println(entry.String())
		if entry.Action == ssa.UnchangedAction {
			continue
		}
		same = false
		if live != nil && merged != nil {
			for _, side := range []*unstructured.Unstructured{live, merged} {
				text, err := json.Marshal(side.Object)
				if err != nil {
					return false, err
				}
				fmt.Println(" ", string(text))
			}
		}
	}
	return same, nil
}

func health() error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(text); err != nil {
		return err
	}
	result, err := status.Compute(object)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s\n", result.Status, result.Message)
	return nil
}

func run() error {
	args := os.Args[1:]
	switch {
	case len(args) == 2 && args[0] == "apply":
		return apply(context.Background(), args[1])
	case len(args) == 2 && args[0] == "diff":
		same, err := compare(context.Background(), args[1])
		if err == nil && !same {
			os.Exit(1)
		}
		return err
	case len(args) == 1 && args[0] == "status":
		return health()
	}
	return errors.New("usage: flux apply NAMESPACE | flux diff NAMESPACE | flux status")
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "flux:", err)
		os.Exit(2)
	}
}
