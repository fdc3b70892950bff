package prose

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	one   = "56a9ebfe-9c0b-4d98-8d97-ddaeff0e466a"
	alike = "56a9ebfe-9c0b-4d98-9000-000000000000"
	hash  = "56a9ebfec0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"
)

func TestAnIdentifierHasOneShortFormAndNoTwoHaveTheSame(t *testing.T) {
	var ids IDs
	assert.Equal(t, "creates pv pvc-56a9ebfe", ids.Shorten("creates pv pvc-"+one))
	assert.Equal(t, "pvc-56a9ebfe-9c0b and init-pvc-56a9ebfe", ids.Shorten("pvc-"+alike+" and init-pvc-"+one))
	assert.Equal(t, "csi-56a9ebfec0ffee00", ids.Shorten("csi-"+hash))
	assert.Equal(t, "pvc-56a9ebfe", ids.Shorten("pvc-56a9ebfe"), "short already")

	var others IDs
	assert.Equal(t, "pv 56a9ebfe", others.Shorten("pv 56a9ebfe"), "somebody's own name")
	assert.Equal(t, "pv 56a9ebfe-9c0b", others.Shorten("pv "+one), "which is taken")
	assert.Equal(t, "pv 56a9ebfe", others.Expand("pv 56a9ebfe"))
}

func TestAShortFormCanBeMadeWholeAgain(t *testing.T) {
	var ids IDs
	whole := "pvc-" + one + " init-pvc-" + alike + "/data csi-" + hash
	assert.Equal(t, whole, ids.Expand(ids.Shorten(whole)))
	assert.Equal(t, whole, ids.Expand(whole))
	assert.Equal(t, "pvc-"+one+"-abcd", ids.Expand("pvc-56a9ebfe-abcd"), "something follows the identifier")
	assert.Equal(t, "pvc-deadbeef", ids.Expand("pvc-deadbeef"), "nobody's")
}

func TestLongLinesContinueIndentedAndNoWordIsBroken(t *testing.T) {
	assert.Equal(t, "  one two\n      three\n  four\n\nfive", Wrap("  one two three\n  four\n\nfive", 11, 4))
	assert.Equal(t, "  one two three", Wrap("  one two three", 15, 4), "it just fits")
	assert.Equal(t, "a\n  bbbbbbbbbbbb\n  c", Wrap("a bbbbbbbbbbbb c", 6, 2), "a word that is wider than the line")
	assert.Equal(t, "a\n  /var/\n  lib/\n  data:\n  c", Wrap("a /var/lib/data: c", 8, 2), "a path goes on behind a slash")
	assert.Equal(t, "  [1,2,\n    3,4]", Wrap("  [1,2,3,4]", 8, 2), "a list behind a comma")
	assert.Equal(t, "a\n  "+strings.Repeat("/var", 30), Wrap("a "+strings.Repeat("/var", 30), 100, 2), "a wide line stays to be copied")
	assert.Equal(t, "äöü\n  äöü", Wrap("äöü äöü", 6, 2), "characters count, not bytes")
	assert.Equal(t, "one two", Wrap("one two", 0, 2), "no width")
	assert.Equal(t, "one  ", Wrap("one  ", 3, 2), "only blanks are left")
	assert.Equal(t, "0:00  me  says a\n            b c", WrapLine("0:00  me  says a b c", 16, 10, 12))
}

func TestOnlyTheMessagesOfATableAreWrapped(t *testing.T) {
	table := "Name:  a long line that stays\nType    Message\n----    -------\nNormal  this is said of it\n\nName:  another long line\n"
	assert.Equal(t, table, WrapMessages(table, 40))
	want := strings.Replace(table, "this is said of it", "this is said\n    of it", 1)
	assert.Equal(t, want, WrapMessages(table, 20), "there is no room below the heading")
	table = strings.Replace(table, "this is", "somebody very important this is", 1)
	want = strings.Replace(table, "this is said", "this is\n        said", 1)
	assert.Equal(t, want, WrapMessages(table, 42))
	assert.Equal(t, table, WrapMessages(table, 0))
	table = "Type      Message\n----      -------\nNormal    this is said of it\nNormal    it\n"
	want = "Type      Message\n----      -------\nNormal\n    this is\n    said of\n    it\nNormal    it\n"
	assert.Equal(t, want, WrapMessages(table, 13), "not even the first word fits")
}

func TestAChineseCharacterTakesTwoColumns(t *testing.T) {
	assert.Equal(t, 9, Columns("存储 pv卷"))
	assert.Equal(t, 4, Columns("cafe\u0301"), "a combining accent takes none")
	assert.Equal(t, "卷 ", Pad("卷", 3))
	assert.Equal(t, "存储卷与\n  持久卷\n  声明", Wrap("存储卷与持久卷声明", 8, 2), "a line may end between two characters")
	assert.Equal(t, "pvc 数据\n    已绑定", Wrap("pvc 数据 已绑定", 10, 4))
	assert.Equal(t, "存储\n卷，与", Wrap("存储卷，与", 7, 0), "a comma begins no line")
	assert.Equal(t, "存储\n（卷）", Wrap("存储（卷）", 7, 0), "a bracket that opens ends none")
	for _, line := range strings.Split(Wrap(strings.Repeat("数据卷 volume ", 30), 40, 4), "\n") {
		assert.LessOrEqual(t, Columns(line), 40)
	}
}
