package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

const tolerance = 300 // seconds

// Verify reports whether this raw body was signed with secret ("whsec_…") within five minutes of now. id, timestamp and
// signatures are the headers webhook-id, webhook-timestamp and webhook-signature.
func Verify(secret, id, timestamp, signatures string, body []byte, now time.Time) bool {
	sent, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || sent < now.Unix()-tolerance || sent > now.Unix()+tolerance {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := mac.Sum(nil)
	for _, one := range strings.Fields(signatures) {
		version, value, _ := strings.Cut(one, ",")
		signature, err := base64.StdEncoding.DecodeString(value)
		if version == "v1" && err == nil && hmac.Equal(signature, expected) {
			return true
		}
	}
	return false
}
