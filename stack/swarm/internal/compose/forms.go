package compose

import (
	"strconv"
)

// checkForms refuses values that are not of their key's form, and turns texts, of variables or in quotes, into what their key
// takes. Null is as good as nothing, but in a list. What a value is it does not say, since it may be a secret.
func checkForms(n *node, at *rule, key string, found *faults) {
	if n.isNull() {
		return
	}
	if !fits(n, at.form) {
		found.add(n.line, "%.200s must be %s", key, formNames[at.form])
		return
	}
	if n.kind == scalar {
		cast(n, at.form, found)
	}
	for _, f := range n.fields {
		if below := at.of(f.key); below != nil {
			checkForms(f.value, below, f.key, found)
		}
	}
	for _, item := range n.items {
		switch below := at.of("*"); {
		case item.isNull():
			found.add(item.line, "an item of %.200s is missing", key)
		case below != nil && item.kind == mapping:
			checkForms(item, below, key, found)
		}
	}
}

// of gives the rule for a key, nil where there is none.
func (r *rule) of(key string) *rule {
	if below := r.below[key]; below != nil {
		return below
	}
	return r.below["*"]
}

// formNames say what a value must be.
var formNames = map[form]string{
	section: "a mapping", named: "a mapping of names", items: "a list of mappings", shorts: "a list of mappings and texts",
	choice: "a list of names, or a mapping of them", external: "true or false", written: "a string: write it in quotes",
	figure: "a string or a number", boolean: "true or false", count: "a whole number", ratio: "a number", textList: "a list of strings",
	textOrList: "a string, or a list of strings", figures: "a mapping of strings and numbers",
	pairs: "a mapping of strings, or a list of strings", hosts: "a mapping of strings and lists of strings, or a list of strings",
	paths: "a string, or a list of strings",
}

// fits says whether a value is of a form. Where it is to be true or false, or a number, a text may stand for it: cast reads that.
func fits(n *node, of form) bool {
	switch of {
	case section, named:
		return n.kind == mapping
	case items:
		return n.kind == list && n.all(isMapping)
	case shorts:
		return n.kind == list && n.all(func(item *node) bool { return isMapping(item) || isFigure(item) })
	case choice:
		return n.kind == mapping || n.kind == list && n.all(isText)
	case external:
		return n.kind == mapping || isBool(n) || isText(n)
	case written:
		return isText(n)
	case figure:
		return isFigure(n)
	case boolean:
		return isBool(n) || isText(n)
	case count, ratio:
		return isFigure(n)
	case textList:
		return n.kind == list && n.all(isText)
	case textOrList:
		return isText(n) || n.kind == list && n.all(isText)
	case figures:
		return n.kind == mapping && n.all(isFigure)
	case pairs:
		return n.kind == mapping && n.all(isScalar) || n.kind == list && n.all(isText)
	case hosts:
		return n.kind == mapping && n.all(func(one *node) bool { return fits(one, textOrList) }) || n.kind == list && n.all(isText)
	case paths:
		return isText(n) || n.kind == list && n.all(func(item *node) bool { return isText(item) || isMapping(item) })
	}
	return false
}

// all says whether all items or values that are there are so.
func (n *node) all(are func(*node) bool) bool {
	for _, f := range n.fields {
		if !f.value.isNull() && !are(f.value) {
			return false
		}
	}
	for _, item := range n.items {
		if !item.isNull() && !are(item) {
			return false
		}
	}
	return true
}

func isMapping(n *node) bool { return n.kind == mapping }
func isScalar(n *node) bool  { return n.kind == scalar }

func isText(n *node) bool {
	_, is := n.scalar.(string)
	return is && n.kind == scalar
}

func isBool(n *node) bool {
	_, is := n.scalar.(bool)
	return is && n.kind == scalar
}

// isFigure says whether a value is a text or a number.
func isFigure(n *node) bool { return n.kind == scalar && !isBool(n) }

// cast turns a text into what a key takes.
func cast(n *node, as form, found *faults) {
	text, isText := n.scalar.(string)
	if !isText {
		return
	}
	var err error
	switch as {
	case boolean, external:
		n.scalar, err = strconv.ParseBool(text)
		if text != "true" && text != "false" {
			err = strconv.ErrSyntax
		}
	case count:
		n.scalar, err = strconv.Atoi(text)
	case ratio:
		n.scalar, err = strconv.ParseFloat(text, 64)
	}
	if err != nil {
		found.add(n.line, "%.80q is not %s", text, formNames[as])
	}
}
