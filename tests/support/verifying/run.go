// Reads [{secret, id, timestamp, signatures, body, now}, ...] from standard input and prints a verdict for each.
package main

import (
	"encoding/json"
	"os"
	"time"
)

func main() {
	var messages []struct {
		Secret, ID, Timestamp, Signatures, Body string
		Now                                     int64
	}
	if err := json.NewDecoder(os.Stdin).Decode(&messages); err != nil {
		panic(err)
	}
	verdicts := []bool{}
	for _, one := range messages {
		now := time.Unix(one.Now, 0)
		verdicts = append(verdicts, Verify(one.Secret, one.ID, one.Timestamp, one.Signatures, []byte(one.Body), now))
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdicts); err != nil {
		panic(err)
	}
}
