package learn

// Words stand around the texts of exercises, in one language.
type Words struct {
	// Goal, Hint and TakeAway are the headings of a text.
	Goal, Hint, TakeAway string

	// Passed and NotYet say what came of playing; NotYet has how many lines of the goal are met, and of how many.
	Passed, NotYet string
	// NotPlayed is for files that cannot be played.
	NotPlayed string
	// Prints has a command before what it printed, and Nothing stands for no output.
	Prints, Nothing string
	// Unguessed has a file and a name in it that has no guess, Misguessed the guess, too.
	Unguessed, Misguessed string
	// Mistake and Refused begin lines of a report, and Played what mend.story printed.
	Mistake, Refused, Played string

	// HintOf has the number of a hint, how many there are, and the hint.
	HintOf string
	// Answer has the name of a file of the official answer.
	Answer string
	// Files has the folder and the files, or AsLeft, and the number of the chapter.
	Files, AsLeft string
	// Line has the number of an exercise, its title and its chapter, and PassedOf how many of how many are passed.
	Line, PassedOf string
	// Keys says which key does what, and Bye, with the folder, how to go on another time.
	Keys, Bye string
}

// words holds the words of each language.
var words = map[string]Words{
	Default: {
		Goal: "## Goal", Hint: "## Hint", TakeAway: "## Take away",
		Passed: "passed", NotYet: "not yet, %d of %d", NotPlayed: "not yet, it cannot be played",
		Prints: "%s prints: ", Nothing: "nothing",
		Unguessed: "%s: %s is empty", Misguessed: "%s: %s: %s is not what the run gives",
		Mistake: "mistake: ", Refused: "refused: ", Played: "%s, played:",
		HintOf: "Hint %d of %d: %s", Answer: "The official answer, %s:",
		Files: "Your files are in %s: %s.\nThe chapter is docs/%02d-*.md.", AsLeft: "as you left them",
		Line: "%s  %s (chapter %d)", PassedOf: "%d of %d passed",
		Keys: "h hint, n next, l list, enter play it once more, q quit", Bye: "Until the next time: storagesim learn %s",
	},
	"zh": {
		Goal: "## 目标", Hint: "## 提示", TakeAway: "## 要点",
		Passed: "通过", NotYet: "还没有，%d/%d", NotPlayed: "还没有，它跑不起来",
		Prints: "%s 输出：", Nothing: "（空）",
		Unguessed: "%s：%s 还是空的", Misguessed: "%s：%s：%s 和运行的结果不一样",
		Mistake: "错误：", Refused: "被拒绝：", Played: "%s 跑了一遍：",
		HintOf: "提示 %d/%d：%s", Answer: "官方答案，%s：",
		Files: "你的文件在 %s：%s。\n对应的章节是 docs/zh/%02d-*.md。", AsLeft: "和你离开时一样",
		Line: "%s  %s（第 %d 章）", PassedOf: "通过 %d/%d",
		Keys: "h 提示，n 下一个，l 列表，回车 再跑一遍，q 退出", Bye: "下次继续：storagesim learn %s",
	},
}

// WordsOf returns the words of a language such as "zh", or of Default if it has none.
func WordsOf(language string) Words {
	if w, ok := words[language]; ok {
		return w
	}
	return words[Default]
}

// Words returns the words of the language in which the exercise is told to a learner of a language: Default if it is not translated.
func (e *Exercise) Words(language string) Words {
	if _, ok := e.texts[language]; ok {
		return WordsOf(language)
	}
	return words[Default]
}
