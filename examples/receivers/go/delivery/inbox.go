package delivery

import (
	"encoding/json"
	"errors"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Nonces remembers those of the last 310 s, which is how long Verify takes a signature: 300 s, and 5 s of skew either
// way. Each transmission has a nonce of its own, a repeated attempt too. One that comes twice is a copy made on the way.
type Nonces struct {
	mutex sync.Mutex
	seen  map[string]time.Time
	order []string
}

// IsNew tells whether the nonce was not seen before, and remembers it.
func (n *Nonces) IsNew(nonce string, now time.Time) bool {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for len(n.order) > 0 && now.Sub(n.seen[n.order[0]]) > (maxAge+2*skew)*time.Second {
		delete(n.seen, n.order[0])
		n.order = n.order[1:]
	}
	if _, known := n.seen[nonce]; known {
		return false
	}
	if n.seen == nil {
		n.seen = map[string]time.Time{}
	}
	n.seen[nonce] = now
	n.order = append(n.order, nonce)
	return true
}

// Event is the part of an event that every receiver needs.
//
// The first attempts of one run may overlap, and a retry may arrive after a later event: order events by seq.
type Event struct {
	EventID string `json:"event_id"`
	Attempt int    `json:"delivery_attempt"`
	Event   string `json:"event"`
	RunID   string `json:"run_id"`
}

// ReadEvent returns the event in a verified body, or an error when it is none, or of another run than the signature's
// keyid.
func ReadEvent(body []byte, keyID string) (Event, error) {
	var event Event
	if json.Unmarshal(body, &event) != nil || event.Event == "" || event.Attempt < 1 || !fileName.MatchString(event.EventID) {
		return Event{}, errors.New("event: the body is none")
	}
	if event.RunID != keyID {
		return Event{}, errors.New("run_id: not the run of the signature's keyid")
	}
	return event, nil
}

// Inbox holds one file for each event, named by its event_id: it is there whole or not at all, and no event is there
// twice. With several machines, use a table with a unique event_id in the same way.
type Inbox struct {
	events, done string
	work         func(body []byte) error
	oneAtATime   sync.Mutex
}

var fileName = regexp.MustCompile(`^evt-[0-9A-Za-z-]{1,64}$`)

// OpenInbox makes the folder when it is not there. The work is done after the answer, once for each event and one at a
// time, and now for those whose work had not come to its end when the last process ended.
func OpenInbox(folder string, work func(body []byte) error) (*Inbox, error) {
	inbox := &Inbox{events: filepath.Join(folder, "events"), done: filepath.Join(folder, "done"), work: work}
	for _, each := range []string{inbox.events, inbox.done} {
		if err := os.MkdirAll(each, 0o700); err != nil {
			return nil, err
		}
	}
	found, err := filepath.Glob(filepath.Join(inbox.events, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range found {
		id := strings.TrimSuffix(filepath.Base(path), ".json")
		if _, err := os.Stat(filepath.Join(inbox.done, id)); errors.Is(err, fs.ErrNotExist) {
			go inbox.run(id)
		}
	}
	return inbox, nil
}

// Add tells whether the event is new. When it returns, the event is stored and may be acknowledged.
func (i *Inbox) Add(eventID string, body []byte) (bool, error) {
	if !fileName.MatchString(eventID) {
		return false, errors.New("event_id: not one of ours, and it is to be the name of a file")
	}
	file, err := os.CreateTemp(i.events, ".new-*")
	if err != nil {
		return false, err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(body)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return false, err
	}
	err = os.Link(file.Name(), filepath.Join(i.events, eventID+".json")) // fails when it is there; replaces nothing
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err == nil {
		go i.run(eventID)
	}
	return err == nil, err
}

func (i *Inbox) run(eventID string) {
	i.oneAtATime.Lock()
	defer i.oneAtATime.Unlock()
	body, err := os.ReadFile(filepath.Join(i.events, eventID+".json"))
	if err == nil {
		err = i.work(body)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(i.done, eventID), nil, 0o600)
	}
	if err != nil {
		log.Print(err) // it stays undone, and is tried again at the next start
	}
}
