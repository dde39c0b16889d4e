// Reads cases as lines of JSON, {id, url, secret, raw (base64), now (seconds, or null for the clock)}, and answers each
// with {id, verdicts: {verifier: {library: why it refuses or null, rules: [broken rules]}}}.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"checklists.dev/examples/receivers/go/delivery"
)

type given struct {
	ID     string `json:"id"`
	URL    string `json:"url"`
	Secret string `json:"secret"`
	Raw    []byte `json:"raw"`
	Now    *int64 `json:"now"`
}

type request struct {
	*http.Request
	body     []byte
	received string // the URL as it can be put together from the request itself
}

type verdict struct {
	Library *string  `json:"library"`
	Rules   []string `json:"rules"`
}

type answer struct {
	ID       string             `json:"id"`
	Verdicts map[string]verdict `json:"verdicts"`
}

var verifiers = map[string]func(request, given) error{
	"httpsign": verifyWithHttpsign,
	"go-example": func(r request, g given) error {
		_, _, err := delivery.Verify(r.Method, r.received, r.Header, r.body, g.Secret, clock(g))
		return err
	},
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var g given
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := out.Encode(answer{g.ID, verdictsOn(g)}); err != nil {
			os.Exit(1)
		}
	}
}

func verdictsOn(g given) map[string]verdict {
	verdicts := map[string]verdict{}
	r, err := read(g)
	for name, verify := range verifiers {
		if err != nil {
			verdicts[name] = verdict{why(fmt.Errorf("no HTTP: %w", err)), []string{}}
			continue
		}
		verdicts[name] = verdict{why(verify(r, g)), brokenRules(r, g)}
	}
	return verdicts
}

func read(g given) (request, error) {
	parsed, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(g.Raw)))
	if err != nil {
		return request{}, err
	}
	body, err := io.ReadAll(parsed.Body)
	if err != nil {
		return request{}, err
	}
	scheme, _, _ := strings.Cut(g.URL, "://")
	return request{parsed, body, scheme + "://" + parsed.Host + parsed.RequestURI}, nil
}

func clock(g given) time.Time {
	if g.Now == nil {
		return time.Now()
	}
	return time.Unix(*g.Now, 0)
}

func why(err error) *string {
	if err == nil {
		return nil
	}
	text := err.Error()
	return &text
}
