package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// readEPUB reads the chapters of a book in the order in which they are read.
func readEPUB(a *archive, limits Limits) (Document, error) {
	data, err := a.read("META-INF/container.xml")
	if err != nil {
		return Document{}, err
	}
	opf := ""
	err = each(data, func(e xml.StartElement) {
		if e.Name.Local == "rootfile" && opf == "" {
			opf = attribute(e, "full-path")
		}
	}, nil, nil)
	if err != nil {
		return Document{}, err
	}
	if data, err = a.read(opf); err != nil {
		return Document{}, err
	}
	said := properties(data)
	doc := Document{Title: said["title"], Author: said["creator"], Date: said["date"]}
	parts := map[string]string{}
	var order []string
	err = each(data, func(e xml.StartElement) {
		switch e.Name.Local {
		case "item":
			if href, err := url.PathUnescape(attribute(e, "href")); err == nil && strings.Contains(attribute(e, "media-type"), "html") {
				parts[attribute(e, "id")] = path.Join(path.Dir(opf), href)
			}
		case "itemref":
			if part, ok := parts[attribute(e, "idref")]; ok {
				order = append(order, part)
			}
		}
	}, nil, nil)
	if err != nil {
		return Document{}, err
	}
	locked, err := a.locked()
	if err != nil {
		return Document{}, err
	}
	text := 0
	for i, part := range order {
		if i == limits.Parts || text > limits.Text {
			doc.Truncated = true
			break
		}
		if locked[part] {
			return Document{}, refuse(Protected, "it is protected against copying; only the shop's own reader opens it")
		}
		data, err := a.read(part)
		if errors.Is(err, errNoPart) {
			continue
		}
		if err != nil {
			return Document{}, err
		}
		if int64(len(data)) > 8<<20 {
			return Document{}, refuse(TooLarge, "its chapter %d is larger than 8 MiB; split it", i+1)
		}
		chapter, err := htmlMarkdown(data)
		if err != nil {
			return Document{}, err
		}
		md := chapter.Sections[0].Text
		text += len(md)
		doc.Sections = append(doc.Sections, Section{fmt.Sprintf("chapter %d", i+1), md})
	}
	return doc, nil
}

// locked are the parts that are encrypted. Fonts often are, in books that anybody can read.
func (a *archive) locked() (map[string]bool, error) {
	data, err := a.read("META-INF/encryption.xml")
	if errors.Is(err, errNoPart) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	parts := map[string]bool{}
	err = each(data, func(e xml.StartElement) {
		if e.Name.Local == "CipherReference" {
			parts[attribute(e, "URI")] = true
		}
	}, nil, nil)
	return parts, err
}
