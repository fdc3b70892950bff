// Package learn holds exercises that check themselves: a cluster that is broken, what the learner may change, and assertions that say whether it is mended.
// The command storagesim learn is its face.
//
// # An exercise
//
// An exercise is a folder in exercises/. Its name begins with its number.
//
//	exercise.yaml   the chapter, the rule that it teaches, and what the test of all exercises compares
//	text.md         title, situation, goal, hints, and what to take away; text.zh.md is the same in Chinese
//	start.story     makes the cluster, applies the learner's files and breaks something
//	check.story     one "expect" for each line of the goal
//	start/          the files that the learner gets
//	answer/         those of them that the official answer changes
//	wrong/          those that a plausible wrong answer changes
//
// It is played in a new cluster each time: start.story with the learner's manifests, then the learner's mend.story, then
// check.story. Only the files of start/ are read from the learner's folder; start.story and check.story are always the exercise's
// own.
//
// A word $NAME in check.story stands for what the learner has written behind NAME in guess.yaml: so a guess is compared with what the run gives.
//
// # Where to begin
//
// All returns the exercises, Exercise.Play plays one with a learner's files, and Verify plays all of them with their starts,
// answers and wrong answers. A Course is a learner's folder with its progress.
package learn
