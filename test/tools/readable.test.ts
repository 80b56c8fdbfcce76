import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readableText } from '../../src/tools/fetch/readable.ts'
import { visibleText } from '../../src/tools/fetch/visible-text.ts'
import { inTurn, isLong } from '../setup/long.ts'

const read = (html: string, url = 'https://example.com/a/b') => readableText(html, url).text

describe('a page becomes text', () => {
  test('with its title, headings, paragraphs, lists, code, quotes, tables and links', () => {
    const page = `<!doctype html><html><head><title> A &amp;
      B </title><style>p { color: red }</style><script>document.write("<p>script</p>")</script></head><body>
      <ul><li><a href="/">Home</a><li><a href=x.html>X</a></ul>
      <h1>Hello   <a href="#top">World</a></h1><p>Some <b>bold</b> and <a href="../c?q=1&amp;r=(2)"> a
      link</a>, end.<p>Second<br>line <code>x &lt; y</code>. <img src=a alt="a cat">
      <ul><li>one<ul><li>deep<li>deeper</ul><li>two</ul><ol><li>first<li><p>second</p></ol>
<pre><code>function x() {
  return 1

}</code></pre>
      <blockquote><p>quoted</p><p>more</p></blockquote><hr>
      <table><thead><tr><th>A<th>B</tr><tbody><tr><td>1<td><p>2</p></td></tr><tr><td></td><td>4</td></tr></table>
      <dl><dt>term<dd>meaning</dl><div>a</div><div>b</div>`
    expect(read(page)).toBe(`Title: A & B

- [Home](https://example.com/)
- [X](https://example.com/a/x.html)

# Hello World

Some bold and [a link](https://example.com/c?q=1&r=%282%29), end.

Second
line \`x < y\`. [image: a cat]

- one
  - deep
  - deeper
- two

1. first
2. second

\`\`\`
function x() {
  return 1

}
\`\`\`

> quoted
>
> more

---

A | B
1 | 2
| 4

term
meaning

a
b`)
  })

  test.each([
    ['a script that holds tags', '<script>if (a < b) "</p><p>x"</script>y'],
    ['a script in capitals', '<SCRIPT>x</ScRiPt >y'],
    ['a style', '<style>x</style>y'],
    ['a comment', '<!-- x <b>x</b> -->y<!-->y<!--->y<!-- x'],
    ['a declaration', '<!x><?x ?>y'],
    ['what is for those without scripts', '<noscript><p>x</p></noscript>y'],
    ['a template', '<template><p>x<template>x</template>x</p></template>y'],
    ['a drawing', '<svg><title>x</title><text>x</text></svg>y'],
    ['a frame', '<iframe><p>x</p></iframe>y'],
    ['hidden', '<div hidden>x<div>x</div>x</div>y'],
    ['hidden, without an end', '<p hidden>x<p>y<ul><li hidden>x<li>y</ul>'],
    ['hidden by style', '<i style="color:red; DISPLAY : none!important">x</i>y'],
    ['hidden by style, in entities', '<i style="display&colon;none">x</i>y'],
    ['invisible', '<i style="visibility:hidden">x</i><i style="opacity:0">x</i><i style="font-size:0px">x</i>y'],
    ['hidden in a link', '<a href="/z"><span hidden>x</span></a>y'],
    ['the picture of nothing', '<img hidden alt=x><img alt="">y'],
    ['tags that end what never began', '</div></x></p>y</'],
    ['a tag without an end', 'y<a href="x'],
    ['a value with a bracket', '<i title="x>x" alt=\'>x\'>y'],
  ])('without %s', (_, html) => {
    const text = read(html)
    expect(text).not.toContain('x')
    expect(text).toContain('y')
  })

  test.each([
    ['<i style="opacity:0.5">y</i>', 'y'],
    ['a < b, a<3 && b>c &c', 'a < b, a<3 && b>c &c'],
    [
      '&lt;b&gt; &#65;&#x42;&#X43 &eacute;&Eacute; &nbsp;&hellip;&mdash; &bogus; &amp;lt;',
      '<b> ABC éÉ …— &bogus; &lt;',
    ],
    ['&#0;&#xD800;&#x110000;&#99999999999;&#128;', '����€'],
    ['<a href="javascript:alert(1)">y</a> <a href="data:x,y">z</a> <a>w</a>', 'y z w'],
    ['<a href="//other.test/x y">y</a>', '[y](https://other.test/x%20y)'],
    ['<base href="https://base.test/d/"><base href="/no"><a href=e>y</a>', '[y](https://base.test/d/e)'],
    ['<a href=/c><h2>Card</h2><div>of <a href=/d>two</a></div></a>', '[Card of two](https://example.com/c)'],
    [`<a href="/${'x'.repeat(2000)}">y</a>`, 'y'],
    ['<table><tr><td><table><tr><td>a<td>b</table><tr><td><p>c</p><p>d</p></table>', 'a | b\nc\n\nd'],
    ['<textarea><b>y</textarea><xmp><i></xmp>', '<b>y\n<i>'],
    ['<title>first</title><title>second</title>y', 'Title: first\n\ny'],
    ['<a href="/x?a=1&copy=2&lt=3">y</a>', '[y](https://example.com/x?a=1&copy=2&lt=3)'],
    ['&NotEqualTilde;&rarr;&check;&lbrace;x&rbrace;', '≂̸→✓{x}'],
    ['<xmp>&lt;</xmp><textarea>&lt;</textarea>', '&lt;\n<'],
    ['<p>a&nbsp;<a href=/c>&nbsp;b &amp; c</a>', 'a [b & c](https://example.com/c)'],
  ])('%s', (html, text) => {
    expect(read(html)).toBe(text)
  })

  test('however deep its lists and quotes, its lines stay short', () => {
    const text = read(`${'<ul><li>x'.repeat(1000)}${'<blockquote>y'.repeat(1000)}`)
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThan(40)
  })
})

describe('anything whatever is a page', () => {
  const pieces = fc.constantFrom(
    ...[
      '<',
      '>',
      '/',
      '</',
      '<!--',
      '-->',
      '<!',
      '<?',
      '"',
      "'",
      '=',
      ' ',
      '\n',
      '&',
      '&#',
      ';',
      'x',
      'é',
      '\0',
      '\u202e',
    ],
    ...[
      '<a href=',
      '<p>',
      '</p>',
      '<ul>',
      '<li>',
      '</ul>',
      '<table>',
      '<tr>',
      '<td>',
      '</td>',
      '</table>',
      '<pre>',
      '</pre>',
    ],
    ...[
      '<script>',
      '</script>',
      '<title>',
      '</title>',
      '<div hidden>',
      '</div>',
      '<h1>',
      '</a>',
      '<blockquote>',
      '<base href=',
    ],
    ...[
      '<svg>',
      '</svg>',
      '<br>',
      '</br>',
      '<img alt=',
      '<code>',
      '</blockquote>',
      '</code>',
      '</h1>',
      '</li>',
      '</tr>',
    ],
  )

  test('and none makes the reader fail', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(pieces).map((all) => all.join('')),
          fc.string({ unit: 'binary' }),
        ),
        (html) => {
          expect(typeof read(html)).toBe('string')
        },
      ),
      { numRuns: isLong ? 3000 : 1000 },
    )
  })

  test('random bytes too', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
        expect(typeof read(new TextDecoder('windows-1252').decode(bytes))).toBe('string')
      }),
    )
  })

  const endless = [
    ...[
      '<',
      '<a',
      '<a ',
      '</',
      '<!--',
      '<!',
      '<?',
      '&',
      '&amp',
      '&#',
      '"',
      '= ',
      '<a "',
      "<a ='",
      '<p>x',
      '<div>',
      '</div>',
    ],
    ...[
      '<ul><li>x',
      '<blockquote>x',
      '<table><tr><td>x',
      '<a href=x>y</a>',
      '<a href=x>',
      '<b><i>x</b></i>',
      '<pre>\n',
      '<br>',
    ],
    ...[
      '<title>',
      '<script>',
      '<svg>',
      '<div hidden>',
      ' ',
      '\n',
      '&nbsp;',
      '<i style="display:none">',
      '<base href=x>',
      '-->',
    ],
    ...['<p hidden>x', '<h1>', '<td>', '<select><option>x', '<code>', '<a\n', '<a/', 'x '],
    ...['<i> then </b>', '<div hidden> then </b>', '<table> then </td>'],
  ]
  test.each(inTurn(endless, 16))(
    'a megabyte of %j takes less than a second of processor time, and not much more room',
    (given) => {
      const pieces = given.split(' then ')
      const html = pieces.map((piece) => piece.repeat(1_000_000 / pieces.length / piece.length)).join('')
      const timed = () => {
        const begun = process.cpuUsage()
        const text = read(html, `https://example.com/${'long/'.repeat(150)}`)
        expect(text.length).toBeLessThan(2_100_000)
        const { user, system } = process.cpuUsage(begun)
        return (user + system) / 1000
      }
      // Other threads of this process count, too: the best of a few tells.
      let best = timed()
      for (let tries = 0; best > 1000 && tries < 3; tries++) best = Math.min(best, timed())
      expect(best).toBeLessThan(1000)
    },
  )
})

describe('what nobody sees is removed and counted', () => {
  test.each([
    ['controls', 'a\0b\x07c\x1b[31md\x7fe\x9bf', 'abc[31mdef', 5],
    ['marks that turn text around', 'a\u202eb\u2066c\u200fd\u061ce', 'abcde', 4],
    ['characters of no width', 'a\u200bb\u200dc\u2060d\ufeffe\u00adf\u3164g', 'abcdefg', 6],
    ['tags', `a${String.fromCodePoint(0xe0001, 0xe0069, 0xe0067, 0xe006e)}b`, 'ab', 4],
    ['variation selectors', `a\ufe0f${String.fromCodePoint(0xe0100, 0xe01ef)}b`, 'ab', 3],
    ['notes between lines', 'a\ufff9b\ufffac\ufffb', 'abc', 3],
    ['nothing of what is seen', 'tab\tline\nüñ 漢字 עברית 🙂', 'tab\tline\nüñ 漢字 עברית 🙂', 0],
    ['line ends are made alike', 'a\r\nb\rc\u2028d\u0085e', 'a\nb\nc\nd\ne', 0],
  ])('%s', (_, given, text, removed) => {
    expect(visibleText(given)).toEqual({ text, removed })
  })
})
