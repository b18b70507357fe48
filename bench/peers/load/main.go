// peerload drives one chat server or broker on 127.0.0.1 with a fixed set of
// workloads, so that different servers can be compared on the same machine.
//
//	peerload -peer nats -url nats://127.0.0.1:14222 \
//	         -pids server=123,redis=456 -test light,sat,fan,idle,catchup
//
// Workloads
//
//	light    One pair, paced sends: latency from send to ack and to receipt.
//	sat      -pairs pairs, each with -window sends in flight, for -dur.
//	fan      One sender with -fanwindow in flight, -receivers receivers.
//	idle     -conns idle connections: RSS and CPU per connection.
//	catchup  Dial, authenticate and fetch -missed messages, sequentially.
//
// CPU figures are user+sys of each process tree named in -pids, read from
// /proc before and after the measured interval. One JSON line per workload.
package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// OnFrame receives every frame that carries at least one delivered message.
type OnFrame func(frame []byte)

// Client is one authenticated connection.
type Client interface {
	// Join makes the connection receive live messages of room.
	Join(room string) error
	// Send returns once the server has acknowledged the message.
	Send(room string, body []byte) error
	// CatchUp fetches the last n messages of room on this fresh connection.
	CatchUp(room string, n int) (got, wire int, err error)
	Close()
}

// Peer adapts one server.
type Peer interface {
	// Prepare makes accounts 0..users-1, and a group room of `group` members.
	Prepare(users, group int) error
	// Dial connects and authenticates as the user.
	Dial(user int, on OnFrame) (Client, error)
	// PairRooms names the 1:1 room of users 2i (sender) and 2i+1 (receiver)
	// as each of them addresses it.
	PairRooms(i int) (sender, receiver string)
	Group() string
}

var (
	peerName  = flag.String("peer", "", "tidings | xmpp | matrix | nats")
	target    = flag.String("url", "", "server URL")
	pidsFlag  = flag.String("pids", "", "name=pid,... process trees to account")
	tests     = flag.String("test", "light,sat,fan,idle,catchup", "workloads")
	pairs     = flag.Int("pairs", 50, "sat: sender/receiver pairs")
	window    = flag.Int("window", 1, "sat: sends in flight per sender")
	fanWindow = flag.Int("fanwindow", 2, "fan: sends in flight")
	receivers = flag.Int("receivers", 1000, "fan: receivers in the room")
	conns     = flag.Int("conns", 5000, "idle: connections")
	users     = flag.Int("users", 1001, "accounts to spread connections over")
	missed    = flag.Int("missed", 100, "catchup: messages")
	rounds    = flag.Int("rounds", 200, "catchup: repetitions")
	dur       = flag.Duration("dur", 10*time.Second, "measured time")
	rate      = flag.Int("rate", 50, "light: messages per second")
	tag       = flag.String("tag", "", "label copied to the output")
	dialers   = flag.Int("dialers", 16, "concurrent dials")
	state     = flag.String("state", "peerload-state.json", "accounts and rooms that were made before (matrix, tidings)")
)

var t0 = time.Now()

const mark = "TS!"

// body makes a text of n bytes which carries its send time.
func body(n int) []byte {
	b := make([]byte, n)
	copy(b, mark)
	var ts [8]byte
	now := uint64(time.Since(t0))
	for i := range ts {
		ts[i] = byte(now >> (56 - 8*i))
	}
	hex.Encode(b[3:19], ts[:])
	for i := 19; i < n; i++ {
		b[i] = 'a' + byte(i%26)
	}
	return b
}

// scan calls f with the age of every message found in the frame.
func scan(frame []byte, f func(time.Duration)) (n int) {
	now := time.Since(t0)
	for {
		i := bytes.Index(frame, []byte(mark))
		if i < 0 || len(frame) < i+19 {
			return n
		}
		var ts [8]byte
		if _, err := hex.Decode(ts[:], frame[i+3:i+19]); err == nil {
			var v uint64
			for _, x := range ts {
				v = v<<8 | uint64(x)
			}
			if f != nil {
				f(now - time.Duration(v))
			}
			n++
		}
		frame = frame[i+19:]
	}
}

type lat struct {
	mu sync.Mutex
	d  []time.Duration
}

func (l *lat) add(d time.Duration) { l.mu.Lock(); l.d = append(l.d, d); l.mu.Unlock() }
func (l *lat) q(p float64) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.d) == 0 {
		return 0
	}
	sort.Slice(l.d, func(i, j int) bool { return l.d[i] < l.d[j] })
	i := int(p * float64(len(l.d)))
	if i >= len(l.d) {
		i = len(l.d) - 1
	}
	return float64(l.d[i].Microseconds()) / 1000
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "peerload:", err)
		os.Exit(1)
	}
}

func emit(test string, kv map[string]any) {
	kv["test"], kv["peer"] = test, *peerName
	if *tag != "" {
		kv["tag"] = *tag
	}
	b, _ := json.Marshal(kv)
	fmt.Println(string(b))
}

func round(x float64) float64 { return float64(int64(x*100+0.5)) / 100 }

// cpuPer adds "<name>_cpu_us_per" figures.
func cpuPer(kv map[string]any, before, after usage, n float64) {
	for k, v := range after {
		kv[k+"_cpu_us_per"] = round((v.cpu - before[k].cpu) * 1e6 / n)
	}
}

func main() {
	flag.Parse()
	var p Peer
	switch *peerName {
	case "xmpp":
		p = &xmpp{url: *target}
	case "matrix":
		p = &matrix{url: *target}
	case "nats":
		p = &natsPeer{url: *target}
	case "tidings":
		p = tidingsPeer(*target)
	default:
		must(fmt.Errorf("unknown peer %q", *peerName))
	}
	must(p.Prepare(*users, *receivers))
	for _, t := range strings.Split(*tests, ",") {
		switch t {
		case "light":
			light(p)
		case "sat":
			saturate(p)
		case "fan":
			fan(p)
		case "idle":
			idle(p)
		case "catchup":
			catchup(p)
		case "prepare":
		default:
			must(fmt.Errorf("unknown test %q", t))
		}
		time.Sleep(500 * time.Millisecond)
	}
}

func light(p Peer) {
	var ack, del lat
	var wire, got atomic.Int64
	sr, rr := p.PairRooms(0)
	rc, err := p.Dial(1, func(f []byte) {
		if n := scan(f, del.add); n > 0 {
			wire.Add(int64(len(f)))
			got.Add(int64(n))
		}
	})
	must(err)
	must(rc.Join(rr))
	sc, err := p.Dial(0, nil)
	must(err)
	must(sc.Join(sr))
	time.Sleep(300 * time.Millisecond)
	b := sample()
	tick := time.NewTicker(time.Second / time.Duration(*rate))
	n := int(dur.Seconds() * float64(*rate))
	var wg sync.WaitGroup
	for i := 0; i < n; i++ {
		<-tick.C
		wg.Add(1)
		go func() {
			defer wg.Done()
			t := time.Now()
			must(sc.Send(sr, body(100)))
			ack.add(time.Since(t))
		}()
	}
	wg.Wait()
	time.Sleep(300 * time.Millisecond)
	a := sample()
	kv := map[string]any{"sent": n, "got": got.Load(), "ack_p50_ms": ack.q(.5), "ack_p99_ms": ack.q(.99),
		"recv_p50_ms": del.q(.5), "recv_p99_ms": del.q(.99)}
	if got.Load() > 0 {
		kv["recv_bytes_per_msg"] = wire.Load() / got.Load()
	}
	cpuPer(kv, b, a, float64(n))
	emit("light", kv)
	sc.Close()
	rc.Close()
}

func saturate(p Peer) {
	var got, acked, fails atomic.Int64
	var ack, del lat
	var cs []Client
	type s struct {
		c    Client
		room string
	}
	var ss []s
	for i := 0; i < *pairs; i++ {
		sr, rr := p.PairRooms(i)
		rc, err := p.Dial(2*i+1, func(f []byte) { got.Add(int64(scan(f, del.add))) })
		must(err)
		must(rc.Join(rr))
		sc, err := p.Dial(2*i, nil)
		must(err)
		must(sc.Join(sr))
		cs = append(cs, rc, sc)
		ss = append(ss, s{sc, sr})
	}
	time.Sleep(500 * time.Millisecond)
	got.Store(0) // do not count earlier messages, which arrive with the connection
	b := sample()
	start := time.Now()
	end := start.Add(*dur)
	var wg sync.WaitGroup
	for _, x := range ss {
		for w := 0; w < *window; w++ {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for time.Now().Before(end) {
					t := time.Now()
					if err := x.c.Send(x.room, body(100)); err != nil {
						if fails.Add(1) == 1 {
							fmt.Fprintln(os.Stderr, "send:", err)
						}
						time.Sleep(10 * time.Millisecond)
						continue
					}
					ack.add(time.Since(t))
					acked.Add(1)
				}
			}()
		}
	}
	wg.Wait()
	el := time.Since(start).Seconds()
	drain(&got, acked.Load())
	a := sample()
	kv := map[string]any{"pairs": *pairs, "window": *window, "acked": acked.Load(), "got": got.Load(), "fails": fails.Load(),
		"acked_per_s": round(float64(acked.Load()) / el), "ack_p50_ms": ack.q(.5), "ack_p99_ms": ack.q(.99),
		"recv_p50_ms": del.q(.5), "recv_p99_ms": del.q(.99)}
	cpuPer(kv, b, a, float64(max(1, got.Load())))
	emit("sat", kv)
	for _, c := range cs {
		c.Close()
	}
}

// drain waits until want messages have arrived, or nothing has for a second.
func drain(got *atomic.Int64, want int64) {
	last, at := got.Load(), time.Now()
	for got.Load() < want && time.Since(at) < time.Second {
		time.Sleep(5 * time.Millisecond)
		if v := got.Load(); v != last {
			last, at = v, time.Now()
		}
	}
}

// dialAll opens n connections with limited concurrency.
func dialAll(p Peer, n int, f func(i int, c Client) error, on OnFrame) []Client {
	cs := make([]Client, n)
	sem := make(chan struct{}, *dialers)
	var wg sync.WaitGroup
	for i := 0; i < n; i++ {
		sem <- struct{}{}
		wg.Add(1)
		go func() {
			defer func() { <-sem; wg.Done() }()
			c, err := p.Dial(i%*users, on)
			must(err)
			if f != nil {
				must(f(i, c))
			}
			cs[i] = c
		}()
	}
	wg.Wait()
	return cs
}

func fan(p Peer) {
	var got, wire, acked atomic.Int64
	var del lat
	room := p.Group()
	cs := dialAll(p, *receivers, func(i int, c Client) error { return c.Join(room) }, func(f []byte) {
		// latency of one delivery in 64 is enough, and keeps the client cheap
		if n := got.Add(1); n%64 == 0 {
			scan(f, del.add)
			wire.Add(int64(len(f)))
		} else if k := scan(f, nil); k != 1 {
			got.Add(int64(k - 1))
		}
	})
	sc, err := p.Dial(*receivers%*users, nil)
	must(err)
	must(sc.Join(room))
	time.Sleep(2 * time.Second)
	got.Store(0)
	b := sample()
	start := time.Now()
	end := start.Add(*dur)
	var wg sync.WaitGroup
	for w := 0; w < *fanWindow; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for time.Now().Before(end) {
				// closed loop on delivery: do not run ahead of the receivers
				for got.Load() < (acked.Load()-8)*int64(*receivers) && time.Now().Before(end) {
					time.Sleep(time.Millisecond)
				}
				must(sc.Send(room, body(200)))
				acked.Add(1)
			}
		}()
	}
	wg.Wait()
	drain(&got, acked.Load()*int64(*receivers))
	el := time.Since(start).Seconds()
	a := sample()
	kv := map[string]any{"receivers": *receivers, "sent": acked.Load(), "got": got.Load(),
		"deliveries_per_s": round(float64(got.Load()) / el), "recv_p50_ms": del.q(.5), "recv_p99_ms": del.q(.99),
		"missing": acked.Load()*int64(*receivers) - got.Load()}
	cpuPer(kv, b, a, float64(max(1, got.Load())))
	emit("fan", kv)
	sc.Close()
	for _, c := range cs {
		c.Close()
	}
}

func idle(p Peer) {
	b := sample()
	start := time.Now()
	cs := dialAll(p, *conns, nil, nil)
	el := time.Since(start).Seconds()
	time.Sleep(3 * time.Second)
	a := sample()
	kv := map[string]any{"conns": *conns, "connects_per_s": round(float64(*conns) / el)}
	for k, v := range a {
		kv[k+"_rss_kb_per_conn"] = round((v.rss - b[k].rss) / 1024 / float64(*conns))
		kv[k+"_rss_mb"] = round(v.rss / 1e6)
	}
	cpuPer(kv, b, a, float64(*conns))
	time.Sleep(*dur)
	c := sample()
	for k, v := range c {
		kv[k+"_idle_cpu_ms_per_s"] = round((v.cpu - a[k].cpu) * 1000 / dur.Seconds())
	}
	emit("idle", kv)
	for _, c := range cs {
		c.Close()
	}
}

func catchup(p Peer) {
	sr, rr := p.PairRooms(*pairs) // one that no other workload uses
	sc, err := p.Dial(2**pairs, nil)
	must(err)
	must(sc.Join(sr))
	for i := 0; i < *missed; i++ {
		must(sc.Send(sr, body(100)))
	}
	sc.Close()
	time.Sleep(500 * time.Millisecond)
	var all, dial lat
	var got, wire int
	one := func() {
		t := time.Now()
		c, err := p.Dial(2**pairs+1, nil)
		must(err)
		d := time.Since(t)
		g, w, err := c.CatchUp(rr, *missed)
		must(err)
		all.add(time.Since(t))
		dial.add(d)
		got, wire = g, w
		c.Close()
	}
	one()
	all, dial = lat{}, lat{}
	b := sample()
	for i := 0; i < *rounds; i++ {
		one()
	}
	time.Sleep(200 * time.Millisecond)
	a := sample()
	kv := map[string]any{"missed": *missed, "got": got, "wire_bytes": wire, "dial_p50_ms": dial.q(.5),
		"total_p50_ms": all.q(.5), "total_p99_ms": all.q(.99), "rounds": *rounds}
	cpuPer(kv, b, a, float64(*rounds))
	emit("catchup", kv)
}
