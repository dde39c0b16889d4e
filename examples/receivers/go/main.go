// A receiver with Go's standard library. Settings are environment variables: WEBHOOK_SECRET, WEBHOOK_URL, PORT, INBOX.
//
//	cd examples/receivers/go && WEBHOOK_SECRET="the secret given at dispatch" go run .
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"checklists.dev/examples/receivers/go/delivery"
)

const maxBody = 2 << 20

type receiver struct {
	url, secret string
	inbox       *delivery.Inbox
	nonces      delivery.Nonces
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody)) // the bytes as they came
	if err != nil {
		answer(w, http.StatusRequestEntityTooLarge, "refused: too large, or broken off")
		return
	}
	now := time.Now()
	keyID, nonce, err := delivery.Verify(request.Method, r.url, request.Header, body, r.secret, now)
	if err != nil {
		answer(w, http.StatusUnauthorized, "refused: "+err.Error())
		return
	}
	if !r.nonces.IsNew(nonce, now) {
		answer(w, http.StatusUnauthorized, "refused: nonce: this very transmission has come before")
		return
	}
	event, err := delivery.ReadEvent(body, keyID)
	if err != nil {
		answer(w, http.StatusBadRequest, "refused: "+err.Error())
		return
	}
	isNew, err := r.inbox.Add(event.EventID, body)
	if err != nil {
		log.Print(err)
		answer(w, http.StatusInternalServerError, "not stored: it will come again")
		return
	}
	word := "duplicate"
	if isNew {
		word = "verified"
	}
	answer(w, http.StatusNoContent, fmt.Sprintf("%s: %s %s attempt %d of %s", word, event.Event, event.EventID, event.Attempt, event.RunID))
}

func answer(w http.ResponseWriter, status int, line string) {
	fmt.Println(status, line)
	w.WriteHeader(status)
}

// work is what your system does with an event, after the answer.
func work(body []byte) error {
	var event delivery.Event
	if err := json.Unmarshal(body, &event); err != nil {
		return err
	}
	seconds, _ := strconv.Atoi(os.Getenv("WORK_SECONDS"))
	time.Sleep(time.Duration(seconds) * time.Second)
	fmt.Println("worked on:", event.EventID)
	return nil
}

func main() {
	secret := os.Getenv("WEBHOOK_SECRET")
	if secret == "" {
		log.Fatal("set WEBHOOK_SECRET to the secret given in webhook.secret at dispatch")
	}
	inbox, err := delivery.OpenInbox(cmp.Or(os.Getenv("INBOX"), "inbox"), work)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "9000"))
	if err != nil {
		log.Fatal(err)
	}
	url := cmp.Or(os.Getenv("WEBHOOK_URL"), fmt.Sprintf("http://%s/hook", listener.Addr()))
	mux := http.NewServeMux()
	mux.Handle("POST /hook", &receiver{url: url, secret: secret, inbox: inbox})
	fmt.Println("listening:", url)
	server := &http.Server{Handler: mux, ReadTimeout: 30 * time.Second}
	log.Fatal(server.Serve(listener))
}
