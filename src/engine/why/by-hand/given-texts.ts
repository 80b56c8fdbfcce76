import { join } from 'node:path'
import type { Step } from '../../../domain/run.ts'
import { itemsOfRun } from '../../../store/rows/inbox.ts'
import { findSessions } from '../../../store/rows/sessions.ts'
import { readSteps } from '../../../store/rows/steps.ts'
import { findThread, readMessagesOnPath, readStepsOnPath } from '../../../store/rows/threads.ts'
import type { Reading } from '../../../store/store.ts'
import { isSignificantLine } from '../../../tools/guard/shared-lines.ts'
import type { BegunStep, EndedStep } from '../../run/context/journal.ts'

/** Max turns before the run's own whose texts are searched. */
const maxTurns = 20
/** Fewer lines may be equal by chance. */
const minGiven = 3

/** A text that a run was given; `path`: absolute, of the file that it is from, if the run read one, with the hash of its content. */
interface GivenText {
  text: string
  path?: string
  hash?: string | null | undefined
}

/** Texts that a run was given before a call: it may have copied lines of them. */
export class GivenTexts {
  readonly #texts: readonly GivenText[]
  /** By path. */
  readonly #linesRead = new Map<string, Map<string, number>>()

  constructor(texts: readonly GivenText[]) {
    this.#texts = texts
  }

  /** Whether several of these lines were in the texts. */
  hadLines(lines: Iterable<string>): boolean {
    const wanted = [...new Set(lines)].map((line) => line.trim()).filter(isSignificantLine)
    let missing = Math.min(minGiven, wanted.length)
    for (const line of wanted) {
      if (this.#texts.some(({ text }) => text.includes(line))) missing--
      if (missing === 0) return true
    }
    return false
  }

  /** How often the run had read this line in one content of the file at an absolute path. */
  timesRead(path: string, line: string): number {
    const lines = this.#linesRead.get(path) ?? linesReadIn(this.#texts.filter((each) => each.path === path))
    this.#linesRead.set(path, lines)
    return lines.get(line.trim()) ?? 0
  }
}

/** How often each line is in what was read of one content, at most; a page may have been read again. */
function linesReadIn(texts: readonly GivenText[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const pages of Map.groupBy(texts, ({ hash, text }) => hash ?? text).values()) {
    const numbered = pages.flatMap(({ text }) => text.split('\n').flatMap((line) => numberedLine(line) ?? []))
    const byNumber = new Map(numbered)
    for (const [line, all] of Map.groupBy(byNumber.values(), (each) => each))
      counts.set(line, Math.max(counts.get(line) ?? 0, all.length))
  }
  return counts
}

/** A line as `read_file` shows it: its number, a tab and its text. */
function numberedLine(shown: string): [[number: string, text: string]] | undefined {
  const [, number, text] = /^(\d+)\t(.*)$/s.exec(shown) ?? []
  return number === undefined || text === undefined ? undefined : [[number, text.trim()]]
}

/** Reads what a run was given before a call: its inputs, the turns before it, and the answers of tools. */
export async function textsGivenBefore(rows: Reading, runId: string, callId: string): Promise<GivenTexts> {
  const items = await itemsOfRun(rows, runId)
  const steps = await readSteps(rows, runId)
  const isCall = ({ kind, payload }: Step) => kind === 'begun' && (payload as BegunStep).id === callId
  const own = steps.slice(0, Math.max(0, steps.findIndex(isCall)))
  const turnId = items.flatMap(({ consumedByTurn }) => consumedByTurn ?? [])[0]
  const thread = turnId === undefined ? undefined : await findThread(rows, turnId)
  const from = Math.max(1, (thread?.depth ?? 0) - maxTurns)
  const turns = thread ? await readMessagesOnPath(rows, thread, from) : []
  const stepsOfTurns = thread ? [...(await readStepsOnPath(rows, thread, from)).entries()] : []
  const others = stepsOfTurns.flatMap(([id, each]) => (id === runId ? [] : each))
  const [session] = items[0] ? await findSessions(rows, { id: items[0].sessionId }) : []
  const messages = [...items, ...turns.flatMap(({ queryMessages }) => queryMessages)]
  return new GivenTexts([
    ...messages.map(({ content }) => ({ text: content })),
    ...[...own, ...others].flatMap((step) => answerOf(step, session?.folder)),
  ])
}

/** The texts of a tool's answer. */
function answerOf({ kind, payload }: Step, folder: string | undefined): GivenText[] {
  if (kind !== 'ended') return []
  const { name, output, seen } = payload as EndedStep
  const read = name === 'read_file' && folder !== undefined ? seen?.[0] : undefined
  const file = read && { path: join(folder ?? '', read.path), hash: read.sha256 }
  return textsIn(output).map((text) => ({ text, ...file }))
}

/** All texts in a tool's output, whatever its form. */
function textsIn(output: unknown): string[] {
  if (typeof output === 'string') return [output]
  return typeof output === 'object' && output !== null ? Object.values(output).flatMap(textsIn) : []
}
