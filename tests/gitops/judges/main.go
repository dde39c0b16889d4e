// What Argo CD and Flux would say of an object's health, with the interpreters that they themselves use.
//
// Reads lines of JSON, {"lua": "...", "healthCheckExprs": {...}, "object": {...}}, and answers each with
// {"argocd": {"status": "...", "message": "..."}, "flux": "..."}, or {"error": "..."}.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	luajson "layeh.com/gopher-json"
)

type question struct {
	Lua    string                           `json:"lua"`
	Exprs  kustomize.HealthCheckExpressions `json:"healthCheckExprs"`
	Object json.RawMessage                  `json:"object"`
}

type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

type answer struct {
	ArgoCD health `json:"argocd"`
	Flux   string `json:"flux"`
	Error  string `json:"error,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		given, err := judge(lines.Bytes())
		if err != nil {
			given.Error = err.Error()
		}
		if err := answers.Encode(given); err != nil {
			panic(err)
		}
	}
}

func judge(line []byte) (given answer, err error) {
	var asked question
	if err = json.Unmarshal(line, &asked); err != nil {
		return given, err
	}
	var object unstructured.Unstructured
	if err = object.UnmarshalJSON(asked.Object); err != nil {
		return given, err
	}
	if given.ArgoCD, err = argoCD(asked.Lua, asked.Object); err != nil {
		return given, fmt.Errorf("lua: %w", err)
	}
	evaluator, err := cel.NewStatusEvaluator(&asked.Exprs)
	if err != nil {
		return given, err
	}
	result, err := evaluator.Evaluate(context.Background(), &object)
	if err != nil {
		return given, err
	}
	given.Flux = string(result.Status)
	return given, nil
}

// argoCD runs a health script as Argo CD does by default: only the base, table and string libraries, the
// object as the global `obj`, and a table with `status` and `message` as the result.
func argoCD(script string, object json.RawMessage) (health, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage},
		{lua.BaseLibName, lua.OpenBase},
		{lua.TabLibName, lua.OpenTable},
		{lua.StringLibName, lua.OpenString},
	} {
		call := lua.P{Fn: state.NewFunction(library.open), NRet: 0, Protect: true}
		if err := state.CallByParam(call, lua.LString(library.name)); err != nil {
			return health{}, err
		}
	}
	within, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	state.SetContext(within)
	value, err := luajson.Decode(state, object)
	if err != nil {
		return health{}, err
	}
	state.SetGlobal("obj", value)
	if err := state.DoString(script); err != nil {
		return health{}, err
	}
	table, is := state.Get(-1).(*lua.LTable)
	if !is {
		return health{}, fmt.Errorf("the script returns no table")
	}
	encoded, err := luajson.Encode(table)
	if err != nil {
		return health{}, err
	}
	var said health
	return said, json.Unmarshal(encoded, &said)
}
