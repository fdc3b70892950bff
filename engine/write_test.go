package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAWriteTellsTheConditionsThatAreNew(t *testing.T) {
	condition := func(kind, status, message string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": "Why", "message": message}
	}
	was := []any{condition("PodScheduled", "False", "no room"), condition("Ready", "False", "")}
	for name, tt := range map[string]struct {
		is   []any
		want string
	}{
		"another status":  {[]any{condition("PodScheduled", "True", ""), was[1]}, "[PodScheduled=True (Why)]"},
		"another message": {[]any{condition("PodScheduled", "False", "no disk"), was[1]}, "[PodScheduled=False (Why)]"},
		"both":            {[]any{condition("PodScheduled", "False", "no disk"), condition("Ready", "True", "")}, "[Ready=True (Why)]"},
		"one less":        {was[:1], "[]"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, brief(newItems(was, tt.is))) })
	}
}
