package main

import (
	"bufio"
	"io"
	"strings"
)

// frame is a server-sent event.
type frame struct{ name, data, id string }

// frames reads events until the stream ends or take returns false.
func frames(r io.Reader, take func(frame) bool) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 64<<20)
	var f frame
	for sc.Scan() {
		line := sc.Text()
		if line == "" {
			if f.name != "" || f.data != "" {
				if !take(f) {
					return nil
				}
			}
			f = frame{}
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || key == "" {
			continue
		}
		value = strings.TrimPrefix(value, " ")
		switch key {
		case "event":
			f.name = value
		case "data":
			f.data += value
		case "id":
			f.id = value
		}
	}
	return sc.Err()
}

func allFrames(r io.Reader) (out []frame) {
	_ = frames(r, func(f frame) bool { out = append(out, f); return true })
	return out
}
