import { mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Database } from '../../setup/places.ts'
import { newHands, planned } from '../hands.ts'
import type { Chance } from '../simulator-schedule.ts'
import { unconfinedExec } from '../unconfined-exec.ts'
import { type LineEnd, type TrueFile, textOf } from './true-file.ts'
import { asCopied, goBack, hand, observe, type Redraft, redraft, seenByHand, type TrueLine } from './truth.ts'

type Calls = { name: string; input: unknown }[]

export type Ground = Awaited<ReturnType<typeof newGround>>
/** What can be done there by chance, by name; each tells to what it was done. */
export type Deeds = Record<string, () => Promise<string>>

/** A folder in which agents write, commands run and hands change files, and what is known of its lines. */
export async function newGround(database: Database, chance: Chance, replacesFiles: boolean) {
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
  /** Files as they were last recorded: when a run wrote them, or a command found them. */
  const recorded = new Map<string, TrueFile>()
  /** Files that a hand moved and changed at once: no command that finds them records them, since neither path nor content is known. */
  const unrecorded = new Set<string>()
  const unseen = new Set<string>()
  const labels = ['main', 'other']
  let asked = 0

  const nextNumber = () => ++asked
  const pick = <T>(all: readonly T[]) => all[chance(all.length)]
  const some = () => pick([...files.keys()].sort())
  const fresh = () => `${pick(['', 'lib/', 'src/deep/']) ?? ''}file-${files.size}-${chance(1000)}.py`
  const keepPast = (path: string) => {
    const lines = files.get(path)?.lines
    if (lines) past.set(path, [...(past.get(path) ?? []), lines])
  }
  const say = async (calls: Calls, label = pick(labels), ...later: Calls[]) => {
    const words = `do ${nextNumber()}`
    plans[words] = [calls, ...later]
    return hands.ask(words, label)
  }
  // Each in a session of its own: one that has used the network asks before its next command.
  const exec = (command: string) => {
    survey()
    return say([{ name: 'exec', input: { command } }], `command-${nextNumber()}`)
  }
  /** What a command finds is recorded: nearly all files that there are. */
  const survey = () => {
    const before = new Map(recorded)
    recorded.clear()
    for (const [path, file] of files) {
      const last = unrecorded.has(path) ? before.get(path) : file
      if (last) recorded.set(path, last)
    }
  }
  /** Some editors write into a file; others, and git, put a new one in its place. */
  const putByHand = (path: string, file: TrueFile) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    if (!replacesFiles || chance(2) === 0) return writeFileSync(join(folder, path), textOf(file))
    const draft = join(folder, `${path}.draft`)
    writeFileSync(draft, textOf(file))
    renameSync(draft, join(folder, path))
  }
  /** Any command that leaves this content: what it is copied from lies outside of the folder. */
  const commandFor = (path: string, file: TrueFile) => {
    const staged = join(stage, String(nextNumber()))
    writeFileSync(staged, textOf(file))
    return `mkdir -p '${dirname(path)}' && cat '${staged}' > '${path}'`
  }
  const become = (path: string, file: TrueFile | undefined) => {
    keepPast(path)
    unrecorded.delete(path)
    if (file) files.set(path, file)
    else files.delete(path)
    if (file) recorded.set(path, file)
  }
  const becomeByHand = (path: string, file: TrueFile) => {
    const [last, isUnrecorded] = [recorded.get(path), unrecorded.has(path)]
    const twins = [...files].flatMap(([other, each]) =>
      other !== path && textOf(each) === textOf(file) ? [each.lines] : [],
    )
    become(path, { ...file, lines: asCopied(seenByHand(file.lines, last?.lines), twins) })
    if (last) recorded.set(path, last)
    else recorded.delete(path)
    if (isUnrecorded) unrecorded.add(path)
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
  return {
    hands,
    folder,
    engine,
    chance,
    stage,
    files,
    before,
    unrecorded,
    unseen,
    labels,
    plans,
    nextNumber,
    pick,
    some,
    fresh,
    say,
    exec,
    survey,
    putByHand,
    commandFor,
    become,
    becomeByHand,
    asWritten,
    nextOf,
    byRun,
  }
}
