import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cancel } from '../../../src/engine/run/cancel.ts'
import { findRun } from '../../../src/store/rows/runs.ts'
import { untilSo } from '../../setup/until.ts'
import { write } from '../hands.ts'
import type { Deeds, Ground } from './ground.ts'
import { byOne, createdFile, shortFile, type TrueFile, textOf } from './true-file.ts'
import { type Author, afterCommand, hand, newLines, observe, type Redraft, redraft, writtenIfShort } from './truth.ts'

/** What commands do. */
export function commandDeeds(ground: Ground): Deeds {
  const {
    hands,
    folder,
    engine,
    chance,
    stage,
    files,
    unseen,
    plans,
    nextNumber,
    some,
    fresh,
    say,
    exec,
    survey,
    commandFor,
    become,
    asWritten,
    nextOf,
    byRun,
  } = ground
  return {
    async 'a command creates'() {
      const path = fresh()
      const file = createdFile(chance, '')
      become(path, byOne(file, await exec(commandFor(path, file))))
      return path
    },
    async 'a command changes'() {
      const path = some() as string
      const was = files.get(path) as TrueFile
      const { next, end, how } = nextOf(path)
      const runId = await exec(commandFor(path, asWritten(path, next, end)))
      become(path, { end, lines: afterCommand(was.lines, next, runId) })
      return `${path} ${how}`
    },
    async 'a command moves'() {
      const [from, to] = [some() as string, chance(4) === 0 ? (some() as string) : fresh()]
      if (from === to) return 'not: the same'
      const was = files.get(from) as TrueFile
      const same: Redraft = was.lines.map(({ text }, at) => ({ text, from: at }))
      const adds = chance(3) === 0
      const rewrites = chance(4) === 0
      const added = { text: newLines(chance, 1)[0] ?? '', from: -1 }
      const next = adds ? [...same, added] : rewrites ? redraft(chance, was.lines) : same
      const more = adds
        ? ` && printf '%s${was.end === '\n' ? '\\n' : '\\r\\n'}' '${added.text}' >> '${to}'`
        : rewrites
          ? ` && ${commandFor(to, { lines: observe(was.lines, next, hand), end: was.end })}`
          : ''
      const runId = await exec(`mkdir -p '${dirname(to)}' && mv '${from}' '${to}'${more}`)
      become(to, byRun(was, runId, was.lines, next))
      become(from, undefined)
      return `${from} to ${to}${adds ? ', and adds a line' : rewrites ? ', and changes it' : ''}`
    },
    async 'a command appends'() {
      const [from, to] = [some() as string, some() as string]
      if (from === to) return 'not: the same'
      const [was, other] = [files.get(from) as TrueFile, files.get(to) as TrueFile]
      if (was.end !== other.end) return 'not: other line ends'
      await exec(`cat '${from}' >> '${to}' && rm '${from}'`)
      become(to, { ...other, lines: [...other.lines, ...was.lines] })
      become(from, undefined)
      return `${from} to ${to}, and removes it`
    },
    async 'a command cuts'() {
      const [from, to] = [some() as string, chance(2) === 0 ? (some() as string) : fresh()]
      const was = files.get(from) as TrueFile
      const other = files.get(to) ?? { lines: [], end: was.end }
      const [start, count] = [chance(was.lines.length), 1 + chance(6)]
      const cut = was.lines.slice(start, start + count)
      if (from === to || was.end !== other.end || cut.length === was.lines.length) return 'not: the same, or all of it'
      const range = `${start + 1},${start + cut.length}`
      const runId = await exec(
        `mkdir -p '${dirname(to)}' && sed -n '${range}p' '${from}' >> '${to}' && sed -i '${range}d' '${from}'`,
      )
      const next = was.lines.flatMap(({ text }, at) =>
        at < start || at >= start + cut.length ? { text, from: at } : [],
      )
      become(from, { ...was, lines: afterCommand(was.lines, next, runId) })
      become(to, { ...other, lines: [...other.lines, ...writtenIfShort(cut, runId)] })
      return `lines ${range} of ${from}, and puts them into ${to}`
    },
    async 'a command sorts'() {
      const path = some() as string
      const was = files.get(path) as TrueFile
      const runId = await exec(`LC_ALL=C sort -o '${path}' '${path}'`)
      const texts = readFileSync(join(folder, path), 'utf8').split(was.end).slice(0, -1)
      const next = texts.map((text) => ({ text, from: was.lines.findIndex((line) => line.text === text) }))
      become(path, { ...was, lines: afterCommand(was.lines, next, runId) })
      return path
    },
    async 'a command joins'() {
      const [one, other, to] = [some() as string, some() as string, fresh()]
      const [first, second] = [files.get(one) as TrueFile, files.get(other) as TrueFile]
      if (one === other || first.end !== second.end) return 'not: the same, or other line ends'
      await exec(`mkdir -p '${dirname(to)}' && cat '${one}' '${other}' > '${to}' && rm '${one}' '${other}'`)
      become(to, { ...first, lines: [...first.lines, ...second.lines] })
      become(one, undefined)
      become(other, undefined)
      return `${one} and ${other} as ${to}`
    },
    async 'a command copies'() {
      const [from, to] = [some() as string, fresh()]
      const was = files.get(from) as TrueFile
      const runId = await exec(`mkdir -p '${dirname(to)}' && cp '${from}' '${to}'`)
      become(to, {
        ...was,
        lines: was.lines.map((line) => ({ ...line, carriers: new Set([...line.carriers, runId]) })),
      })
      return `${from} to ${to}`
    },
    async 'a command removes'() {
      const path = some() as string
      const was = files.get(path) as TrueFile
      await exec(`rm '${path}'`)
      become(path, undefined)
      if (chance(2) === 0) return path
      const authors = new Set([await say([write(path, textOf(was))])])
      become(path, { ...was, lines: was.lines.map(({ text }) => ({ text, authors, carriers: new Set() })) })
      return `${path}, and an agent writes the same again`
    },
    async 'a command swaps'() {
      const [one, other] = [some() as string, some() as string]
      const [first, second] = [files.get(one) as TrueFile, files.get(other) as TrueFile]
      if (one === other || textOf(first) === textOf(second)) return 'not: the same'
      await exec(
        `mv '${one}' '${join(stage, 'swapped')}' && mv '${other}' '${one}' && mv '${join(stage, 'swapped')}' '${other}'`,
      )
      become(one, second)
      become(other, first)
      return `${one} and ${other}`
    },
    async 'a command rotates'() {
      const [path, older] = [some() as string, fresh()]
      const was = files.get(path) as TrueFile
      const file = createdFile(chance, '')
      const runId = await exec(`mkdir -p '${dirname(older)}' && mv '${path}' '${older}' && ${commandFor(path, file)}`)
      become(older, was)
      const next = file.lines.map(({ text }) => ({ text, from: -1 }))
      become(path, byRun(file, runId, was.lines, next))
      return `${path} to ${older}`
    },
    async 'two commands at once'() {
      const [one, other] = [fresh(), `other-${fresh()}`]
      const [first, second] = [shortFile(chance), shortFile(chance)]
      const shared = some() as string
      const was = files.get(shared) as TrueFile
      const number = nextNumber()
      const said = [`by one ${number}`, `by other ${number}`]
      const adding = (text: string) => `printf '%s${was.end === '\n' ? '\\n' : '\\r\\n'}' '${text}' >> '${shared}'`
      const runIds = await Promise.all([
        exec(`${commandFor(one, first)} && sleep 0.0${chance(9)} && ${adding(said[0] ?? '')}`),
        exec(`${adding(said[1] ?? '')} && sleep 0.0${chance(9)} && ${commandFor(other, second)}`),
      ])
      for (const runId of runIds) unseen.add(runId)
      become(one, byOne(first, runIds[0]))
      become(other, byOne(second, runIds[1]))
      const added = readFileSync(join(folder, shared), 'utf8').split(was.end).slice(was.lines.length, -1)
      const author = (text: string) => runIds[said.indexOf(text)] ?? ''
      become(shared, {
        ...was,
        lines: [
          ...was.lines,
          ...added.map((text) => ({ text, authors: new Set([author(text)]), carriers: new Set<Author>() })),
        ],
      })
      return `${one}, ${other} and both ${shared}`
    },
    async 'an agent writes while a command runs'() {
      const [path, other] = [fresh(), `other-${fresh()}`]
      const [file, second] = [createdFile(chance, ''), createdFile(chance, '')]
      const [command, writer] = await Promise.all([
        exec(`sleep 0.0${chance(9)} && ${commandFor(other, second)} && sleep 0.0${chance(9)}`),
        say([write(path, textOf(file))]),
      ])
      become(path, byOne(file, writer))
      become(other, byOne(second, command))
      return `${path}, and the command ${other}`
    },
    async 'a command is cancelled'() {
      const path = fresh()
      const file = createdFile(chance, '')
      const number = nextNumber()
      const [done, go, words] = [join(stage, `done-${number}`), join(stage, `go-${number}`), `do ${number}`]
      execFileSync('mkfifo', [go])
      plans[words] = [
        [{ name: 'exec', input: { command: `${commandFor(path, file)} && touch '${done}' && cat '${go}'` } }],
      ]
      survey()
      const { runId } = await hands.say(words, { folder, label: `command-${number}` })
      await untilSo(() => existsSync(done))
      await cancel(engine, runId ?? '', 'stop')
      await untilSo(async () => (await engine.store.read((rows) => findRun(rows, runId ?? '')))?.state === 'cancelled')
      become(path, byOne(file, runId ?? ''))
      return path
    },
  }
}
