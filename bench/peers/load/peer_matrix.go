package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// matrix speaks the client-server API (v3): PUT …/send, long-poll /sync.
// "Connect" is the first /sync of a device with an existing access token.
type matrix struct {
	url   string
	State struct {
		Tokens, IDs, Pairs []string
		Group              string
	}
	hc *http.Client
}

const (
	matrixSecret = "loopback-bench-registration"
	matrixFilter = `{"presence":{"types":[]},"account_data":{"types":[]},"room":{"timeline":{"limit":100},"state":{"lazy_load_members":true},"ephemeral":{"types":[]},"account_data":{"types":[]}}}`
)

func (p *matrix) Group() string { return p.State.Group }
func (p *matrix) PairRooms(i int) (string, string) {
	return p.State.Pairs[i], p.State.Pairs[i]
}

func (p *matrix) do(ctx context.Context, method, path, token string, in, out any) (int, error) {
	var rd io.Reader
	if in != nil {
		b, _ := json.Marshal(in)
		rd = bytes.NewReader(b)
	}
	req, _ := http.NewRequestWithContext(ctx, method, p.url+path, rd)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	r, err := p.hc.Do(req)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err
	}
	if r.StatusCode != 200 {
		return len(b), fmt.Errorf("matrix %s %s: %s %.200s", method, path, r.Status, b)
	}
	if raw, ok := out.(*[]byte); ok {
		*raw = b
		return len(b), nil
	}
	if out != nil {
		err = json.Unmarshal(b, out)
	}
	return len(b), err
}

func (p *matrix) Prepare(users, group int) error {
	p.hc = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 20000, DisableCompression: true}, Timeout: 120 * time.Second}
	if b, err := os.ReadFile(*state); err == nil {
		_ = json.Unmarshal(b, &p.State)
	}
	ctx := context.Background()
	par := func(from, n int, f func(i int)) {
		sem := make(chan struct{}, 4)
		var wg sync.WaitGroup
		for i := from; i < n; i++ {
			sem <- struct{}{}
			wg.Add(1)
			go func() { defer func() { <-sem; wg.Done() }(); f(i) }()
		}
		wg.Wait()
	}
	save := func() error {
		b, _ := json.Marshal(p.State)
		return os.WriteFile(*state, b, 0o600)
	}
	if have := len(p.State.Tokens); have < users {
		p.State.Tokens = append(p.State.Tokens, make([]string, users-have)...)
		p.State.IDs = append(p.State.IDs, make([]string, users-have)...)
		par(have, users, func(i int) {
			var n struct{ Nonce string }
			_, err := p.do(ctx, "GET", "/_synapse/admin/v1/register", "", nil, &n)
			must(err)
			user := fmt.Sprintf("u%dx%d", i, time.Now().UnixNano()%1e9)
			m := hmac.New(sha1.New, []byte(matrixSecret))
			m.Write([]byte(n.Nonce + "\x00" + user + "\x00pw\x00notadmin"))
			var r struct {
				UserID string `json:"user_id"`
				Token  string `json:"access_token"`
			}
			_, err = p.do(ctx, "POST", "/_synapse/admin/v1/register", "", map[string]any{"nonce": n.Nonce, "username": user,
				"password": "pw", "admin": false, "mac": hex.EncodeToString(m.Sum(nil))}, &r)
			must(err)
			p.State.IDs[i], p.State.Tokens[i] = r.UserID, r.Token
		})
		must(save())
	}
	room := func(owner int, preset string) string {
		var r struct {
			RoomID string `json:"room_id"`
		}
		_, err := p.do(ctx, "POST", "/_matrix/client/v3/createRoom", p.State.Tokens[owner], map[string]any{"preset": preset}, &r)
		must(err)
		return r.RoomID
	}
	join := func(u int, id string) {
		_, err := p.do(ctx, "POST", "/_matrix/client/v3/join/"+url.PathEscape(id), p.State.Tokens[u], map[string]any{}, nil)
		must(err)
	}
	np := min(*pairs+1, users/2)
	if have := len(p.State.Pairs); have < np {
		p.State.Pairs = append(p.State.Pairs, make([]string, np-have)...)
		par(have, np, func(i int) {
			id := room(2*i, "public_chat")
			join(2*i+1, id)
			p.State.Pairs[i] = id
		})
		must(save())
	}
	if p.State.Group == "" && strings.Contains(*tests, "fan") {
		p.State.Group = room(group%users, "public_chat")
		par(0, min(group, users), func(i int) {
			if i != group%users {
				join(i, p.State.Group)
			}
		})
	}
	return save()
}

type matrixClient struct {
	p      *matrix
	token  string
	ctx    context.Context
	cancel func()
	since  string
}

var matrixTxn atomic.Int64

func (c *matrixClient) sync(since string, timeout int) (raw []byte, next string, err error) {
	q := url.Values{"filter": {matrixFilter}, "timeout": {strconv.Itoa(timeout)}, "set_presence": {"offline"}}
	if since != "" {
		q.Set("since", since)
	}
	if _, err = c.p.do(c.ctx, "GET", "/_matrix/client/v3/sync?"+q.Encode(), c.token, nil, &raw); err != nil {
		return
	}
	var v struct {
		Next string `json:"next_batch"`
	}
	err = json.Unmarshal(raw, &v)
	return raw, v.Next, err
}

func (p *matrix) Dial(user int, on OnFrame) (Client, error) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &matrixClient{p: p, token: p.State.Tokens[user], ctx: ctx, cancel: cancel}
	if on == nil && !strings.Contains(*tests, "idle") {
		return c, nil // a sender need not sync
	}
	_, next, err := c.sync("", 0)
	if err != nil {
		return nil, err
	}
	c.since = next
	go func() {
		for ctx.Err() == nil {
			raw, n, err := c.sync(c.since, 60000)
			if err != nil {
				if ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, err)
					time.Sleep(time.Second)
				}
				continue
			}
			c.since = n
			if on != nil && bytes.Contains(raw, []byte(mark)) {
				on(raw)
			}
		}
	}()
	return c, nil
}

func (c *matrixClient) Join(string) error { return nil } // joined in Prepare

func (c *matrixClient) Send(room string, body []byte) error {
	_, err := c.p.do(c.ctx, "PUT", fmt.Sprintf("/_matrix/client/v3/rooms/%s/send/m.room.message/t%d-%d", url.PathEscape(room), time.Now().UnixNano(), matrixTxn.Add(1)),
		c.token, map[string]any{"msgtype": "m.text", "body": string(body)}, nil)
	return err
}

// CatchUp is an initial /sync with a timeline of n, not an incremental one, as
// a fresh device would do.
func (c *matrixClient) CatchUp(room string, n int) (int, int, error) {
	raw, _, err := c.sync("", 0)
	return scan(raw, nil), len(raw), err
}

func (c *matrixClient) Close() { c.cancel() }
