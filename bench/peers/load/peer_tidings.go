package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// tidings speaks the project's own protocol: credentials in the first frame,
// `send` with the sender's position, entries as pushes, and an ack of delivered
// entries once a second, as the SDKs do. Users and chats exist before the run;
// the state file lists them. Users are spread over the gateways in -url.
type tidings struct {
	urls  []string
	State struct {
		Tokens, Pairs []string
		Group         string
	}
}

func (p *tidings) Prepare(int, int) error {
	b, err := os.ReadFile(*state)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, &p.State)
}

func (p *tidings) PairRooms(i int) (string, string) { return p.State.Pairs[i], p.State.Pairs[i] }
func (p *tidings) Group() string                    { return p.State.Group }

type tidingsClient struct {
	*wsConn
	mu      sync.Mutex
	heads   map[string]int64
	acking  bool
	got     atomic.Int64
	wire    atomic.Int64
	resumed chan []byte
}

func (p *tidings) Dial(user int, on OnFrame) (Client, error) {
	w, err := dialWS(p.urls[user%len(p.urls)], "", nil)
	if err != nil {
		return nil, err
	}
	c := &tidingsClient{wsConn: w, heads: map[string]int64{}, resumed: make(chan []byte, 1)}
	go w.readLoop(func(f []byte) { c.heard(f, on) })
	positions := "{}"
	if user == 2**pairs+1 && user/2 < len(p.State.Pairs) { // in catchup, this user has the first entry of its chat and missed the others
		positions = `{"` + p.State.Pairs[user/2] + `":1}`
	}
	answer, err := w.call(func(id int) []byte {
		return []byte(fmt.Sprintf(`{"id":%d,"connect":{"credential":"%s","protocol":1,"epoch":0,"positions":%s}}`, id, p.State.Tokens[user], positions))
	})
	if err == nil && !bytes.Contains(answer, []byte(`"ok"`)) {
		err = fmt.Errorf("connect: %s", answer)
	}
	if err == nil {
		_, err = w.wait(c.resumed)
	}
	return c, err
}

func (c *tidingsClient) heard(f []byte, on OnFrame) {
	switch {
	case bytes.HasPrefix(f, []byte(`{"id":`)):
		if id, ok := number(f, `"id":`); ok {
			c.reply(int(id), f)
		}
	case bytes.HasPrefix(f, []byte(`{"entry"`)), bytes.HasPrefix(f, []byte(`{"entries"`)):
		c.got.Add(int64(bytes.Count(f, []byte(mark))))
		c.wire.Add(int64(len(f)))
		c.note(f)
		if on != nil {
			on(f)
		}
	case bytes.HasPrefix(f, []byte(`{"resumed"`)):
		select {
		case c.resumed <- nil:
		default:
		}
	case bytes.HasPrefix(f, []byte(`{"ping"`)):
		_ = c.write([]byte(`{"pong":{}}`))
	}
}

// number reads the digits after the last occurrence of name.
func number(f []byte, name string) (int64, bool) {
	i := bytes.LastIndex(f, []byte(name))
	if i < 0 {
		return 0, false
	}
	s := f[i+len(name):]
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	v, err := strconv.ParseInt(string(s[:n]), 10, 64)
	return v, err == nil
}

// note stores the position in a chat and acknowledges it within a second.
func (c *tidingsClient) note(f []byte) {
	n, ok := number(f, `"sequence":`)
	i := bytes.LastIndex(f, []byte(`"chat":"`))
	if !ok || i < 0 {
		return
	}
	chat, _, _ := bytes.Cut(f[i+8:], []byte(`"`))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heads[string(chat)] = max(n, c.heads[string(chat)])
	if !c.acking && *tests != "catchup" {
		c.acking = true
		time.AfterFunc(time.Second, c.ack)
	}
}

func (c *tidingsClient) ack() {
	c.mu.Lock()
	c.acking = false
	b, _ := json.Marshal(c.heads)
	c.mu.Unlock()
	_ = c.write([]byte(`{"ack":{"delivered":` + string(b) + `}}`))
}

func (c *tidingsClient) Join(string) error { return nil } // members since Prepare

var tidingsKey atomic.Int64
var tidingsRun = strconv.FormatInt(time.Now().UnixNano(), 36)

func (c *tidingsClient) Send(room string, body []byte) error {
	c.mu.Lock()
	after := max(1, c.heads[room])
	c.mu.Unlock()
	answer, err := c.call(func(id int) []byte {
		return []byte(fmt.Sprintf(`{"id":%d,"send":{"chat":"%s","client_message_id":"%s-%d","after":%d,"text":"%s"}}`,
			id, room, tidingsRun, tidingsKey.Add(1), after, body))
	})
	if err != nil {
		return err
	}
	n, ok := number(answer, `"sequence":`)
	if !ok {
		return fmt.Errorf("send: %s", answer)
	}
	c.mu.Lock()
	c.heads[room] = max(n, c.heads[room])
	c.mu.Unlock()
	return nil
}

// CatchUp has nothing to fetch: missed entries arrive before `resumed`.
func (c *tidingsClient) CatchUp(_ string, n int) (int, int, error) {
	if got := int(c.got.Load()); got != n {
		return got, int(c.wire.Load()), fmt.Errorf("%d of %d missed messages came", got, n)
	}
	return n, int(c.wire.Load()), nil
}

func (c *tidingsClient) Close() { c.close() }

func tidingsPeer(urls string) *tidings { return &tidings{urls: strings.Split(urls, ",")} }
