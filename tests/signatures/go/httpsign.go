package main

import (
	"bytes"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/yaronf/httpsign"
)

const hmacBlock = 64

// verifyWithHttpsign asks github.com/yaronf/httpsign for all that it checks, with two things said its own way:
//   - it takes HMAC keys of 64 bytes and more only; shorter ones are filled up with zeros, which is what HMAC itself does
//     with a key shorter than its block (RFC 2104), so the MAC is the same one;
//   - the URL is given as an opaque one, so that it is compared byte for byte: taken apart, Go refuses a semicolon in a
//     query.
//
// With a time of its own in the case, the library's clock (the system's) is off, and the rules alone judge the time.
func verifyWithHttpsign(r request, g given) error {
	key := []byte(g.Secret)
	if len(key) < hmacBlock {
		key = append(key, make([]byte, hmacBlock-len(key))...)
	}
	config := httpsign.NewVerifyConfig().
		SetAllowedAlgs([]string{"hmac-sha256"}).
		SetAllowedTags([]string{"checklist-dispatch/v1"}).
		SetNotOlderThan(305 * time.Second).
		SetNotNewerThan(5 * time.Second).
		SetVerifyCreated(g.Now == nil).
		SetRejectExpired(g.Now == nil)
	fields := httpsign.Headers("@method", "@target-uri", "@authority", "content-type", "content-digest")
	verifier, err := httpsign.NewHMACSHA256Verifier(key, config, fields)
	if err != nil {
		return err
	}
	scheme, rest, _ := strings.Cut(r.received, ":")
	body := io.NopCloser(bytes.NewReader(r.body))
	message, err := httpsign.NewMessage(httpsign.NewMessageConfig().
		WithMethod(r.Method).
		WithURL(&url.URL{Scheme: scheme, Opaque: rest}).
		WithAuthority(r.Host).
		WithScheme(scheme).
		WithHeaders(r.Header).
		WithBody(&body))
	if err != nil {
		return err
	}
	if _, err := message.Verify("sig1", *verifier); err != nil {
		return err
	}
	return httpsign.ValidateContentDigestHeader(r.Header.Values("Content-Digest"), &body, []string{httpsign.DigestSha256})
}
