// Command check compares docs/items.txt with the source documents, which are no part of the project: their hashes, and
// whether each line of them belongs to an item, and what they show
// of commands with the transcripts of tests. Without the documents it prints NOT CHECKED. It is started in the root of
// the repository.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/storagesim/storagesim/internal/items"
)

func main() {
	folder := flag.String("documents", os.Getenv("STORAGESIM_DOCUMENTS"),
		"the `FOLDER` with the documents; default: the environment variable STORAGESIM_DOCUMENTS")
	flag.Parse()
	if err := run(*folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder string) error {
	text, err := os.ReadFile(items.File)
	if err != nil {
		return err
	}
	list, err := items.Parse(string(text))
	if err != nil {
		return err
	}
	found := map[string][]string{}
	if folder != "" {
		if found, err = list.Find(os.DirFS(folder)); err != nil {
			return err
		}
	}
	wrong := 0
	for _, d := range list.Documents {
		lines, ok := found[d.Name]
		if !ok {
			fmt.Printf("NOT CHECKED: %s (%s is not here)\n", d.Name, d.Title)
			continue
		}
		problems := list.Check(d.Name, lines)
		inCommands, err := list.CheckCommands(os.DirFS("."), d.Name, lines)
		if err != nil {
			return err
		}
		problems = append(problems, inCommands...)
		for _, problem := range problems {
			fmt.Println(problem)
		}
		wrong += len(problems)
		if len(problems) == 0 {
			fmt.Printf("ok: %s\n", d.Name)
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d differences", wrong)
	}
	return nil
}
