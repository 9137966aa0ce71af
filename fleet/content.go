package fleet

// DetailOf gives what a unit file says about the unit of that name, without a look at any cluster: its hash, its stamps,
// whether it is global, and whether it is a oneshot. The states are empty. A content that is no unit file gives an error
// for which IsInvalidRequest is true.
func DetailOf(name, content string) (UnitDetail, error) {
	options, err := parseContent(content)
	if err != nil {
		return UnitDetail{}, err
	}
	facts := readFacts(name, options)
	return UnitDetail{
		UnitStatus: UnitStatus{Name: name, SliceID: sliceID(name)},
		Hash:       hashOptions(options),
		Group:      facts.group,
		Owner:      facts.owner,
		Stamped:    facts.stamped,
		Global:     facts.global,
		Oneshot:    facts.oneshot,
	}, nil
}
