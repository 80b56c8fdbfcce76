import { itemsOfRun } from '../../store/rows/inbox.ts'
import { readSteps } from '../../store/rows/steps.ts'
import { findThread, readMessagesOnPath, readStepsOnPath } from '../../store/rows/threads.ts'
import type { Reading } from '../../store/store.ts'
import { isSignificantLine } from '../../tools/guard/shared-lines.ts'
import type { BegunStep, EndedStep } from '../run/context/journal.ts'

/** Max turns before the run's own whose texts are searched. */
const maxTurns = 20
/** Fewer lines may be equal by chance. */
const minGiven = 3

/** Texts that a run was given before a call: it may have copied lines of them. */
export class GivenTexts {
  readonly #texts: readonly string[]

  constructor(texts: readonly string[]) {
    this.#texts = texts
  }

  /** Whether several of these lines were in the texts. */
  hadLines(lines: Iterable<string>): boolean {
    const wanted = [...new Set(lines)].map((line) => line.trim()).filter(isSignificantLine)
    let missing = Math.min(minGiven, wanted.length)
    for (const line of wanted) {
      if (this.#texts.some((text) => text.includes(line))) missing--
      if (missing === 0) return true
    }
    return false
  }
}

/** Reads what a run was given before a call: its inputs, the turns before it, and the answers of tools. */
export async function textsGivenBefore(rows: Reading, runId: string, callId: string): Promise<GivenTexts> {
  const items = await itemsOfRun(rows, runId)
  const steps = await readSteps(rows, runId)
  const isCall = ({ kind, payload }: (typeof steps)[number]) => kind === 'begun' && (payload as BegunStep).id === callId
  const own = steps.slice(0, Math.max(0, steps.findIndex(isCall)))
  const turnId = items.flatMap(({ consumedByTurn }) => consumedByTurn ?? [])[0]
  const thread = turnId === undefined ? undefined : await findThread(rows, turnId)
  const from = Math.max(1, (thread?.depth ?? 0) - maxTurns)
  const turns = thread ? await readMessagesOnPath(rows, thread, from) : []
  const stepsOfTurns = thread ? [...(await readStepsOnPath(rows, thread, from)).entries()] : []
  const others = stepsOfTurns.flatMap(([id, each]) => (id === runId ? [] : each))
  return new GivenTexts([
    ...items.map(({ content }) => content),
    ...turns.flatMap(({ queryMessages }) => queryMessages.map(({ content }) => content)),
    ...[...own, ...others].flatMap(({ kind, payload }) =>
      kind === 'ended' ? textsIn((payload as EndedStep).output) : [],
    ),
  ])
}

/** All texts in a tool's output, whatever its form. */
function textsIn(output: unknown): string[] {
  if (typeof output === 'string') return [output]
  return typeof output === 'object' && output !== null ? Object.values(output).flatMap(textsIn) : []
}
