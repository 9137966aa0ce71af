package systemd

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// signatureLine begins the first line of a file that this package writes. The SHA-256 of all that follows the line ends
// it. Being in the file itself it is there when the file is, and never another file's.
const signatureLine = "# Written by squadron, which replaces it as a whole. SHA-256 of what follows: "

// sign gives the text of a file for a unit's content.
func sign(content string) string {
	return signatureLine + digest(content) + "\n" + content
}

// unsign gives the content back. Signed says that a line of ours stands above it, and intact that it is what was
// signed.
func unsign(text string) (content string, signed, intact bool) {
	line, rest, found := strings.Cut(text, "\n")
	sum, ours := strings.CutPrefix(line, signatureLine)
	if !ours {
		return text, false, false
	}
	return rest, true, found && sum == digest(rest)
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}
