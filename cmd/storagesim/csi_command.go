package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/internal/bounded"
	"github.com/storagesim/storagesim/machine/workdir"
)

// socketWord stands for the path of a driver's socket in a command.
const socketWord = "{socket}"

const commandHelp = "`COMMAND` that starts a CSI driver at {socket}, on the node {node}; may be repeated"

// csiCommand is a value of --csi-command.
type csiCommand struct {
	text  string
	words []string
}

// label names the command in errors.
func (c csiCommand) label() string { return fmt.Sprintf("--csi-command %q", c.text) }

// on returns the words of the command for a node.
func (c csiCommand) on(node, socket string) []string {
	words := make([]string, len(c.words))
	for i, word := range c.words {
		words[i] = strings.NewReplacer(socketWord, socket, nodeWord, node).Replace(word)
	}
	return words
}

// csiCommands reads the values of --csi-command.
func (o *runOptions) csiCommands() (all []csiCommand, err error) {
	for _, text := range o.commands {
		words, err := splitWords(text)
		if err != nil {
			return nil, fmt.Errorf("--csi-command %q: %w", text, err)
		}
		if !strings.Contains(text, socketWord) || len(words) == 0 {
			return nil, fmt.Errorf("--csi-command %q: write %s where the driver is told its socket, as in 'hostpathplugin --endpoint unix://%s'", text,
				socketWord, socketWord)
		}
		if err := oneNode("--csi-command", text, o.nodes); err != nil {
			return nil, err
		}
		all = append(all, csiCommand{text, words})
	}
	return all, nil
}

// oneNode returns an error if a driver without {node} would have to serve several nodes.
func oneNode(flag, text string, nodes []string) error {
	if strings.Contains(text, nodeWord) || len(nodes) < 2 {
		return nil
	}
	return fmt.Errorf("%s %s: one process of a driver serves one node, and there are %d (%s); have one for each and write {node} for the node's name, "+
		"or give one node with --nodes",
		flag, text, len(nodes), strings.Join(nodes, ", "))
}

// splitWords splits a command at blanks, as a shell does that knows only quotes.
func splitWords(text string) (words []string, err error) {
	var word strings.Builder
	begun, quote := false, rune(0)
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			begun, quote = true, r
		case strings.ContainsRune(" \t\r\n", r):
			if begun {
				words = append(words, word.String())
			}
			begun = false
			word.Reset()
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// children are the drivers that --csi-command has started, and the directory of their sockets.
type children struct {
	dir  *workdir.Dir
	list []*child
}

// child is the process of a driver.
type child struct {
	command csiCommand
	cmd     *exec.Cmd
	said    tail
	ended   chan struct{} // closed when err is set
	err     error
}

// startDrivers starts the drivers of --csi-command, and waits until each has made its socket. Stop the children also
// after an error.
func (o *runOptions) startDrivers(ctx context.Context) (all *children, endpoints []csiEndpoint, err error) {
	all = &children{}
	commands, err := o.csiCommands()
	if err != nil || len(commands) == 0 {
		return all, nil, err
	}
	if all.dir, err = workdir.Make(); err != nil {
		return all, nil, err
	}
	for i, command := range commands {
		e := csiEndpoint{label: command.label(), address: fmt.Sprintf("unix://%s/%d.sock", all.dir.Path(), i)}
		nodes := o.nodes[:min(1, len(o.nodes))]
		if strings.Contains(command.text, nodeWord) {
			e.address, nodes = fmt.Sprintf("unix://%s/%d-%s.sock", all.dir.Path(), i, nodeWord), o.nodes
		}
		for _, node := range nodes {
			if err := call.CheckAddress(e.onNode(node)); err != nil {
				return all, nil, fmt.Errorf("%s: %w", e.label, err)
			}
			if err := all.start(ctx, command, node, strings.TrimPrefix(e.onNode(node), "unix://"), o.patience); err != nil {
				return all, nil, fmt.Errorf("%s: %w", e.label, err)
			}
		}
		endpoints = append(endpoints, e)
	}
	return all, endpoints, nil
}

// start starts one driver.
func (all *children) start(ctx context.Context, command csiCommand, node, socket string, patience time.Duration) error {
	words := command.on(node, socket)
	c := &child{command: command, cmd: exec.Command(words[0], words[1:]...), ended: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = &c.said, &c.said
	c.cmd.SysProcAttr = ownGroup()
	c.cmd.WaitDelay = time.Second
	if err := c.cmd.Start(); err != nil {
		return err
	}
	all.list = append(all.list, c)
	go func() {
		defer close(c.ended)
		c.err = c.cmd.Wait()
	}()
	return c.awaitSocket(ctx, socket, patience)
}

// awaitSocket waits until a driver has made its socket and listens there.
func (c *child) awaitSocket(ctx context.Context, socket string, patience time.Duration) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		if conn, err := net.Dial("unix", socket); err == nil {
			return conn.Close()
		}
		select {
		case <-look.C:
		case <-c.ended:
			return fmt.Errorf("it ended before it made its socket %s: %s", socket, c.ending())
		case <-late.C:
			return fmt.Errorf("it has not made its socket %s within %s%s", socket, patience, c.said.words())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ending says how a process has ended, and the last that it said.
func (c *child) ending() string { return c.cmd.ProcessState.String() + c.said.words() }

// stop ends the drivers that still run, with SIGTERM and after a time with SIGKILL. A driver that has ended by itself is
// an error.
func (all *children) stop() error {
	var errs []error
	for _, c := range slices.Backward(all.list) {
		select {
		case <-c.ended:
			errs = append(errs, fmt.Errorf("%s: the driver has ended during the run: %s", c.command.label(), c.ending()))
			kill(c.cmd) // what it has started
		default:
			c.end()
		}
	}
	if all.dir != nil {
		errs = append(errs, all.dir.Remove())
	}
	return errors.Join(errs...)
}

// end ends a driver that runs.
func (c *child) end() {
	terminate(c.cmd)
	select {
	case <-c.ended:
	case <-time.After(grace / 2):
	}
	kill(c.cmd)
	<-c.ended
}

// tail keeps the last lines that a process prints.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// maxTail is the number of bytes that are kept of what a driver prints.
const maxTail = 2 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - maxTail; over > 0 {
		t.text = append([]byte(nil), t.text[over:]...)
	}
	return len(p), nil
}

// words returns the last lines after a colon, "" if there are none.
func (t *tail) words() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(bytes.TrimSpace(bytes.ToValidUTF8(t.text, nil)))
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	return ": " + bounded.Text(strings.Join(lines[max(0, len(lines)-5):], "\n"), maxTail)
}
