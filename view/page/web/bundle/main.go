// Command bundle makes the script and the style of a story's page, which package view/page embeds, from the TypeScript in ../src.
//
//	go run .                writes ../../assets/page.js and page.css
//	go run . -o FOLDER      writes them into FOLDER, for a comparison
//
// It is a module of its own, so that nothing else depends on esbuild.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	out := flag.String("o", filepath.Join("..", "..", "assets"), "the folder to write into")
	flag.Parse()
	if err := write(filepath.Join("..", "src"), *out); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// write makes one script of main.ts and all it imports, and one style, and writes both into a folder.
func write(src, folder string) error {
	result := api.Build(api.BuildOptions{
		EntryPointsAdvanced: []api.EntryPoint{
			{InputPath: filepath.Join(src, "main.ts"), OutputPath: "page"},
			{InputPath: filepath.Join(src, "page.css"), OutputPath: "page"},
		},
		Outdir:            folder,
		Bundle:            true,
		MinifyWhitespace:  true,
		MinifySyntax:      true,
		MinifyIdentifiers: true,
		Format:            api.FormatIIFE,
		Target:            api.ES2022,
		Charset:           api.CharsetASCII,
		LegalComments:     api.LegalCommentsNone,
		LogLevel:          api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return errors.New("the TypeScript has errors")
	}
	for _, file := range result.OutputFiles {
		if bytes.Contains(file.Contents, []byte("</script")) || bytes.Contains(file.Contents, []byte("</style")) {
			return fmt.Errorf("%s would end its element in the page", filepath.Base(file.Path))
		}
		if err := os.WriteFile(file.Path, file.Contents, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d bytes\n", filepath.Base(file.Path), len(file.Contents))
	}
	return nil
}
