// Command client completes a checklist with the client from oapi-codegen: template, dispatch, answer, wait, read.
// It reads {"base_url", "key", "photo"} (the photo in base64) from standard input and prints its results as JSON.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"checklists.dev/tests/client/checklists"
)

const unknown = "r-00000000-0000-4000-8000-000000000000"

type input struct {
	BaseURL string `json:"base_url"`
	Key     string `json:"key"`
	Photo   []byte `json:"photo"`
}

func client(base, authorization string) *checklists.ClientWithResponses {
	made, err := checklists.NewClientWithResponses(base, checklists.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", authorization)
			return nil
		}))
	must(err)
	return made
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func accepted(status string, body []byte, err error) {
	must(err)
	if !strings.HasPrefix(status, "20") {
		log.Fatalf("refused: %s %s", status, body)
	}
}

func pointer[T any](value T) *T { return &value }

func main() {
	var given input
	must(json.NewDecoder(os.Stdin).Decode(&given))
	background := context.Background()
	owner := client(given.BaseURL, "Bearer "+given.Key)

	var why checklists.When
	must(json.Unmarshal([]byte(`{"step": "s-clean", "op": "eq", "value": false}`), &why))
	var photos checklists.StepInput_Photo
	must(photos.FromPhotoBoundsInput(checklists.PhotoBoundsInput{Min: pointer(1), Max: pointer(2)}))
	definition := checklists.DefinitionInput{
		Name: "Opening check",
		Sections: []checklists.SectionInput{{Id: "g-all", Title: "Kitchen", Steps: []checklists.StepInput{
			{Id: "s-clean", Type: "boolean", Label: "Is it clean?", Required: pointer(true)},
			{Id: "s-why", Type: "text", Label: "Why not?", Required: pointer(true), Condition: &checklists.Condition{When: why}},
			{Id: "s-temp", Type: "number", Label: "Temperature"},
			{Id: "s-shelf", Type: "boolean", Label: "Shelf", Photo: &photos},
		}}},
	}
	template, err := owner.CreateTemplateWithResponse(background, nil, definition)
	must(err)
	accepted(template.Status(), template.Body, err)
	dispatched, err := owner.DispatchRunWithResponse(background,
		&checklists.DispatchRunParams{IdempotencyKey: pointer("go-1")},
		checklists.DispatchRequest{TemplateId: template.JSON201.Id, ExecutorRef: pointer("go"), ExpiresInHours: pointer(1.5)})
	must(err)
	accepted(dispatched.Status(), dispatched.Body, err)
	run := dispatched.JSON201

	_, token, _ := strings.Cut(run.Link, "#")
	executor := client(given.BaseURL, "Executor "+token)
	for _, answer := range []struct {
		step  string
		value any
	}{{"s-clean", false}, {"s-why", "The drain"}, {"s-temp", 21.123456789}, {"s-shelf", true}} {
		kept, err := executor.PutAnswerWithResponse(background, run.RunId, answer.step, nil,
			checklists.AnswerRequest{Value: answer.value, OpId: pointer(answer.step)})
		must(err)
		accepted(kept.Status(), kept.Body, err)
	}
	added, err := executor.AddPhotoWithBodyWithResponse(background, run.RunId, "s-shelf",
		&checklists.AddPhotoParams{OpId: pointer("photo")}, "image/jpeg", bytes.NewReader(given.Photo))
	must(err)
	accepted(added.Status(), added.Body, err)
	submitted, err := executor.SubmitRunWithResponse(background, run.RunId, nil, checklists.SubmitRequest{})
	must(err)
	accepted(submitted.Status(), submitted.Body, err)

	ended := read(background, owner, run.RunId)
	for attempt := 0; attempt < 600 && (ended.Status == "pending" || ended.Status == "in_progress"); attempt++ {
		time.Sleep(100 * time.Millisecond)
		ended = read(background, owner, run.RunId)
	}
	schema, err := owner.GetRunAnswerSchemaWithResponse(background, run.RunId, nil)
	must(err)
	accepted(schema.Status(), schema.Body, err)
	missing, err := owner.GetRunWithResponse(background, unknown, nil)
	must(err)
	values := map[string]any{}
	for step, answer := range ended.Answers {
		values[step] = answer.Value
	}
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"run_id":    ended.RunId,
		"status":    ended.Status,
		"source":    template.JSON201.Sections[0].Steps[1].Condition.When.Step,
		"values":    values,
		"photos":    len(ended.Answers["s-shelf"].Photos),
		"completed": ended.CompletedAt != nil,
		"schema":    json.RawMessage(schema.Body),
		"refusal":   missing.JSON404.Error,
	}))
}

func read(background context.Context, owner *checklists.ClientWithResponses, runID string) checklists.Run {
	answer, err := owner.GetRunWithResponse(background, runID, nil)
	must(err)
	if answer.JSON200 == nil {
		log.Fatal(fmt.Sprintf("refused: %s %s", answer.Status(), answer.Body))
	}
	return *answer.JSON200
}
