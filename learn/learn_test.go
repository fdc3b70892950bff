package learn

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// everything returns all exercises.
func everything(t *testing.T) []*Exercise {
	t.Helper()
	found, err := All()
	require.NoError(t, err)
	return found
}

// all returns the exercises that need no checkout. Those in Go have tests in their own module, code.
func all(t *testing.T) []*Exercise {
	t.Helper()
	return slices.DeleteFunc(everything(t), func(e *Exercise) bool { return e.Lacking() != nil })
}

func TestEachExerciseFailsAsToldAndPassesWithItsAnswer(t *testing.T) {
	var out strings.Builder
	exercises := all(t)
	result, err := Verify(t.Context(), &out, exercises)
	require.NoError(t, err)
	require.Empty(t, strings.Join(result.Problems, "\n"))
	require.Equal(t, Result{Exercises: len(exercises), Starts: len(exercises), Answers: len(exercises)}, result)
	require.Equal(t, len(exercises), strings.Count(out.String(), "\n"))
}

func TestVerifyingFindsAnExerciseThatIsNotAsTold(t *testing.T) {
	for change, wrong := range map[string]func(*Exercise){
		`has the verdict ClassMissing, and its rule is NoNodes`:                        func(e *Exercise) { e.Rule = "NoNodes" },
		`the start does not show "a word of no report"`:                                func(e *Exercise) { e.symptom = "a word of no report" },
		`has the symptom "Pending 0", which the text does not name`:                    func(e *Exercise) { e.symptom = "Pending 0" },
		`the report on the wrong answer lacks "a word of no report"`:                   func(e *Exercise) { e.mistake = "a word of no report" },
		`the report on the start has "Pending", too`:                                   func(e *Exercise) { e.mistake = "Pending" },
		`the wrong answer passes`:                                                      func(e *Exercise) { e.wrong = e.answer },
		`the answer does not pass`:                                                     func(e *Exercise) { e.answer = nil },
		`the start passes`:                                                             func(e *Exercise) { e.given = only{e.given}.with(e.answer).files },
		`ALL exercises: LESS starts fail as told, ALL answers pass, 1 pass by waiting`: func(e *Exercise) { e.given = only{e.given}.with(e.answer).files },
		`ALL exercises: ALL starts fail as told, LESS answers pass, 0 pass by waiting`: func(e *Exercise) { e.answer = nil },
		`its check passes on the start of 02-a-class-that-is-there`:                    func(e *Exercise) { e.Name = "02-a-class-that-is-there" },
	} {
		exercises := all(t)
		broken := *exercises[0]
		wrong(&broken)
		if broken.Name != exercises[0].Name { // another exercise of the chapter, which has the answer
			broken.given = only{broken.given}.with(broken.answer).files
			exercises = []*Exercise{exercises[0], &broken}
		} else if strings.Contains(change, "exercises:") {
			exercises = append([]*Exercise{&broken}, exercises[1:3]...)
		} else {
			exercises = []*Exercise{&broken}
		}
		var out strings.Builder
		result, err := Verify(t.Context(), &out, exercises)
		require.NoError(t, err)
		require.NotEmpty(t, result.Problems, change)
		n := len(exercises)
		change = strings.NewReplacer("ALL", strconv.Itoa(n), "LESS", strconv.Itoa(n-1)).Replace(change)
		require.Contains(t, out.String()+result.String(), change)
	}
}

// Codes of explain are compared with the verdict on the start by Verify, so that only numbers of semantics.md are looked up.
func TestEachExerciseTeachesARuleThatExistsInAChapterThatExists(t *testing.T) {
	rules, err := os.ReadFile("../docs/semantics.md")
	require.NoError(t, err)
	for _, e := range everything(t) {
		chapters, err := filepath.Glob("../docs/" + strconv.Itoa(100 + e.Chapter)[1:] + "-*.md")
		require.NoError(t, err)
		require.Len(t, chapters, 1, e.Name)
		chapter, err := os.ReadFile(chapters[0])
		require.NoError(t, err)
		require.Contains(t, string(chapter), "["+e.Text(Default).Title+"](../learn/exercises/"+e.Name+"/text.md)", "the chapter names its exercise")
		if !strings.Contains(e.Rule, " ") {
			continue
		}
		if strings.Contains(e.Rule, " must ") {
			require.Contains(t, string(rules), "**"+e.Rule+".**", e.Name)
			continue
		}
		m := regexp.MustCompile(`^(\d+\.\d+) \((\d+)\)$`).FindStringSubmatch(e.Rule)
		require.Len(t, m, 3, "%s: %s", e.Name, e.Rule)
		_, section, ok := strings.Cut(string(rules), "\n### "+m[1]+" ")
		require.True(t, ok, "%s: %s", e.Name, e.Rule)
		section, _, _ = strings.Cut(section, "\n### ")
		require.Contains(t, section, "\n"+m[2]+". ", "%s: %s", e.Name, e.Rule)
	}
}

func TestEightExercisesNeedTwoThingsAndFourASequence(t *testing.T) {
	two, sequences := 0, 0
	for _, e := range all(t) {
		if e.Mends >= 2 {
			two++
		}
		if e.InTime {
			sequences++
		}
	}
	require.GreaterOrEqual(t, two, 8)
	require.GreaterOrEqual(t, sequences, 4)
}

// A part of the official answer must not do.
func TestOfTwoThingsToMendOneIsNotEnough(t *testing.T) {
	for _, e := range all(t) {
		if e.Mends < 2 || len(e.answer) < 2 {
			continue
		}
		for left := range e.answer {
			part := maps.Clone(e.answer)
			delete(part, left)
			o, err := e.Play(t.Context(), only{e.given}.with(part))
			require.NoError(t, err)
			require.False(t, o.Passed(), "%s without %s", e.Name, left)
		}
	}
}

func TestPlayingAnExerciseTwiceGivesTheSame(t *testing.T) {
	for _, e := range all(t) {
		first, err := e.Play(t.Context(), only{e.given})
		require.NoError(t, err)
		second, err := e.Play(t.Context(), only{e.given})
		require.NoError(t, err)
		require.Equal(t, first, second, e.Name)
	}
}

// tiny returns the files of a small exercise.
func tiny() map[string]string {
	return map[string]string{
		"01-a/exercise.yaml":     "chapter: 3\nrule: 1.3 (4)\nmends: 1\nabout: [pvc/data]\nsymptom: Pending\nmistake: Bound\n",
		"01-a/text.md":           "# A\n\nPending\n\n## Goal\n\n- it is Bound\n\n## Hint\n\nb\n\n## Take away\n\nc\n",
		"01-a/start.story":       "cluster provisioners= only=persistent-volume-binder\n\napply -f claim.yaml\n",
		"01-a/check.story":       "expect Bound in get pvc data\n",
		"01-a/start/claim.yaml":  "a",
		"01-a/answer/claim.yaml": "b",
		"01-a/wrong/claim.yaml":  "c",
	}
}

func tree(files map[string]string) fs.FS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestABrokenExerciseIsToldWithFileLineAndField(t *testing.T) {
	_, err := Load(tree(tiny()))
	require.NoError(t, err)
	for want, change := range map[string]func(map[string]string){
		`01-a/exercise.yaml: file does not exist`:                       func(f map[string]string) { delete(f, "01-a/exercise.yaml") },
		`01-a/exercise.yaml:2: unknown field "rul"`:                     func(f map[string]string) { f["01-a/exercise.yaml"] = "chapter: 3\nrul: 1\n" },
		"01-a/exercise.yaml:1: cannot unmarshal !!str `three` into int": func(f map[string]string) { f["01-a/exercise.yaml"] = "chapter: three\n" },
		`01-a/exercise.yaml: the file is empty`:                         func(f map[string]string) { f["01-a/exercise.yaml"] = "" },
		`01-a/exercise.yaml: mistake: expected words of the report on the wrong answer`: func(f map[string]string) {
			f["01-a/exercise.yaml"] = strings.Replace(f["01-a/exercise.yaml"], "mistake: Bound\n", "", 1)
		},
		`01-a/exercise.yaml: commands: stories have no command "kubectl"`: func(f map[string]string) { f["01-a/exercise.yaml"] += "commands: [kubectl]\n" },
		`01-a/text.md:1: expected "# " and the title`:                     func(f map[string]string) { f["01-a/text.md"] = "A\n" },
		`01-a/text.md:5: unknown heading "## Goals"; expected ## Goal, ## Hint or ## Take away`: func(f map[string]string) {
			f["01-a/text.md"] = strings.Replace(f["01-a/text.md"], "## Goal", "## Goals", 1)
		},
		`01-a/text.md: ## Goal has 2 lines, and check.story has 1 expectations; each line is checked by one`: func(f map[string]string) {
			f["01-a/text.md"] = strings.Replace(f["01-a/text.md"], "- it is Bound\n", "- it is Bound\n- twice\n", 1)
		},
		`01-a/text.zh.md: expected ## 提示`: func(f map[string]string) {
			f["01-a/text.zh.md"] = "# A\n\nx\n\n## 目标\n\n- it is Bound\n\n## 要点\n\nc\n"
		},
		`01-a/text.md: the file is missing`:                      func(f map[string]string) { delete(f, "01-a/text.md") },
		`01-a/check.story: expected at least one command expect`: func(f map[string]string) { f["01-a/check.story"] = "settle\n" },
		`01-a/check.story:1: $volume stands for a guess, ` +
			`and start/ has no guess.yaml`: func(f map[string]string) { f["01-a/check.story"] = "expect $volume in get pvc\n" },
		`01-a/start.story: file does not exist`:                                           func(f map[string]string) { delete(f, "01-a/start.story") },
		`01-a/wrong: file does not exist`:                                                 func(f map[string]string) { delete(f, "01-a/wrong/claim.yaml") },
		`01-a/answer/clam.yaml: the learner has no such file; expected one of claim.yaml`: func(f map[string]string) { f["01-a/answer/clam.yaml"] = "x" },
		`a: the folder of an exercise has a name such as 03-which-volume`:                 func(f map[string]string) { f["a/exercise.yaml"] = "x" },
		`there is no exercise: expected a folder for each`:                                func(f map[string]string) { clear(f); f["README.md"] = "x" },
		`02-b/exercise.yaml: rule: "1.3 (4)" is the rule of 01-a already; each exercise has one of its own`: func(f map[string]string) {
			for name, text := range maps.Clone(f) {
				f["02-b"+strings.TrimPrefix(name, "01-a")] = text
			}
		},
	} {
		files := tiny()
		change(files)
		_, err := Load(tree(files))
		require.EqualError(t, err, want)
	}
}

func TestAStoryOfAnExerciseThatCannotBePlayedIsAnError(t *testing.T) {
	files := tiny()
	files["01-a/check.story"] = "expect Bound in pvc data\n"
	broken, err := Load(tree(files))
	require.NoError(t, err)
	_, err = broken[0].Play(t.Context(), tree(map[string]string{"claim.yaml": "a"}))
	require.ErrorContains(t, err, `exercise 01-a: check.story:1: expect: unknown command "pvc"`)
}

func find(t *testing.T, name string) *Exercise {
	t.Helper()
	for _, e := range all(t) {
		if strings.HasSuffix(e.Name, name) {
			return e
		}
	}
	t.Fatalf("no exercise %s", name)
	return nil
}

// What learners write, and what they are told.
func TestBadFilesOfALearnerAreToldWithFileAndLine(t *testing.T) {
	for _, tt := range []struct{ exercise, file, text, want string }{
		{"a-class-that-is-not-there", "claim.yaml", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: [da",
			"refused: start.story:6: claim.yaml:4: not valid YAML"}, // half saved
		{"a-class-that-is-not-there", "claim.yaml", "", "refused: start.story:6: claim.yaml: is empty; expected at least one object in YAML or JSON"},
		{"a-class-that-is-not-there", "claim.yaml", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: data\nspec:\n  storageClas: x\n",
			`refused: start.story:6: claim.yaml:6: PersistentVolumeClaim/data: spec.storageClas: unknown field (did you mean "storageClassName"?)`},
		{"a-class-that-is-not-there", "claim.yaml", strings.Repeat("#", MaxFile+1), "mistake: claim.yaml: 65537 bytes; expected at most 65536"},
		{"a-class-that-is-not-there", MendStory, "delete pvc/data\n", `mistake: mend.story:1: this script may not use "delete"; expected one of get, describe`},
		{"it-does-not-go-away", MendStory, "run-for 100000h\n",
			`mistake: mend.story:1: run-for: TIME: "100000h" is longer than the 24h0m0s that one command may let pass here`}, // a story that never ends
		{"it-does-not-go-away", MendStory, strings.Repeat("settle quiet\n", MaxCommands+1), "mistake: mend.story: 501 lines; expected at most 500"},
		{"it-does-not-go-away", MendStory, "step 1000000000\n", `mistake: mend.story:1: this script may not use "step"`},
		{"it-does-not-go-away", MendStory, "cluster nodes=\n", `mistake: mend.story:1: this script may not use "cluster"`},
		{"it-does-not-go-away", MendStory, "expect a in get pvc\n", `mistake: mend.story:1: this script may not use "expect"`},
		{"it-does-not-go-away", MendStory, "get pvc -f\n", "mistake: mend.story:1: get: unknown shorthand flag: 'f' in -f"},
		{"it-does-not-go-away", MendStory, "get 'pvc\n", "mistake: mend.story:1: a quote ' is not closed"},
		{"moving-house", MendStory, "apply -f ../../secret.yaml\n", "refused: mend.story:1: error: ../../secret.yaml: file does not exist"},
		{"moving-house", MendStory, "apply\nkind: [\n", "refused: mend.story:1: mend.story:3: not valid YAML"},
		{"which-volume", GuessFile, "volume: middle large\n", `mistake: guess.yaml: volume: "middle large" is not one word`},
		{"which-volume", GuessFile, "volume: [\n", "mistake: guess.yaml:1: did not find expected node content; expected lines such as volume: data-1"},
		{"which-volume", GuessFile, "volume：middle\n", "mistake: guess.yaml: it has a full-width colon ：; expected lines with a plain one and a space"},
		{"no-volume-fits", "volume.yaml", "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: archive, labels: {disk: ssd}}\n" +
			"spec: {capacity: {storage: 10Gi}, accessModes: [ReadWriteMany, ReadWriteOnce], nfs: {server: nas.example.com, path: /archive}}\n",
			"[ ] the modes and the label of `archive` are those that the administrators gave it"}, // the volume is not the learner's
		{"class-that-is-not-there", "class.yaml", "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: openebs-hostpaths}\n" +
			"provisioner: openebs.io/local\nvolumeBindingMode: WaitForFirstConsumer\n", "[ ] the class of `class.yaml` keeps its name"},
		{"bound-before-the-pod", "volumes.yaml", "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk-2}\n" +
			"spec: {capacity: {storage: 10Gi}, accessModes: [ReadWriteOnce], storageClassName: local-storage, local: {path: /mnt/disk}, nodeAffinity: " +
			"{required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-2]}]}]}}}\n",
			"[ ] `disk-1` is still a volume of node-1"},
		{"moving-house", MendStory, "patch pv/pvc-558a3044 -p '{\"spec\": {\"persistentVolumeReclaimPolicy\": \"Retain\"}}'\n\n" +
			"delete pvc/data\n\nsettle quiet\n\n" +
			"apply\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: shop}\nspec: {storageClassName: openebs-hostpath, " +
			"accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\n" +
			"spec: {containers: [{name: c, image: busybox, command: [sleep, infinity]}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}\n\n" +
			"settle quiet\n", "[ ] its volume is the one that the old claim had"}, // it has a new one
		{"two-default-classes", "late.yaml", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: late}\nspec: {storageClassName: gold, " +
			"accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n", "mistake: late.yaml: it is changed; here only guess.yaml can be mended."},
		{"past-the-scheduler", "claim.yaml", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n",
			"mistake: claim.yaml: it is changed; here only pod.yaml can be mended."},
		{"11-lost", MendStory, "apply\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: ledger}\nspec: {capacity: {storage: 5Gi}, " +
			"accessModes: [ReadWriteOnce], hostPath: {path: /srv/another}, claimRef: {namespace: default, name: data, " +
			"uid: 558a3044-d9ab-451d-bf3b-29391f5b604b}}\n\nrun-for 1m quiet\n",
			"[ ] the volume `ledger` leads to the directory with the data"},
		{"asking-too-much", "claim.yaml", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: '', " +
			"accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}\n---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: fast}\n" +
			"spec: {capacity: {storage: 1Gi}, " +
			"accessModes: [ReadWriteMany], hostPath: {path: /fast}}\n", "[ ] OpenEBS has made its volume"},
		{"volume-without-a-claim", "pod.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-settings}\ndata: {shop.conf: currency = CNY}\n---\n" +
			"apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: busybox, command: [sleep, infinity], " +
			"volumeMounts: [{name: s, mountPath: /etc/shop}]}], volumes: [{name: s, configMap: {name: shop-settings}}]}\n",
			"[ ] its text comes from the ConfigMap `shop`"}, // a copy
		{"the-wrong-directory", "cache.yaml", "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: cache}\n",
			"mistake: cache.yaml: it is changed; here only volume.yaml can be mended."},
		{"once-per-what", "volume.yaml", "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: shared}\nspec: {capacity: {storage: 5Gi}, " +
			"accessModes: [ReadWriteOnce, ReadWriteMany], storageClassName: local-storage, hostPath: {path: /mnt/shared}}\n", "[ ] so has the volume"},
		{"a-dead-node", MendStory, "run-for 20m quiet\n\ntaint node-1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute\n\nrun-for 20m quiet\n\n" +
			"start node/node-1\n\nrun-for 2m quiet\n\ntaint node-1 node.kubernetes.io/out-of-service-\n",
			"[ ] its volume was given to node-2 after three minutes at most"},
		{"a-dead-node", MendStory, "taint node-1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute\n\nrun-for 3m quiet\n\n" +
			"start node/node-1\n\nrun-for 2m quiet\n\ntaint node-1 node.kubernetes.io/out-of-service-\n", "[ ] node-1 was off for half an hour"},
		{"an-update-that-never-ends", "deployment.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {" +
			"selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {nodeSelector: {kubernetes.io/hostname: node-2}, " +
			"containers: [{name: web, image: busybox, command: [sleep, infinity], volumeMounts: [{name: d, mountPath: /data}]}], " +
			"volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}}}\n",
			"[ ] the volume was detached from node-1"}, // it was never there
		{"which-volume", GuessFile, "volum: middle\n", "guess.yaml: volume is empty"},
		{"which-volume", GuessFile, "volume: \"' in get pods\"\n", "is not one word"}, // an answer that changes the check
	} {
		e := find(t, tt.exercise)
		o, err := e.Play(t.Context(), only{e.given}.with(e.answer).with(map[string]string{tt.file: tt.text}))
		require.NoError(t, err, tt.want)
		require.False(t, o.Passed(), tt.want)
		require.Contains(t, flat(e.Report(o, Default)), flat(tt.want))
	}
}

// What stands around a learner's guess and the output of a command is in the language of the exercise.
func TestAReportIsInTheLanguageOfItsExercise(t *testing.T) {
	for _, tt := range []struct{ exercise, text, want string }{
		{"which-volume", "volume:\n", "guess.yaml：volume 还是空的"},
		{"which-volume", "volume: large\n", "guess.yaml：volume：large 和运行的结果不一样"},
		{"no-volume-fits", "", "get pvc data -o jsonpath={.spec.volumeName} 输出：（空）"},
	} {
		e := find(t, tt.exercise)
		files := only{e.given}
		if tt.text != "" {
			files = files.with(map[string]string{GuessFile: tt.text})
		}
		o, err := e.Play(t.Context(), files)
		require.NoError(t, err)
		require.Contains(t, e.Report(o, "zh"), tt.want)
		require.NotContains(t, e.Report(o, Default), "：")
	}
}

func TestFilesWithCRLFAndAMarkAreReadAsOthers(t *testing.T) {
	for _, e := range all(t) {
		files := only{e.given}.with(e.answer).files
		for name, text := range files {
			files[name] = "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")
		}
		o, err := e.Play(t.Context(), only{files})
		require.NoError(t, err)
		require.True(t, o.Passed(), "%s:\n%s", e.Name, e.Report(o, Default))
	}
}

func TestPlayingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := all(t)[0].Play(ctx, only{all(t)[0].given})
	require.ErrorIs(t, err, context.Canceled)
}

func TestATextIsInTheLanguageAskedForWhereThereIsOne(t *testing.T) {
	files := tiny()
	files["01-a/text.zh.md"] = "# 甲\n\n等待\n\n## 目标\n\n- 已绑定\n\n## 提示\n\n看一看\n\n## 要点\n\n结论\n"
	translated, err := Load(tree(files))
	require.NoError(t, err)
	e := translated[0]
	require.Equal(t, []string{"en", "zh"}, e.Languages())
	require.Equal(t, "甲", e.Text("zh").Title)
	require.Equal(t, "A", e.Text("fr").Title)
	require.Contains(t, e.Report(Outcome{Goals: []Goal{{Met: true}}}, "zh"), "[x] 已绑定")
	require.Contains(t, e.Task("zh"), "\n## 目标\n")
	require.Contains(t, e.Task("fr"), "\n## Goal\n")
	require.Equal(t, WordsOf("zh"), e.Words("zh"))
	require.Equal(t, WordsOf(Default), all(t)[len(all(t))-1].Words("zh"), "it is told in English, and so are the words around it")
}

// TestTheWordsOfEachLanguageTakeTheSame: each is there, with the same verbs.
func TestTheWordsOfEachLanguageTakeTheSame(t *testing.T) {
	verb := regexp.MustCompile(`%\d*[sd]`)
	english := reflect.ValueOf(words[Default])
	for language, w := range words {
		for i := range english.NumField() {
			said := reflect.ValueOf(w).Field(i).String()
			require.NotEmpty(t, said, "%s: %s", language, english.Type().Field(i).Name)
			require.Equal(t, verb.FindAllString(english.Field(i).String(), -1), verb.FindAllString(said, -1), "%s: %s", language, said)
		}
	}
}

func TestWithoutACheckoutTheExercisesInGoSayWhatTheyLackAndAreLeftOut(t *testing.T) {
	_, lacking := FindCheckout(t.TempDir())
	require.EqualError(t, lacking, "it is in Go, and needs a checkout of storagesim: clone the repository and begin in its folder")
	exercises := everything(t)
	require.NoError(t, Attach(exercises, "", lacking))
	inGo := slices.DeleteFunc(slices.Clone(exercises), func(e *Exercise) bool { return e.Lacking() == nil })
	require.Len(t, inGo, 4)
	o, err := inGo[0].Play(t.Context(), only{})
	require.NoError(t, err)
	require.Equal(t, []string{lacking.Error()}, o.Problems)
	require.False(t, o.Passed())

	c, _, err := Open(t.Context(), t.TempDir(), inGo)
	require.NoError(t, err)
	require.Nil(t, c.Next(nil))
	_, _, err = c.Begin(inGo[0], Default)
	require.ErrorIs(t, err, lacking)

	var out strings.Builder
	result, err := Verify(t.Context(), &out, inGo)
	require.NoError(t, err)
	require.Equal(t, Result{}, result)
	require.Contains(t, out.String(), inGo[0].Name+": not played: "+lacking.Error()+"\n")

	t.Setenv("PATH", "")
	_, lacking = FindCheckout("..")
	require.EqualError(t, lacking, "it is in Go, and there is no command go here: install Go 1.26 or newer")
}

func TestExercisesInGoHaveTheirFilesFromTheCheckout(t *testing.T) {
	checkout, err := FindCheckout("testdata/..")
	require.NoError(t, err)
	exercises := everything(t)
	require.NoError(t, Attach(exercises, checkout, nil))
	for _, e := range exercises {
		require.NoError(t, e.Lacking())
		require.NotEmpty(t, e.Files(), e.Name)
		for folder, files := range map[string]map[string]string{"answer": e.answer, "wrong": e.wrong} {
			for name := range files {
				require.Contains(t, e.given, name, "%s/%s", e.Name, folder)
			}
		}
	}
	require.ErrorContains(t, Attach(exercises, t.TempDir(), nil), "no such file or directory")
}
