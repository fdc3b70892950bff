package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/terminal"
	"github.com/storagesim/storagesim/story"
	"github.com/storagesim/storagesim/view"
	"github.com/storagesim/storagesim/view/page"
)

// situationFiles has the prepared situations: a story each, whose first comment is its title and whose next ones introduce it.
//
//go:embed situations/*.txt
var situationFiles embed.FS

// situation is a prepared story.
type situation struct {
	file, title, intro string
	script             string
	lesson             bool // a file of the user, at whose comments the page stops
}

// situations returns all, in order.
func situations() ([]situation, error) {
	entries, err := situationFiles.ReadDir("situations")
	if err != nil {
		return nil, err
	}
	var all []situation
	for _, entry := range entries { // by name, which begins with its number
		data, err := situationFiles.ReadFile("situations/" + entry.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, situationOf(entry.Name(), string(data)))
	}
	return all, nil
}

// situationOf returns the situation of a script: the comment at its top is the title, and what comes after an empty line of it the introduction.
func situationOf(file, script string) situation {
	s := situation{file: file, title: file, script: plainLines(script)}
	head, _ := s.parts()
	if head == "" {
		return s
	}
	title, intro, _ := strings.Cut(head, "\n#\n")
	words := func(comment string) string { return strings.ReplaceAll(strings.TrimLeft(comment, "# "), "\n# ", " ") }
	s.title, s.intro = words(title), words(intro)
	return s
}

// parts returns the comment at the top of the script, and the script with empty lines in its place, so that errors name the file's lines.
// The comment ends with its last line: the first command may follow without an empty line between them.
func (s situation) parts() (head, body string) {
	body = s.script
	for strings.HasPrefix(body, "#") {
		line, rest, _ := strings.Cut(body, "\n")
		head += line + "\n"
		body = rest
	}
	return strings.TrimRight(head, "#\n"), strings.Repeat("\n", strings.Count(head, "\n")) + body
}

// lessonOf reads a story of the user's.
func lessonOf(file string, in io.Reader) (situation, error) {
	script, err := readScript(file, in)
	if err != nil {
		return situation{}, err
	}
	s := situationOf(file, script)
	s.lesson = true
	return s, nil
}

// scriptFormat is the output format of a situation as a script.
const scriptFormat = "script"

func newPage() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "page [NUMBER | all | LESSON.txt]",
		Short: "Show a prepared situation as a page for a browser",
		Long: `page lists the situations that are prepared to be looked at. With the number of one it
writes a page of it: one file for a browser, without a network. "all" writes one page of
all, which begins with the list.

With a story of your own it writes the page of a lesson: the comment at its top is the
title, the other comments are notes, and the page stops at each of them while it plays.

-o script prints a situation as a story, to change it and play it with storagesim story. A
page of your own manifests is written by storagesim run -o html, of your own story by
storagesim story -o html.`,
		Example: `  storagesim page
  storagesim page all > pages.html
  storagesim page 2 > page.html
  storagesim page 2 -o script > mine.txt
  storagesim page mine.txt > lesson.html`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := situations()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				if cmd.Flags().Changed("output") {
					return usageError{fmt.Errorf("-o %s: of which situation? Expected a number or all", output)}
				}
				return listSituations(cmd.OutOrStdout(), all)
			}
			chosen, err := chooseSituation(all, args[0], output, cmd.InOrStdin())
			if err == nil {
				err = checkView(output, cmd.OutOrStdout())
			}
			if err != nil {
				return usageError{err}
			}
			return writeSituations(cmd, chosen, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", html, "`FORMAT` of the output: "+strings.Join(situationFormats(), ", "))
	return cmd
}

func situationFormats() []string { return append(viewFormats(), scriptFormat) }

// chooseSituation returns the situations that a word of the command line names.
func chooseSituation(all []situation, word, output string, in io.Reader) ([]situation, error) {
	if !slices.Contains(situationFormats(), output) {
		return nil, fmt.Errorf("-o: unknown format %q%s", output, prose.OneOf(output, situationFormats()))
	}
	if word == "all" {
		if output != html {
			return nil, fmt.Errorf("-o %s: it shows one situation; name one by its number", output)
		}
		return all, nil
	}
	n, err := strconv.Atoi(word)
	if err != nil {
		lesson, err := lessonOf(word, in)
		return []situation{lesson}, err
	}
	if n < 1 || n > len(all) {
		return nil, fmt.Errorf("there is no situation %q; expected 1 to %d, all, or the file of a story", word, len(all))
	}
	return all[n-1 : n], nil
}

func listSituations(out io.Writer, all []situation) error {
	var b strings.Builder
	for i, s := range all {
		b.WriteString(prose.Wrap(fmt.Sprintf("%d  %s\n   %s\n", i+1, s.title, s.intro), terminal.Width(out), 0))
	}
	b.WriteString("\nstoragesim page all > pages.html writes a page of all for a browser, storagesim page 2 > page.html that of one.\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// writeSituations writes one situation in a format, or the page of several.
func writeSituations(cmd *cobra.Command, chosen []situation, output string) error {
	if output == scriptFormat {
		_, err := io.WriteString(cmd.OutOrStdout(), chosen[0].script)
		return err
	}
	var pages []view.Page
	for _, s := range chosen {
		p, err := s.page(cmd)
		if err != nil {
			return err
		}
		pages = append(pages, p)
	}
	if len(pages) > 1 {
		return page.WriteAll(cmd.OutOrStdout(), "Five situations of Kubernetes storage", pages)
	}
	return writeView(cmd.OutOrStdout(), pages[0], output)
}

// page plays the story of a situation.
func (s situation) page(cmd *cobra.Command) (p view.Page, err error) {
	number, _, _ := strings.Cut(s.file, "-")
	repeat := fmt.Sprintf("storagesim page %s -o script | storagesim story -", number)
	if s.lesson {
		repeat = quoted([]string{"storagesim", "story", s.file})
	}
	_, body := s.parts() // its head is the page's title and introduction
	err = watched(cmd.Context(), s.file, body, s.lesson, story.Options{}, view.Options{Title: s.title, Intro: s.intro, Repeat: repeat},
		func(made view.Page) error {
			p = made
			return nil
		})
	if p.Schema == "" && err == nil {
		err = errors.New(s.file + " makes no cluster")
	}
	return p, err
}
