import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Arena, AttackOptions } from './arena.ts'
import type { Call } from './call.ts'

/** A question that waits. */
export interface Open {
  id: number
  hash: string
  input: string
}

/** Has a model make a call that needs a yes, and returns the question. */
export async function askAbout(arena: Arena, call: Call, options: AttackOptions = {}): Promise<Open> {
  const { approvals, input, results } = await arena.attack([[call]], options)
  const [id] = approvals
  if (id === undefined) throw new Error(`nobody was asked about ${JSON.stringify(call)}: ${JSON.stringify(results)}`)
  return { ...(await questionOf(arena, id)), input }
}

async function questionOf(arena: Arena, id: number): Promise<Omit<Open, 'input'>> {
  const { body } = await arena.http('GET', '/v1/approvals')
  const open = ((body['approvals'] ?? []) as { id: number; hash: string }[]).find((each) => each.id === id)
  if (!open) throw new Error(`approval:${id} is not in the list`)
  return { id, hash: open.hash }
}

/** The owner says yes to what they were shown, and the request goes on to its end or its next question. */
export async function sayYes(arena: Arena, open: Open, answer: 'once' | 'session' | 'agent' = 'once') {
  const { status, body } = await arena.http('POST', `/v1/approvals/${open.id}`, { answer, hash: open.hash })
  if (status !== 200) throw new Error(`a yes was refused: ${JSON.stringify(body)}`)
  return goesOn(arena, open)
}

/** Waits until the request has ended or asks something else, or the same once more with what has changed. */
export async function goesOn(
  arena: Arena,
  { id, hash, input }: Open,
): Promise<{ status: string; approvals: number[] }> {
  for (;;) {
    const ended = await arena.answerTo(input)
    if (!ended.approvals.includes(id)) return ended
    const now = await questionOf(arena, id).catch(() => undefined)
    if (now && now.hash !== hash) return ended
  }
}

/** A command that leaves a mark outside, and whether it has. */
export function marking(arena: Arena, token: string): { command: string; isMade(): boolean } {
  const file = join(arena.paths.ran, token)
  return { command: `echo > ${file}`, isMade: () => existsSync(file) }
}
