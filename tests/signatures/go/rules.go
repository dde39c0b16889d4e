package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"math"
	"regexp"
	"strconv"
	"strings"
)

var (
	input = regexp.MustCompile(`^sig1=\("@method" "@target-uri" "@authority" "content-type" "content-digest"\);created=(\d+)` +
		`(?:(?:;expires=(\d+))?;nonce="[\w-]+";alg="hmac-sha256";keyid="[^"]*"` +
		`|;keyid="[^"]*";alg="hmac-sha256"(?:;expires=(\d+))?;nonce="[\w-]+");tag="checklist-dispatch/v1"$`)
	// 32 bytes in the one spelling that base64 has for them: the last character carries two bits that are always zero.
	signature = regexp.MustCompile(`^sig1=:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=:$`)
)

// brokenRules names what the request breaks of what the receiver guide asks for around any library.
func brokenRules(r request, g given) []string {
	field := func(name string) string { return strings.Join(r.Header.Values(name), ", ") }
	broken := []string{}
	if r.received != g.URL {
		broken = append(broken, "url")
	}
	if r.Method != "POST" {
		broken = append(broken, "method")
	}
	for _, name := range []string{"Content-Type", "Content-Digest", "Signature-Input", "Signature"} {
		if len(r.Header.Values(name)) != 1 {
			broken = append(broken, "once")
			break
		}
	}
	found := input.FindStringSubmatch(field("Signature-Input"))
	if found == nil || !signature.MatchString(field("Signature")) {
		broken = append(broken, "shape")
	}
	if found == nil || !isFresh(found[1], cmp.Or(found[2], found[3]), clock(g).Unix()) {
		broken = append(broken, "time")
	}
	sum := sha256.Sum256(r.body)
	if field("Content-Digest") != "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":" {
		broken = append(broken, "digest")
	}
	return broken
}

func isFresh(createdText, expiresText string, now int64) bool {
	created, err := strconv.ParseInt(createdText, 10, 64)
	if err != nil {
		return false
	}
	expires := int64(math.MaxInt64 - 5)
	if expiresText != "" {
		if expires, err = strconv.ParseInt(expiresText, 10, 64); err != nil {
			return false
		}
	}
	return created-5 <= now && now <= min(created+300, expires)+5
}
