import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { undo } from '../../../src/engine/files/undo.ts'
import { cancel } from '../../../src/engine/run/cancel.ts'
import { fork } from '../../../src/engine/turns/fork.ts'
import { resolveSession } from '../../../src/engine/turns/route.ts'
import { findRun } from '../../../src/store/rows/runs.ts'
import type { Database } from '../../setup/places.ts'
import { untilSo } from '../../setup/until.ts'
import { edit, type Hands, newHands, planned, write } from '../hands.ts'
import type { Chance } from '../simulator-schedule.ts'
import { unconfinedExec } from '../unconfined-exec.ts'
import { byOne, createdFile, type LineEnd, shortFile, type TrueFile, textOf } from './true-file.ts'
import {
  type Author,
  goBack,
  hand,
  keepLong,
  newLines,
  observe,
  type Redraft,
  redraft,
  reorder,
  rewrite,
  seenByHand,
  type TrueLine,
} from './truth.ts'

type Calls = { name: string; input: unknown }[]

/** A folder with a random history that knows who wrote each line. */
export interface History {
  hands: Hands
  /** What was done, in order. */
  acts: string[]
  files: Map<string, TrueFile>
  /** Runs whose work no survey can tell: of commands at the same time. */
  unseen: Set<string>
  act(): Promise<void>
  remove(): Promise<void>
}

export async function newHistory(database: Database, chance: Chance): Promise<History> {
  const plans: Record<string, Calls[]> = {}
  const hands = await newHands(database, planned(plans), [await unconfinedExec()])
  await hands.work()
  const { folder, engine } = hands
  const stage = mkdtempSync(join(tmpdir(), 'heddle-stage-'))
  const files = new Map<string, TrueFile>()
  /** Contents that files had. */
  const past = new Map<string, TrueLine[][]>()
  /** The files before each run that can be undone. */
  const before = new Map<string, Map<string, TrueFile | undefined>>()
  /** Files as the last run left them. */
  const recorded = new Map<string, TrueFile>()
  const acts: string[] = []
  const unseen = new Set<string>()
  const labels = ['main', 'other']
  let asked = 0

  const pick = <T>(all: readonly T[]) => all[chance(all.length)]
  const some = () => pick([...files.keys()].sort())
  const fresh = () => `${pick(['', 'lib/', 'src/deep/']) ?? ''}file-${files.size}-${chance(1000)}.py`
  const keepPast = (path: string) => {
    const lines = files.get(path)?.lines
    if (lines) past.set(path, [...(past.get(path) ?? []), lines])
  }
  const say = async (calls: Calls, label = pick(labels)) => {
    const words = `do ${++asked}`
    plans[words] = [calls]
    return hands.ask(words, label)
  }
  // Each in a session of its own: one that has used the network asks before its next command.
  const exec = (command: string) => say([{ name: 'exec', input: { command } }], `command-${++asked}`)
  const putByHand = (path: string, file: TrueFile) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), textOf(file))
  }
  /** Any command that leaves this content: what it is copied from lies outside of the folder. */
  const commandFor = (path: string, file: TrueFile) => {
    const staged = join(stage, String(++asked))
    writeFileSync(staged, textOf(file))
    return `mkdir -p '${dirname(path)}' && cat '${staged}' > '${path}'`
  }
  const become = (path: string, file: TrueFile | undefined) => {
    keepPast(path)
    if (file) files.set(path, file)
    else files.delete(path)
    if (file) recorded.set(path, file)
  }
  const becomeByHand = (path: string, file: TrueFile) => {
    const last = recorded.get(path)
    become(path, { ...file, lines: seenByHand(file.lines, last?.lines) })
    if (last) recorded.set(path, last)
    else recorded.delete(path)
  }
  const asWritten = (path: string, next: Redraft, end: LineEnd): TrueFile => ({
    lines: observe(files.get(path)?.lines ?? [], next, hand),
    end,
  })
  /** A new content of a file that there is: other lines, an earlier content, or other line ends. */
  const nextOf = (path: string): { next: Redraft; end: LineEnd; how: string } => {
    const file = files.get(path) as TrueFile
    const earlier = pick(past.get(path) ?? [])
    const kind = chance(10)
    if (kind === 0 && earlier) {
      const texts = earlier.map(({ text }) => text)
      return { next: goBack(file.lines, texts), end: file.end, how: 'as it was' }
    }
    const end = kind === 1 ? (file.end === '\n' ? '\r\n' : '\n') : file.end
    return { next: redraft(chance, file.lines), end, how: kind === 1 ? 'with other line ends' : 'anew' }
  }
  /** The runs of calls are told apart only when they are over. */
  const byRun = (file: TrueFile, runId: string, earlier: readonly TrueLine[], next: Redraft): TrueFile => ({
    ...file,
    lines: observe(earlier, next, runId),
  })

  const deeds: Record<string, () => Promise<string>> = {
    async 'an agent creates'() {
      const path = fresh()
      const file = createdFile(chance, '')
      const runId = await say([write(path, textOf(file))])
      before.set(runId, new Map([[path, undefined]]))
      become(path, byOne(file, runId))
      return path
    },
    async 'an agent rewrites'() {
      const path = some() as string
      const was = files.get(path) as TrueFile
      const { next, end, how } = nextOf(path)
      const runId = await say([write(path, textOf(asWritten(path, next, end)))])
      before.set(runId, new Map([[path, was]]))
      become(path, byRun({ lines: [], end }, runId, was.lines, next))
      return `${path} ${how}`
    },
    async 'an agent edits'() {
      const path = some() as string
      const was = files.get(path) as TrueFile
      const start = chance(was.lines.length)
      const old = was.lines.slice(start, start + 1 + chance(3))
      const oldText = old.map(({ text }) => text).join('\n')
      const all = was.lines.map(({ text }) => text).join('\n')
      if (oldText === '' || all.split(oldText).length !== 2) return `${path} not: several places`
      const [first, ...rest] = old
      const added = newLines(chance, 1 + chance(3)).map((text) => ({ text, from: -1 }))
      const kept = chance(2) === 0 && first ? [{ text: first.text, from: start }] : []
      const middle = [...kept, ...added]
      const next: Redraft = [
        ...was.lines.slice(0, start).map(({ text }, from) => ({ text, from })),
        ...middle,
        ...was.lines
          .slice(start + 1 + rest.length)
          .map(({ text }, at) => ({ text, from: start + 1 + rest.length + at })),
      ]
      const runId = await say([edit(path, oldText, middle.map(({ text }) => text).join('\n'))])
      before.set(runId, new Map([[path, was]]))
      const inside = observe(
        old,
        middle.map(({ text, from }) => ({ text, from: from === -1 ? -1 : 0 })),
        runId,
      )
      const around = rewrite(was.lines, next, runId)
      become(path, {
        ...was,
        lines: around.map((line, at) => (inside[at - start] && at >= start ? (inside[at - start] as TrueLine) : line)),
      })
      return path
    },
    async 'a hand creates'() {
      const path = fresh()
      become(path, createdFile(chance, hand))
      putByHand(path, files.get(path) as TrueFile)
      return path
    },
    async 'a hand changes'() {
      const path = some() as string
      const { next, end, how } = nextOf(path)
      const file = asWritten(path, next, end)
      putByHand(path, file)
      becomeByHand(path, file)
      return `${path} ${how}`
    },
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
      become(path, byRun({ lines: [], end }, runId, was.lines, keepLong(was.lines, next)))
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
    async 'a command sorts'() {
      const path = some() as string
      const was = files.get(path) as TrueFile
      const runId = await exec(`LC_ALL=C sort -o '${path}' '${path}'`)
      const texts = readFileSync(join(folder, path), 'utf8').split(was.end).slice(0, -1)
      become(path, { ...was, lines: reorder(was.lines, texts, runId) })
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
      const said = [`by one ${++asked}`, `by other ${asked}`]
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
      const [done, go, words] = [join(stage, `done-${++asked}`), join(stage, `go-${asked}`), `do ${asked}`]
      execFileSync('mkfifo', [go])
      plans[words] = [
        [{ name: 'exec', input: { command: `${commandFor(path, file)} && touch '${done}' && cat '${go}'` } }],
      ]
      const { runId } = await hands.say(words, { folder, label: `command-${asked}` })
      await untilSo(() => existsSync(done))
      await cancel(engine, runId ?? '', 'stop')
      await untilSo(async () => (await engine.store.read((rows) => findRun(rows, runId ?? '')))?.state === 'cancelled')
      become(path, byOne(file, runId ?? ''))
      return path
    },
    async 'a hand moves'() {
      const [from, to] = [some() as string, fresh()]
      mkdirSync(dirname(join(folder, to)), { recursive: true })
      renameSync(join(folder, from), join(folder, to))
      const was = files.get(from) as TrueFile
      become(to, was)
      become(from, undefined)
      return `${from} to ${to}`
    },
    async 'a hand copies'() {
      const [from, to] = [some() as string, fresh()]
      mkdirSync(dirname(join(folder, to)), { recursive: true })
      cpSync(join(folder, from), join(folder, to))
      const was = files.get(from) as TrueFile
      become(to, { ...was, lines: was.lines.map((line) => ({ ...line, carriers: new Set([...line.carriers, hand]) })) })
      return `${from} to ${to}`
    },
    async 'a run is undone'() {
      const runId = [...before.keys()].at(-1 - chance(Math.min(2, before.size)))
      if (runId === undefined) return 'not: there is none'
      const { restored } = await undo(engine, runId)
      for (const whole of restored) {
        const path = whole.slice(folder.length + 1)
        become(path, before.get(runId)?.get(path))
      }
      before.delete(runId)
      return `${restored.length} files`
    },
    async 'a session is forked'() {
      const session = await engine.store
        .read((rows) => resolveSession(rows, 'session:main', folder))
        .catch(() => undefined)
      if (!session?.headTurnId || labels.length > 4) return 'not'
      labels.push((await fork(engine, { folder, turnId: session.headTurnId })).label)
      return ''
    },
  }
  const weights = [
    ...['an agent edits', 'an agent edits', 'an agent edits', 'an agent rewrites', 'an agent rewrites'],
    ...['a hand changes', 'a hand changes', 'a command changes', 'a command changes'],
    ...['an agent creates', 'a hand creates', 'a command creates', 'a command moves', 'a command moves'],
    ...['a command copies', 'a command removes', 'a hand moves', 'a hand copies'],
    ...['a command appends', 'a command joins', 'a command sorts'],
    ...['a run is undone', 'a session is forked'],
    ...['a command swaps', 'a command rotates', 'two commands at once', 'an agent writes while a command runs'],
    ...(chance(4) === 0 ? ['a command is cancelled'] : []),
  ]
  return {
    hands,
    acts,
    files,
    unseen,
    async act() {
      const name = files.size < 2 ? 'an agent creates' : (pick(weights) ?? '')
      acts.push(`${acts.length + 1} ${name} ${await deeds[name]?.()}`)
    },
    async remove() {
      await hands.remove()
      rmSync(stage, { recursive: true, force: true })
    },
  }
}
