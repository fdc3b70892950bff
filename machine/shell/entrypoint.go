package shell

// Entrypoint stands for a program of an image. All that is known is that it runs for
// ever; or that it ends at once, where others wait for that.
func Entrypoint(endsAtOnce bool) Command {
	return func(p *Process) error {
		does := map[bool]string{true: "ends at once", false: "just runs"}[endsAtOnce]
		p.program.note("runs %s, a program of its image, of which nothing is known here; it %s", p.Argv[0], does)
		p.program.ofImage = p.program.ofImage || p.first && !endsAtOnce
		for !endsAtOnce {
			p.Sleep(Forever)
		}
		return nil
	}
}
