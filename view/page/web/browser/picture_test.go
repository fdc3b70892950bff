package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"slices"
	"testing"
)

// small returns a picture with 256 colours: the most frequent ones that differ, and for every other the nearest of them. Such a PNG has a third of the size.
func small(t *testing.T, picture []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	count := map[color.RGBA]int{}
	pixels(from, func(_, _ int, c color.RGBA) { count[c]++ })
	colours := make([]color.RGBA, 0, len(count))
	for c := range count {
		colours = append(colours, c)
	}
	number := func(c color.RGBA) uint32 { return uint32(c.R)<<16 | uint32(c.G)<<8 | uint32(c.B) }
	slices.SortFunc(colours, func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(number(a), number(b)))
	})
	var palette color.Palette
	for _, c := range colours {
		if len(palette) < 256 && !slices.ContainsFunc(palette, func(other color.Color) bool { return near(c, other) }) { // so that a small sign keeps its colour
			palette = append(palette, c)
		}
	}
	nearest := map[color.RGBA]uint8{}
	for _, c := range colours {
		nearest[c] = uint8(palette.Index(c))
	}
	to := image.NewPaletted(from.Bounds(), palette)
	pixels(from, func(x, y int, c color.RGBA) { to.SetColorIndex(x, y, nearest[c]) })
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// near reports whether two colours look the same.
func near(a color.RGBA, b color.Color) bool {
	c := color.RGBAModel.Convert(b).(color.RGBA)
	differ := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return differ(a.R, c.R)+differ(a.G, c.G)+differ(a.B, c.B) < 12
}

// pixels calls a function with each pixel of a picture without transparency.
func pixels(picture image.Image, each func(x, y int, c color.RGBA)) {
	b := picture.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			each(x, y, color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA))
		}
	}
}
