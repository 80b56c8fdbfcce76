import { describe, test } from 'vitest'
import { linesOf } from './everyday-hands.ts'
import { any, attackDatabases, attackHands, user } from './attack3-hands.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, read, write } from './hands.ts'

const code = `import os
import sys

def main():
    if len(sys.argv) > 1:
        print("one argument")
    }

def other():
    if os.environ:
        print("an environment")
    }
`

describe.each(attackDatabases)('attack: edits in sequence, on %s', (database) => {
  const { say, exec, sh, put, exact, soft, takeBack, talk, branch } = attackHands(database)

  test('three agents append one after the other', async () => {
    const a = await say(write('f', linesOf('a', 3)))
    const b = await say(edit('f', 'line 3 that a is made of\n', 'line 3 that a is made of\nsecond agent was here\n'))
    const c = await say(edit('f', 'second agent was here\n', 'second agent was here\nthird agent was here\n'))
    await exact('f', { '1-3': a, 4: b, 5: c })
  })
  test('an agent re-indents a block', async () => {
    const a = await say(write('f.py', 'if x:\n    one()\n    two()\nend()\n'))
    const b = await say(edit('f.py', '    one()\n    two()\n', '        one()\n        two()\n'))
    await exact('f.py', { 1: a, '2-3': b, 4: a })
  })
  test('an agent wraps a block in a condition and re-indents', async () => {
    const a = await say(write('f.ts', 'alpha()\nbeta()\ngamma()\n'))
    const b = await say(write('f.ts', 'if (x) {\n  alpha()\n  beta()\n}\ngamma()\n'))
    await exact('f.ts', { '1-4': b, 5: a })
  })
  test('an agent deletes a line and another adds it again', async () => {
    const a = await say(write('f', linesOf('a', 5)))
    await say(edit('f', 'line 3 that a is made of\n', ''))
    const c = await say(edit('f', 'line 2 that a is made of\n', 'line 2 that a is made of\nline 3 that a is made of\n'))
    await exact('f', { '1-2': a, 3: c, '4-5': a })
  })
  test('an agent moves a function by two edits, another one edits in it', async () => {
    const a = await say(write('f', linesOf('a', 4) + linesOf('b', 4)))
    const b = await say(edit('f', linesOf('a', 4), ''), edit('f', linesOf('b', 4), linesOf('b', 4) + linesOf('a', 4)))
    const c = await say(edit('f', 'line 2 that a is', 'line two that a is'))
    await exact('f', { '1-4': a, 6: c })
    await soft('f', { 5: [a, b], '7-8': [a, b] })
  })
  test('CRLF file edited in the middle', async () => {
    const crlf = linesOf('a', 5).replaceAll('\n', '\r\n')
    const a = await say(write('f', crlf))
    const b = await say(edit('f', 'line 3 that', 'line three that'))
    await exact('f', { '1-2': a, 3: b, '4-5': a })
  })
  test('CRLF file of the user edited by an agent', async () => {
    put('f', linesOf('a', 5).replaceAll('\n', '\r\n'))
    await later()
    const b = await say(edit('f', 'line 3 that', 'line three that'))
    await exact('f', { '1-2': user, 3: b, '4-5': user })
  })
  test('an agent turns LF into CRLF by a command, another edits, a third turns it back', async () => {
    const a = await say(write('f', linesOf('a', 5)))
    const b = await exec("sed -i 's/$/\\r/' f")
    const c = await say(edit('f', 'line 3 that', 'line three that'))
    const d = await exec("sed -i 's/\\r$//' f")
    await soft('f', { '1-2': [a, b, d], 3: [c, d], '4-5': [a, b, d] })
  })
  test('a file without newline at its end gets one more line', async () => {
    const a = await say(write('f', 'the first line\nthe last line'))
    const b = await say(edit('f', 'the last line', 'the last line\nanother last line'))
    await exact('f', { 1: a, 3: b })
    await soft('f', { 2: [a, b] })
  })
  test('a newline at the end is added by hand', async () => {
    const a = await say(write('f', 'the first line\nthe middle line\nthe last line'))
    await later()
    sh('echo >> f')
    await exact('f', { '1-2': a })
    await soft('f', { 3: [a, user] })
  })
  test('a BOM is put in front by hand', async () => {
    const a = await say(write('f', linesOf('a', 4)))
    await later()
    sh("printf '\\xef\\xbb\\xbf' | cat - f > x && cat x > f && rm x")
    await exact('f', { '2-4': a })
    await soft('f', { 1: [a, user] })
  })
  test('a file with BOM, edited by an agent in line 1 and by another in 3', async () => {
    const a = await say(write('f', `\uFEFF${linesOf('a', 4)}`))
    const b = await say(edit('f', 'line 3 that', 'line three that'))
    await exact('f', { '1-2': a, 3: b, 4: a })
  })
  test('an empty file of one run is filled by another', async () => {
    await say(write('f', ''))
    const b = await say(write('f', linesOf('b', 3)))
    await exact('f', { '1-3': b })
  })
  test('an empty file of a command is filled by the user', async () => {
    await exec('touch f')
    await later()
    put('f', linesOf('mine', 3))
    await exact('f', { '1-3': user })
  })
  test('a run empties a file, and another run writes it anew with the same lines', async () => {
    await say(write('f', linesOf('a', 4)))
    await say(write('f', ''))
    const c = await say(write('f', linesOf('a', 4)))
    await exact('f', { '1-4': c })
  })
  test('very long lines', async () => {
    const long = (mark: string) => `${mark} ${'x'.repeat(200_000)}\n`
    const a = await say(write('f', long('one') + long('two') + long('three')))
    const b = await say(edit('f', 'two x', 'TWO x'))
    await later()
    sh("sed -i 's/^three/THREE/' f")
    await exact('f', { 1: a, 2: b, 3: user })
  })
  test('many equal lines, one of which an agent edits', async () => {
    const a = await say(write('f', `${'same line here\n'.repeat(5)}end of them\n`))
    const b = await say(edit('f', 'same line here\nend of them', 'changed line here\nend of them'))
    await exact('f', { '1-4': a, 5: b, 6: a })
  })
  test('an agent adds a copy of an equal line by edit', async () => {
    const a = await say(write('f', 'start\nsame line here\nmiddle\nsame line here\nend\n'))
    const b = await say(edit('f', 'middle\n', 'middle\nsame line here\n'))
    await exact('f', { '1-3': a, 5: a, 6: a })
    await soft('f', { 4: [b] })
  })
  test('braces and blank lines in a new function between two others', async () => {
    const a = await say(write('f.py', code))
    const b = await say(edit('f.py', '\ndef other():', '\ndef new():\n    if sys.path:\n        print("a path")\n    }\n\ndef other():'))
    await exact('f.py', { '1-7': a, '9-11': b, '14-17': a })
    await soft('f.py', { 8: [a, b], 12: b, 13: [a, b] })
  })
  test('braces and blank lines in a new function put in by hand', async () => {
    const a = await say(write('f.py', code))
    await later()
    put('f.py', code.replace('\ndef other():', '\ndef new():\n    if sys.path:\n        print("a path")\n    }\n\ndef other():'))
    await exact('f.py', { '1-6': a, '9-11': user, '14-17': a })
    await soft('f.py', { 7: a, 8: [a, user], 12: [a, user], 13: [a, user] })
  })
  test('a run edits one line back and forth with another', async () => {
    await say(write('f', linesOf('a', 4)))
    await say(edit('f', 'line 2 that', 'line two that'))
    const c = await say(edit('f', 'line two that', 'line 2 that'))
    await say(edit('f', 'line 4 that', 'line four that'))
    await exact('f', { 2: c })
  })
  test('two sessions take turns with writes of the whole file', async () => {
    const a = await say(write('f', linesOf('a', 6)))
    const b = await say(read('f'), write('f', linesOf('a', 6).replace('line 2', 'line two')))
    const c = await say(read('f'), write('f', linesOf('a', 6).replace('line 2', 'line two').replace('line 5', 'line five')))
    await exact('f', { 1: a, 2: b, '3-4': a, 5: c, 6: a })
  })
  test('a run writes a file twice in one turn', async () => {
    const a = await say(write('f', linesOf('a', 4)), write('f', linesOf('b', 4)), edit('f', 'line 2', 'line two'))
    await exact('f', { '1-4': a })
  })
  test('write, command and edit of the same file in one run, another in between', async () => {
    const command = (text: string) => [{ name: 'exec', input: { command: text } }]
    const a = await talk('s1', 'one', [write('f', linesOf('a', 6))], command("sed -i 's/line 2/line two/' f"))
    const b = await talk('s2', 'two', [edit('f', 'line 4', 'line four')], command("sed -i 's/line 5/line five/' f"))
    await exact('f', { '1-3': a, '4-5': b, 6: a })
  })
  test('an agent replaces everything but blank lines', async () => {
    const a = await say(write('f', 'one two\n\nthree four\n\nfive six\n'))
    const b = await say(write('f', 'ein zwei\n\ndrei vier\n\nfünf sechs\n'))
    await exact('f', { 1: b, 3: b, 5: b })
    await soft('f', { 2: [a, b], 4: [a, b] })
  })
  test('a line is moved from the top to the end by one edit over all', async () => {
    const a = await say(write('f', linesOf('a', 5)))
    const lines = linesOf('a', 5).split('\n')
    const b = await say(write('f', `${[...lines.slice(1, 5), lines[0]].join('\n')}\n`))
    await exact('f', { '1-4': a })
    await soft('f', { 5: [a, b] })
  })
  test('trailing whitespace is taken away by hand in some lines', async () => {
    const a = await say(write('f', 'one line of a \ntwo lines of a\nthree lines of a  \nfour lines of a\n'))
    await later()
    sh("sed -i 's/ *$//' f")
    await exact('f', { 2: a, 4: a, 1: user, 3: user })
  })
  test('tabs for spaces by an agent, then a hand edit', async () => {
    const a = await say(write('f', 'top of it\n    one()\n    two()\nend of it\n'))
    const b = await exec("sed -i 's/^    /\\t/' f")
    await later()
    sh("sed -i 's/two()/zwei()/' f")
    await exact('f', { 1: a, 2: b, 3: user, 4: a })
  })
  test('unicode lines that differ by normal form', async () => {
    const a = await say(write('f', 'café one\ncafé two\n日本 three\n'))
    const b = await say(edit('f', 'café two', 'cafe\u0301 two'))
    await exact('f', { 1: a, 2: b, 3: a })
  })
  test('undo of the second of three edits', async () => {
    const a = await say(write('f', linesOf('a', 6)))
    const b = await say(edit('f', 'line 2', 'line two'))
    await takeBack(b)
    const c = await say(edit('f', 'line 5', 'line five'))
    await exact('f', { '1-4': a, 5: c, 6: a })
  })
  test('undo of a rewrite, then the user retypes a line of it', async () => {
    const a = await say(write('f', linesOf('a', 6)))
    const b = await say(edit('f', 'line 2 that', 'line two that'))
    await takeBack(b)
    await later()
    sh("sed -i 's/line 2 that/line two that/; s/line 6/line six/' f")
    await soft('f', { 1: a, 2: [b, user], '3-5': a, 6: user })
    await exact('f', { 1: a, '3-5': a, 6: user })
  })
  test('undo of a new file, then the user makes it with other lines', async () => {
    const a = await say(write('f', linesOf('a', 6)))
    await takeBack(a)
    await later()
    put('f', linesOf('mine', 6))
    await exact('f', { '1-6': user })
  })
  test('undo of a new file, then another run writes the same', async () => {
    const a = await say(write('f', linesOf('a', 6)))
    await takeBack(a)
    const b = await say(write('f', linesOf('a', 6)))
    await exact('f', { '1-6': b })
  })
  test('undo of an edit of the user’s file', async () => {
    put('f', linesOf('mine', 6))
    await later()
    const a = await say(edit('f', 'line 2', 'line two'))
    await takeBack(a)
    await exact('f', { 1: user, '3-6': user })
    await soft('f', { 2: user })
  })
  test('undo of a command that changed two files, and an edit of one', async () => {
    const a = await say(write('f', linesOf('a', 6)), write('g', linesOf('b', 6)))
    const b = await exec("sed -i 's/line 2/line two/' f g")
    await takeBack(b)
    // An undo does not take back what commands changed.
    const c = await say(edit('g', 'line 5', 'line five'))
    await soft('f', { 1: a, 2: [a, b], '3-6': a })
    await soft('g', { 1: a, 2: [a, b], '3-4': a, 5: c, 6: a })
  })
  test('a fork of a session edits what the other branch edits', async () => {
    const a = await talk('one', 'write it', [write('f', linesOf('a', 6))])
    await branch('two', 'one')
    const b = await talk('two', 'edit it there', [edit('f', 'line 2', 'line two')])
    const c = await talk('one', 'edit it here', [edit('f', 'line 5', 'line five')])
    await exact('f', { 1: a, 2: b, '3-4': a, 5: c, 6: a })
  })
  test('a fork writes the same content into another file', async () => {
    const a = await talk('one', 'write it', [write('f', linesOf('a', 6))])
    await branch('two', 'one')
    const b = await talk('two', 'write another', [write('g', linesOf('a', 6))])
    await exact('f', { '1-6': a })
    await exact('g', { '1-6': b })
  })
  test('a fork of a session copies and edits by commands, and the user goes on', async () => {
    const a = await talk('one', 'write it', [write('f', linesOf('a', 6))])
    await branch('two', 'one')
    const b = await talk('two', 'copy it', [{ name: 'exec', input: { command: "cp f g; sed -i 's/line 2/line two/' g" } }])
    await later()
    sh("sed -i 's/line 5/line five/' g")
    await exact('f', { '1-6': a })
    await soft('g', { 1: [a, b], 2: b, '3-4': [a, b], 5: user, 6: [a, b] })
    await exact('g', { 5: user })
  })
  test('a hand edit between two agent edits in the same line', async () => {
    const a = await say(write('f', linesOf('a', 3)))
    await say(edit('f', 'line 2 that', 'line two that'))
    await later()
    sh("sed -i 's/line two that/line zwei that/' f")
    await exact('f', { 1: a, 2: user, 3: a })
    const c = await say(edit('f', 'line zwei that', 'line deux that'))
    await exact('f', { 1: a, 2: c, 3: a })
  })
  test('hand edits before, after and between in twelve lines', async () => {
    const a = await say(write('f', linesOf('a')))
    await later()
    sh("sed -i -e '1i my first line' -e '6a my middle line' -e '$a my last line' f")
    await exact('f', { 1: user, '2-7': a, 8: user, '9-14': a, 15: user })
  })
  test('the user types a new line which is equal to one that stays', async () => {
    const a = await say(write('f', linesOf('a', 4)))
    await later()
    sh('echo "line 2 that a is made of" >> f')
    await exact('f', { '1-4': a })
    await soft('f', { 5: [a, user] })
  })
  test('the user sorts the lines of an agent in an editor', async () => {
    const a = await say(write('f', 'delta line of it\nalpha line of it\ncharlie line of it\nbravo line of it\n'))
    await later()
    sh('sort f > x; cat x > f; rm x')
    await soft('f', { '1-4': [a] })
  })
  test('an agent sorts lines of two agents by a whole write', async () => {
    const a = await say(write('f', 'delta line of it\nalpha line of it\n'))
    const b = await say(edit('f', 'alpha line of it\n', 'alpha line of it\ncharlie line of it\nbravo line of it\n'))
    const c = await say(write('f', 'alpha line of it\nbravo line of it\ncharlie line of it\ndelta line of it\n'))
    await soft('f', { 1: [a, c], 2: [b, c], 3: [b, c], 4: [a, c] })
  })
  test('the user deletes a block, an agent edits elsewhere, the user brings the block back by undo', async () => {
    const a = await say(write('f', linesOf('a', 10)))
    await later()
    sh("sed -i '4,6d' f")
    await later()
    const b = await say(edit('f', 'line 9', 'line nine'))
    await later()
    put('f', linesOf('a', 10).replace('line 9', 'line nine'))
    await soft('f', { '1-3': a, '4-6': a, '7-8': a, 9: b, 10: a })
    await exact('f', { '1-3': a, 9: b, 10: a })
  })
  test('the user writes a block, deletes it while an agent edits, and puts it back', async () => {
    const a = await say(write('f', linesOf('a', 4)))
    await later()
    put('f', linesOf('a', 4) + linesOf('mine', 3))
    await later()
    const b = await say(edit('f', 'line 2 that a', 'line two that a'))
    await later()
    put('f', linesOf('a', 4).replace('line 2', 'line two'))
    await exec('true')
    await later()
    put('f', linesOf('a', 4).replace('line 2', 'line two') + linesOf('mine', 3))
    await soft('f', { 1: a, 2: b, '3-4': a, '5-7': user })
    await exact('f', { 1: a, 2: b })
  })
  test('an agent removes the user’s block and another one writes it again by itself', async () => {
    put('f', linesOf('mine', 8))
    await later()
    const a = await say(edit('f', linesOf('mine', 3), ''))
    const b = await say(edit('f', 'line 4 that mine', `${linesOf('mine', 3)}line 4 that mine`))
    await exact('f', { '1-3': b, '4-8': any })
    await soft('f', { 4: [user, b], '5-8': user })
    void a
  })
  test('a one-line file of each of two runs', async () => {
    await say(write('VERSION', '1.0.0\n'))
    const b = await say(write('VERSION', '1.0.1\n'))
    await exact('VERSION', { 1: b })
    await later()
    put('VERSION', '1.0.2\n')
    await exact('VERSION', { 1: user })
  })
  test('a one-line file which the user sets back', async () => {
    const a = await say(write('VERSION', '1.0.0\n'))
    await say(write('VERSION', '1.0.1\n'))
    await later()
    put('VERSION', '1.0.0\n')
    await soft('VERSION', { 1: [a, user] })
  })
  test('an agent removes a file and another writes one with the name', async () => {
    await say(write('f', linesOf('a', 5)))
    await exec('rm f')
    const c = await say(write('f', linesOf('c', 5)))
    await exact('f', { '1-5': c })
  })
  test('the user removes a file and another agent writes one with half of the lines', async () => {
    await say(write('f', linesOf('a', 6)))
    await later()
    sh('rm f')
    await later()
    const c = await say(write('f', linesOf('a', 3) + linesOf('c', 3)))
    await exact('f', { '1-6': c })
  })
  test('lines with carriage returns inside and form feeds', async () => {
    const a = await say(write('f', 'one\rtwo of a\nthree\ffour of a\nfive\u2028six of a\n'))
    const b = await say(edit('f', 'three', 'drei'))
    await exact('f', { 1: a, 2: b, 3: a })
  })
  test('a file of 3000 lines with 30 edits by six runs', async () => {
    const a = await say(write('f', linesOf('a', 3000)))
    const runs: string[] = []
    for (let run = 0; run < 6; run++)
      runs.push(await say(...Array.from({ length: 5 }, (_, at) => edit('f', `line ${100 * (run * 5 + at + 1)} that`, `line ${100 * (run * 5 + at + 1)} which`))))
    await later()
    sh("sed -i '50d' f")
    for (let run = 0; run < 6; run++) await exact('f', { [100 * (run * 5 + 3) - 1]: runs[run] ?? '', [100 * (run * 5 + 3)]: a })
  })
})
