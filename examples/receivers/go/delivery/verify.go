// Package delivery verifies deliveries of Checklist Dispatch and remembers them, with Go's standard library alone.
package delivery

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	maxAge = 300 // seconds
	skew   = 5   // seconds by which two clocks may differ
)

var (
	names = []string{`"@method"`, `"@target-uri"`, `"@authority"`, `"content-type"`, `"content-digest"`}
	input = regexp.MustCompile(`^sig1=(\(` + strings.Join(names, " ") + `\);created=(\d{1,15});keyid="[^"]*";alg="hmac-sha256"` +
		`(?:;expires=(\d{1,15}))?;nonce="([\w-]+)";tag="checklist-dispatch/v1")$`)
)

// Verify returns the nonce of a delivery that is genuine and fresh, or an error that names the check that failed.
// The url is the one that was configured, the body the bytes as they came.
func Verify(method, url string, header http.Header, body []byte, secret string, now time.Time) (string, error) {
	field := func(name string) string { return strings.Join(header.Values(name), ", ") } // a field that occurs twice fits nothing
	sum := sha256.Sum256(body)
	digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	if !hmac.Equal([]byte(field("Content-Digest")), []byte(digest)) {
		return "", errors.New("content-digest: the body is not the one that was sent")
	}
	signed := input.FindStringSubmatch(field("Signature-Input"))
	if signed == nil {
		return "", errors.New("signature-input: not one sig1 with the five components, in order, and our tag")
	}
	created, _ := strconv.ParseInt(signed[2], 10, 64) // at most 15 digits: no error is possible
	until := created + maxAge
	if signed[3] != "" {
		expires, _ := strconv.ParseInt(signed[3], 10, 64)
		until = min(until, expires)
	}
	if at := now.Unix(); at < created-skew || at > until+skew {
		return "", errors.New("created, expires: too old, or from the future")
	}
	authority, _, _ := strings.Cut(url[strings.Index(url, "://")+3:], "/")
	values := []string{method, url, authority, field("Content-Type"), digest}
	var base strings.Builder
	for position, name := range names {
		base.WriteString(name + ": " + values[position] + "\n")
	}
	base.WriteString(`"@signature-params": ` + signed[1])
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(base.String()))
	want := "sig1=:" + base64.StdEncoding.EncodeToString(mac.Sum(nil)) + ":"
	if !hmac.Equal([]byte(field("Signature")), []byte(want)) {
		return "", errors.New("signature: made with another secret, or for another request")
	}
	return signed[4], nil
}
