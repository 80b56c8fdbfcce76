import { cpSync, mkdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { undo } from '../../../src/engine/files/undo.ts'
import { fork } from '../../../src/engine/turns/fork.ts'
import { resolveSession } from '../../../src/engine/turns/route.ts'
import { edit, read, write } from '../hands.ts'
import type { Deeds, Ground } from './ground.ts'
import { byOne, createdFile, type TrueFile, textOf } from './true-file.ts'
import { type Author, hand, newLines, observe, plainCopy, type Redraft, rewrite, type TrueLine } from './truth.ts'

/** What agents do with their tools, and people by hand. */
export function agentAndHandDeeds(ground: Ground): Deeds {
  const {
    folder,
    engine,
    chance,
    files,
    before,
    unrecorded,
    labels,
    some,
    fresh,
    say,
    putByHand,
    become,
    becomeByHand,
    asWritten,
    nextOf,
    byRun,
  } = ground
  const someOrFresh = () => (chance(3) === 0 ? (some() as string) : fresh())
  /** In the place of a file that there was, its last recorded content is what can be seen. */
  const bringByHand = (path: string, file: TrueFile) =>
    files.has(path) ? becomeByHand(path, file) : become(path, file)
  return {
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
    async 'a hand moves'() {
      const [from, to] = [some() as string, someOrFresh()]
      if (from === to) return 'not: the same'
      mkdirSync(dirname(join(folder, to)), { recursive: true })
      renameSync(join(folder, from), join(folder, to))
      bringByHand(to, files.get(from) as TrueFile)
      become(from, undefined)
      return `${from} to ${to}`
    },
    async 'a hand moves and changes'() {
      const [from, to] = [some() as string, fresh()]
      mkdirSync(dirname(join(folder, to)), { recursive: true })
      renameSync(join(folder, from), join(folder, to))
      become(to, files.get(from) as TrueFile)
      become(from, undefined)
      const { next, end, how } = nextOf(to)
      const file = asWritten(to, next, end)
      putByHand(to, file)
      becomeByHand(to, file)
      unrecorded.add(to)
      return `${from} to ${to} ${how}`
    },
    async 'an agent copies what it saw'() {
      const [from, to] = [some() as string, fresh()]
      const was = files.get(from) as TrueFile
      const added = chance(2) === 0 ? newLines(chance, 1) : []
      const copied = {
        ...was,
        lines: [
          ...was.lines,
          ...added.map((text) => ({ text, authors: new Set([hand]), carriers: new Set<Author>() })),
        ],
      }
      const runId = await say([read(from)], 'reader', [write(to, textOf(copied))])
      before.set(runId, new Map([[to, undefined]]))
      become(to, byOne(copied, runId))
      return `${from} as ${to}${added.length > 0 ? ', and adds a line' : ''}`
    },
    async 'a hand copies'() {
      const [from, to] = [some() as string, someOrFresh()]
      if (from === to) return 'not: the same'
      mkdirSync(dirname(join(folder, to)), { recursive: true })
      // As `cp` does, or as `cp -p` and file managers do.
      const keepsTimes = chance(2) === 0
      cpSync(join(folder, from), join(folder, to), { preserveTimestamps: keepsTimes })
      const was = files.get(from) as TrueFile
      const by = keepsTimes ? [hand] : [hand, plainCopy]
      const lines = was.lines.map((line) => ({ ...line, carriers: new Set([...line.carriers, ...by]) }))
      bringByHand(to, { ...was, lines })
      return `${from} to ${to}${keepsTimes ? ' with its times' : ''}`
    },
    async 'a hand swaps'() {
      const [one, other] = [some() as string, some() as string]
      if (one === other) return 'not: the same'
      const [first, second] = [files.get(one) as TrueFile, files.get(other) as TrueFile]
      const isRenamed = chance(2) === 0
      if (isRenamed) {
        renameSync(join(folder, one), join(folder, 'swapped'))
        renameSync(join(folder, other), join(folder, one))
        renameSync(join(folder, 'swapped'), join(folder, other))
      } else {
        putByHand(one, second)
        putByHand(other, first)
      }
      becomeByHand(one, second)
      becomeByHand(other, first)
      return `${one} and ${other}${isRenamed ? ' by renames' : ''}`
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
}
