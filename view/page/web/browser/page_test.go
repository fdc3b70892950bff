package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestAPagePlaysByItselfUntilItIsTouched(t *testing.T) {
	b := open(t, example(t, "csi-end-to-end"), look{})
	b.until(place + " >= 3")
	b.is(`!!document.querySelector('button[aria-label="Pause"]')`)
	b.press(kb.ArrowRight)
	b.until(`!!document.querySelector('button[aria-label="Play"]')`)
}

func TestAPageDoesNotPlayByItselfForWhoWantsNoMotion(t *testing.T) {
	b := open(t, example(t, "csi-end-to-end"), look{calm: true})
	b.is(`!!document.querySelector('button[aria-label="Play"]')`)
	// The story would begin after 1.5 s of the page's own clock.
	eval[bool](b, `new Promise((done) => setTimeout(() => done(true), 1800))`)
	b.is(place + " === 1")
	b.click(named("Play"))
	b.until(place + " >= 2")
}

func TestKeysButtonsAndTheSliderMoveTheCursor(t *testing.T) {
	b := open(t, example(t, "csi-end-to-end"), look{calm: true})
	b.press(kb.ArrowRight + kb.ArrowDown)
	b.is(place + " === 3")
	b.press(kb.ArrowLeft)
	b.is(place + " === 2")
	b.press(kb.End)
	b.is(place + ` === Number(document.querySelector("input[type=range]").max) + 1`)
	b.press(kb.Home)
	b.is(place + " === 1")
	b.click(named("Next step"))
	b.is(place + " === 2")
	eval[bool](b, `(() => { const s = document.querySelector("input[type=range]"); s.value = 20; return s.dispatchEvent(new Event("input")); })()`)
	b.is(place + " === 21")
	b.press(" ")
	b.until(place + " >= 22")
	b.press(kb.Home)
	b.is(`!!document.querySelector('button[aria-label="Play"]')`)
}

func TestTheFragmentIsReadFollowedAndKept(t *testing.T) {
	b := open(t, example(t, "csi-end-to-end"), look{hash: "#step=46"})
	b.is(`document.querySelector(".row.current .line2").textContent === "ControllerPublishVolume: OK"`)
	b.press(kb.ArrowRight)
	b.until(`location.hash === "#step=47"`)
	eval[string](b, `location.hash = "#step=28"`)
	b.until(`document.querySelector(".row.current .line2").textContent === "CreateVolume: OK"`)
}

func TestClaimAndVolumePointAtEachOtherOneWriteApart(t *testing.T) {
	b := open(t, example(t, "static-binding"), look{hash: "#step=8"})
	const pointers = `document.querySelector(".pointers").getAttribute("aria-label")`
	b.is(`document.querySelectorAll(".pointer.one-sided").length === 1`)
	b.is(pointers + `.startsWith("claimRef points at the claim, volumeName does not")`)
	b.press(kb.ArrowRight + kb.ArrowRight)
	b.is(`document.querySelectorAll(".pointer").length === 2 && !document.querySelector(".pointer.one-sided")`)
	b.press(kb.ArrowLeft + kb.ArrowLeft + kb.ArrowLeft)
	b.is(`document.querySelectorAll(".pointer").length === 0`)
}

func TestARowThatIsClickedShowsWhatItChanged(t *testing.T) {
	b := open(t, example(t, "static-binding"), look{calm: true})
	row := `.row-button[aria-label*="volumeName: nfs-pv"]`
	b.click(row)
	b.is(`document.querySelector(".yaml").textContent.includes("+   volumeName: nfs-pv")`)
	b.is(`document.querySelector(".yaml .plus") !== null && document.querySelector('` + row + `').getAttribute("aria-current") === "step"`)
}

func TestAnObjectThatIsClickedDimsTheRest(t *testing.T) {
	b := open(t, example(t, "csi-end-to-end"), look{hash: "#step=61"})
	b.is(`document.querySelectorAll(".dim").length === 0`)
	b.click(".card.o-pod")
	b.is(`document.querySelectorAll(".row.dim").length > 0 && document.querySelectorAll(".card.dim").length > 0`)
	b.is(`[...document.querySelectorAll(".row:not(.dim)")].every((row) => /pod|→|mount/.test(row.innerText))`)
	b.is(`document.querySelector(".detail-pane").textContent.includes("pod web now")`)
	b.press(kb.Escape)
	b.is(`document.querySelectorAll(".dim").length === 0`)
}

func TestSearchFindsStepsAndFiltersHideThem(t *testing.T) {
	b := open(t, example(t, "csi-end-to-end"), look{calm: true})
	all := eval[int](b, `Number(document.querySelector("input[type=range]").max)`)
	b.press("/")
	b.is(`document.activeElement.type === "search"`)
	eval[string](b, `document.activeElement.value = ""`) // the driver types what the page has refused
	b.press("nodestage" + kb.Enter)
	b.is(`document.querySelector(".row.current .line2").textContent === "NodeStageVolume: OK"`)
	b.is(`document.querySelector(".hits").textContent.startsWith("1 step")`)
	b.press(kb.Escape)
	b.click(`button[title="Show only some actors or objects"]`)
	b.click(`.choices input[name="PV controller"]`)
	b.until(fmt.Sprintf(`Number(document.querySelector("input[type=range]").max) < %d`, all))
	b.is(`[...document.querySelectorAll(".row .who:first-child")].every((who) => who.textContent === "PV controller")`)
	b.click(named("Show all actors"))
	b.until(fmt.Sprintf(`Number(document.querySelector("input[type=range]").max) === %d`, all))
}

func TestDetailsAreFoldedUnlessAskedFor(t *testing.T) {
	b := open(t, example(t, "csi-end-to-end"), look{calm: true})
	folded := eval[int](b, `Number(document.querySelector("input[type=range]").max)`)
	b.click(`button[title^="Show heartbeats"]`)
	b.until(fmt.Sprintf(`Number(document.querySelector("input[type=range]").max) > %d`, folded))
	b.click(`button[title^="Show heartbeats"]`)
	b.until(fmt.Sprintf(`Number(document.querySelector("input[type=range]").max) === %d`, folded))
	b.click(".unfold")
	b.until(fmt.Sprintf(`Number(document.querySelector("input[type=range]").max) > %d`, folded))
}

// The address has the record's number, which stays the same whatever is shown; the player counts what is shown.
func TestThePlayerSaysWhichRecordOfTheLogAStepIs(t *testing.T) {
	b := open(t, example(t, "csi-end-to-end"), look{hash: "#step=46"})
	b.is(`document.querySelector(".place").title.endsWith("record 46 of the log, as the address has it: #step=46")`)
	b.is(`!document.querySelector(".place").textContent.startsWith("46 ")`)
}

func TestALongNameOfAnActorLeavesRoomForTheObjectAndIsSaidWhole(t *testing.T) {
	const node = "ip-10-0-131-252.with-a-long-zone.compute.internal"
	file := withModel(t, func(m model) {
		for _, lane := range m["lanes"].([]any) {
			if lane := lane.(model); lane["kind"] == "scheduler" {
				lane["node"] = node
			}
		}
	})
	b := open(t, file, look{hash: "#step=8"})
	const rows = `[...document.querySelectorAll(".row")].filter((row) => row.querySelector(".who").textContent.includes("` + node + `"))`
	b.is(rows + `.length > 0 && ` + rows + `.every((row) => row.querySelector(".row-button").title.includes("` + node + `"))`)
	const cut = rows + `.map((row) => row.querySelector(".chip")).filter((chip) => chip && chip.scrollWidth > chip.clientWidth).length`
	b.is(cut + " === 0")
}

func TestGuessFirstHidesWhatComesNext(t *testing.T) {
	b := open(t, example(t, "static-binding"), look{hash: "#step=7"})
	const visible = `[...document.querySelectorAll(".row")].filter((r) => getComputedStyle(r).visibility === "visible").length`
	b.click(`button[title^="Hide what comes next"]`)
	b.is(visible + " === 4")
	b.is(`getComputedStyle(document.querySelector(".ask")).visibility === "visible"`)
	b.click(".ask button")
	b.is(visible + " === 5")
}

func TestButtonsCopyTheLineOfAStory(t *testing.T) {
	b := open(t, example(t, "static-binding"), look{hash: "#step=8"})
	b.click(named("Copy: crash here"))
	b.until(`document.querySelector(".said").textContent.includes("crash persistent-volume-binder before update persistentvolumes nfs-pv")`)
	b.click(named("Copy: as a Go test"))
	b.until(`[...document.querySelectorAll(".said")].some((said) => said.textContent.includes('engine.Fault{Actor: "persistent-volume-binder", Verb: "update", ` +
		`Resource: "persistentvolumes", Name: "nfs-pv", Crash: true}'))`)
}

// Deliveries are details, whose arrows the cursor's write has.
func TestAWriteShowsWhoSeesItLater(t *testing.T) {
	file := withModel(t, func(m model) {
		steps := m["steps"].([]any)
		write := slices.IndexFunc(steps, func(s any) bool { return s.(model)["n"] == 8.0 && s.(model)["kind"] == "write" })
		for lane := range 2 {
			steps = append(steps, model{"n": 8, "t": 300000, "lane": 1 + lane, "kind": "delivery", "text": "", "detail": true,
				"delivery": model{"rv": 13, "resource": "persistentvolumes", "of": write}})
		}
		m["steps"] = append(steps, model{"n": 1002, "t": 300000, "lane": 1, "kind": "other", "text": "is done"})
	})
	b := open(t, file, look{hash: "#step=8"})
	b.is(`document.querySelector(".row.current .line2").textContent.startsWith("claimRef: nfs-pvc")`)
	b.is(`document.querySelectorAll(".seen").length >= 2`)
	b.is(`document.querySelector(".detail-pane").innerText.includes("PV controller, 5 min later")`)
}

func TestWithoutJavaScriptThePageIsATable(t *testing.T) {
	b := open(t, example(t, "static-binding"), look{noScript: true})
	b.is(`document.querySelectorAll("table tr").length > 40`)
	b.is(`document.querySelector("table").innerText.includes("takes pv nfs-pv, the smallest that fits")`)
}

func TestEverythingThatCanBeUsedHasAName(t *testing.T) {
	b := open(t, example(t, "csi-end-to-end"), look{hash: "#step=61"})
	b.click(`button[title="Show only some actors or objects"]`)
	nodes := call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes
	roles := map[string]int{}
	for _, node := range nodes {
		if node.Ignored || node.Role == nil {
			continue
		}
		role := strings.Trim(string(node.Role.Value), `"`)
		switch role {
		case "button", "slider", "searchbox", "checkbox", "combobox", "link", "region", "list", "toolbar", "image":
			roles[role]++
			if node.Name == nil || strings.Trim(string(node.Name.Value), `" `) == "" {
				t.Errorf("a %s has no name (node %d)", role, node.BackendDOMNodeID)
			}
		}
	}
	for _, role := range []string{"button", "slider", "searchbox", "checkbox", "combobox"} {
		if roles[role] == 0 {
			t.Errorf("no %s was seen among %d nodes", role, len(nodes))
		}
	}
}

// Names and values of users are text wherever they stand.
func TestHostileValuesAreText(t *testing.T) {
	const hostile = "<img src=https://example.com/x onerror=alert(1)>\u202e<script>document.title='owned'</script>"
	file := withModel(t, func(m model) { m["title"] = hostile; poison(m, hostile) })
	b := open(t, file, look{calm: true})
	for range 12 {
		b.press(kb.ArrowRight)
	}
	b.click(`button[title="Show only some actors or objects"]`)
	b.is(`document.querySelectorAll("#app img, #app script").length === 0 && document.title !== "owned"`)
	b.is(`document.querySelector("h1").textContent.includes("<img src=https://example.com/x") && !document.querySelector("h1").textContent.includes("\u202e")`)
	b.is(`document.querySelectorAll(".row").length > 5`)
}

// poison puts a text in place of every string that is free.
func poison(value any, text string) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if _, ok := inner.(string); ok && !strings.Contains(" schema kind path verb op start release ", " "+key+" ") {
				v[key] = text
			} else {
				poison(inner, text)
			}
		}
	case []any:
		for i, inner := range v {
			if _, ok := inner.(string); ok {
				v[i] = text
			} else {
				poison(inner, text)
			}
		}
	}
}

// many gives a page n steps more: updates of an annotation.
func many(n int) func(model) {
	return func(m model) {
		steps := m["steps"].([]any)
		last := steps[len(steps)-1].(model)
		for i := range n {
			steps = append(steps, model{
				"n": last["n"].(float64) + float64(i+1), "t": last["t"].(float64) + float64(100*i), "lane": 1, "kind": "write",
				"text": fmt.Sprintf("updates pv nfs-pv: turn = %d", i), "about": 0,
				"write": model{"verb": "update", "rv": 1000 + i, "changes": []any{model{"path": "/metadata/annotations/turn", "value": fmt.Sprint(i)}}},
			})
		}
		m["steps"] = steps
	}
}

func TestManyNodesShareALaneAndStoppedActorsAreGrey(t *testing.T) {
	b := open(t, withModel(t, func(m model) {
		lanes, steps := m["lanes"].([]any), m["steps"].([]any)
		for i := range 50 {
			name := fmt.Sprintf("other-%d", i)
			lanes = append(lanes, model{"id": "kubelet/" + name, "name": "kubelet", "kind": "kubelet", "node": name})
			steps = append(steps, model{"n": 2000 + i, "t": 300000, "lane": len(lanes) - 1, "kind": "other", "text": "is there"})
		}
		steps = append(steps, model{"n": 3000, "t": 300000, "lane": 1, "kind": "down", "text": "is stopped"},
			model{"n": 3001, "t": 301000, "lane": 1, "kind": "up", "text": "starts again"})
		m["lanes"], m["steps"] = lanes, steps
	}), look{hash: "#step=3000"})
	b.is(`[...document.querySelectorAll(".col")].some((column) => column.textContent === "51 kubelets")`)
	b.is(`document.querySelectorAll(".row.current .lane").length < 8`)
	b.is(`document.querySelectorAll(".row.current .lane.down").length === 1`)
	b.press(kb.ArrowRight)
	b.is(`document.querySelectorAll(".row.current .lane.down").length === 0`)
}

func TestFiveThousandRecordsOpenAndMoreAreCounted(t *testing.T) {
	b := open(t, withModel(t, many(5000)), look{calm: true})
	t.Logf("5,000 records: %.0f ms from the beginning to the first picture", eval[float64](b, firstPicture))
	b.is(`document.querySelectorAll(".row").length < 100`)
	b.press(kb.End)
	b.until(place + " === 5000")
	t.Logf("5,000 records: %.1f ms from a key to the picture", eval[float64](b, stepTime))
	b.is(`[...document.querySelectorAll("button")].some((button) => button.textContent === "39 more steps: show the next 5,000")`)
}

// The pictures are for people; the figures are said, and no machine must reach them.
func TestPictures(t *testing.T) {
	for _, shot := range []struct {
		name, example string
		look          look
		click         string
	}{
		{"two-pointers", "static-binding", look{hash: "#step=8"}, ""},
		{"bound", "static-binding", look{hash: "#step=10"}, ""},
		{"mount-fails", "static-binding", look{hash: "#step=19", dark: true}, ""},
		{"csi-mount", "csi-end-to-end", look{hash: "#step=59"}, ""},
		{"csi-one-object", "csi-end-to-end", look{hash: "#step=47"}, ".card.o-va"},
		{"key", "csi-end-to-end", look{hash: "#step=28"}, `button[title="What the signs mean"]`},
		{"node-dies", "node-failure", look{hash: "#step=238"}, ""},
		{"small-and-dark", "node-failure", look{hash: "#step=260", width: 800, height: 600, dark: true}, ""},
	} {
		t.Run(shot.name, func(t *testing.T) {
			shot.look.calm = true // else colours would be changing
			b := open(t, example(t, shot.example), shot.look)
			if shot.click != "" {
				b.click(shot.click)
			}
			t.Logf("%.0f ms to the first picture, %.1f ms from a key to the picture", eval[float64](b, firstPicture), eval[float64](b, stepTime))
			b.press(kb.ArrowRight)
			picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			if len(picture) < 10_000 {
				t.Errorf("the picture has %d bytes", len(picture))
			}
			if folder := os.Getenv("STORAGESIM_SHOTS"); folder != "" {
				if err := os.WriteFile(filepath.Join(folder, shot.name+".png"), small(t, picture), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestALessonStopsAtItsNotes(t *testing.T) {
	file := withModel(t, func(m model) {
		steps := m["steps"].([]any)[:3]
		for _, s := range steps {
			s.(model)["text"], s.(model)["detail"] = "x", false // short sentences do not stand long
		}
		m["steps"] = steps
		m["chapters"] = []any{model{"step": 1, "title": "Who acts next?", "stop": true}, model{"step": 3, "title": "That was all.", "stop": true}}
	})
	b := open(t, file, look{calm: true})
	const note = `document.querySelector(".sentence.note")?.textContent`
	b.click(".play")
	b.until(note + ` === "Who acts next?"`)
	b.is(place + ` === 1 && document.querySelector(".play").textContent === "Play"`)
	b.click(".play")
	b.until(note + ` === "That was all."`)
	b.is(place + ` === 3`)
	shot(b, "lesson")
}

func TestASmallScreenHasRoomForTheWordsAndTheKey(t *testing.T) {
	b := open(t, example(t, "csi-end-to-end"), look{calm: true, width: 390, height: 844})
	b.is(`document.querySelector(".row .line2").getBoundingClientRect().width >= 100`)
	for _, title := range []string{"What the signs mean", "Show only some actors or objects"} {
		b.click(`button[title="` + title + `"]`)
		b.is(`[document.querySelector(".popover:not([hidden])").getBoundingClientRect()].every((box) => box.left >= 0 && box.right <= innerWidth)`)
		b.press(kb.Escape)
	}

	low := open(t, example(t, "csi-end-to-end"), look{calm: true, width: 700, height: 450})
	low.is(`document.querySelector(".list").getBoundingClientRect().bottom - document.querySelector(".scroll").getBoundingClientRect().top > 170`)
}

// What scrolls would be cut off on paper, and no reader can open it there.
func TestPaperHasTheWholeTable(t *testing.T) {
	b := open(t, example(t, "static-binding"), look{calm: true})
	b.is(`getComputedStyle(document.querySelector(".paper")).display === "none"`)
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	b.is(`getComputedStyle(document.querySelector("#app")).display === "none"`)
	b.is(`document.querySelector(".paper").getBoundingClientRect().height > 1000 && getComputedStyle(document.body).overflow === "visible"`)
	b.is(`document.querySelectorAll(".paper tbody tr").length > 30`)
}

func TestTheKeyHasEachSignOfAStory(t *testing.T) {
	b := open(t, example(t, "csi-end-to-end"), look{calm: true})
	b.click(`button[title="What the signs mean"]`)
	for _, kind := range []string{"write", "event", "decision", "call", "retry", "down", "up", "fault", "mount", "command", "file", "delivery", "gap"} {
		b.is(`document.querySelector(".key .s-` + kind + `") !== null`)
	}
}

// "kubelet node-1" stood as "kubelet node-" and "1", touching the name beside it.
func TestNoWordOfALanesNameIsDivided(t *testing.T) {
	const words = `[...document.querySelectorAll(".lanes-head .col")].flatMap((name) => {
		const found = [], texts = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
		for (let text; (text = texts.nextNode());) for (const word of text.data.matchAll(/\S+/g)) {
			const range = document.createRange();
			range.setStart(text, word.index), range.setEnd(text, word.index + word[0].length);
			found.push(range);
		}
		return found;
	})`
	program, err := command()
	if err != nil {
		t.Fatal(err)
	}
	page, err := exec.Command(program, "story", filepath.Join(root(t), "story", "testdata", "multi_attach.txt"), "-o", "html").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, page, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int64{1000, 1200, 1400} {
		b := open(t, file, look{calm: true, width: width, height: 900})
		b.is(words + `.length > 6`)
		b.is(words + `.every((word) => word.getClientRects().length === 1)`)
	}
}
