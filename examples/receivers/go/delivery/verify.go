// Package delivery verifies deliveries of Checklist Dispatch and remembers them, with Go's standard library alone.
package delivery

import (
	"cmp"
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
	input = regexp.MustCompile(`^sig1=(\(` + strings.Join(names, " ") + `\);created=(\d{1,15})` +
		`(?:(?:;expires=(\d{1,15}))?;nonce="([\w-]+)";alg="hmac-sha256";keyid="([^"]*)"` +
		`|;keyid="([^"]*)";alg="hmac-sha256"(?:;expires=(\d{1,15}))?;nonce="([\w-]+)")` + // the order of earlier versions
		`;tag="checklist-dispatch/v1")$`)
)

// Verify returns the keyid and the nonce of a genuine and fresh delivery, or an error that names the check that failed.
// The url is the one that was configured, the body the bytes as they came.
func Verify(method, url string, header http.Header, body []byte, secret string, now time.Time) (keyID, nonce string, err error) {
	field := func(name string) string { return strings.Join(header.Values(name), ", ") } // a field that occurs twice fits nothing
	sum := sha256.Sum256(body)
	digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	if !hmac.Equal([]byte(field("Content-Digest")), []byte(digest)) {
		return "", "", errors.New("content-digest: the body is not the one that was sent")
	}
	signed := input.FindStringSubmatch(field("Signature-Input"))
	if signed == nil {
		return "", "", errors.New("signature-input: not one sig1 with the five components, in order, and our tag")
	}
	created, _ := strconv.ParseInt(signed[2], 10, 64) // at most 15 digits: no error is possible
	until := created + maxAge
	if text := cmp.Or(signed[3], signed[7]); text != "" {
		expires, _ := strconv.ParseInt(text, 10, 64)
		until = min(until, expires)
	}
	if at := now.Unix(); at < created-skew || at > until+skew {
		return "", "", errors.New("created, expires: too old, or from the future")
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
		return "", "", errors.New("signature: made with another secret, or for another request")
	}
	return cmp.Or(signed[5], signed[6]), cmp.Or(signed[4], signed[8]), nil
}
