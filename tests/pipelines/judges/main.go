// Judges examples/pipelines as Argo Workflows and Tekton do, with their own types: one case per line of JSON on
// standard input, one result per line on standard output.
//
//	{"kind": "WorkflowTemplate" | "Task", "object": {...}}             -> {"error": ""}
//	{"success": "...", "failure": "...", "object": {...}}              -> {"verdict": "succeeded" | "failed" | "waiting"}
//
// Argo Workflows reads the two conditions of a resource template as label selectors whose keys are gjson paths of the
// object: it fails when one requirement of the failure condition holds, and succeeds when all of the other hold.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	argo "github.com/argoproj/argo-workflows/v3/pkg/apis/workflow/v1alpha1"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

type question struct {
	Kind    string          `json:"kind"`
	Object  json.RawMessage `json:"object"`
	Success string          `json:"success"`
	Failure string          `json:"failure"`
}

type answer struct {
	Error   string `json:"error,omitempty"`
	Verdict string `json:"verdict,omitempty"`
}

// paths is an object whose labels are the values at gjson paths.
type paths json.RawMessage

func (p paths) Has(path string) bool   { return gjson.GetBytes(p, path).Exists() }
func (p paths) Get(path string) string { return gjson.GetBytes(p, path).String() }
func (p paths) Lookup(path string) (string, bool) {
	found := gjson.GetBytes(p, path)
	return found.String(), found.Exists()
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		given, err := judge(asked)
		if err != nil {
			given.Error = err.Error()
		}
		text, _ := json.Marshal(given)
		fmt.Println(string(text))
	}
}

func judge(asked question) (answer, error) {
	switch asked.Kind {
	case "WorkflowTemplate":
		return answer{}, yaml.UnmarshalStrict(asked.Object, &argo.WorkflowTemplate{})
	case "Task":
		task := tekton.Task{}
		if err := yaml.UnmarshalStrict(asked.Object, &task); err != nil {
			return answer{}, err
		}
		ctx := context.Background()
		task.SetDefaults(ctx)
		if err := task.Validate(ctx); err != nil {
			return answer{}, err
		}
		return answer{}, nil
	case "":
		return conditions(asked)
	}
	return answer{}, fmt.Errorf("unknown kind %q", asked.Kind)
}

func conditions(asked question) (answer, error) {
	success, err := requirements(asked.Success)
	if err != nil {
		return answer{}, err
	}
	failure, err := requirements(asked.Failure)
	if err != nil {
		return answer{}, err
	}
	for _, one := range failure {
		if one.Matches(paths(asked.Object)) {
			return answer{Verdict: "failed"}, nil
		}
	}
	for _, one := range success {
		if !one.Matches(paths(asked.Object)) {
			return answer{Verdict: "waiting"}, nil
		}
	}
	return answer{Verdict: "succeeded"}, nil
}

func requirements(condition string) (labels.Requirements, error) {
	selector, err := labels.Parse(condition)
	if err != nil {
		return nil, err
	}
	found, _ := selector.Requirements()
	return found, nil
}
