import { useQueries, useQuery } from '@tanstack/react-query'
import { useFolder } from '../../api/folder.ts'
import { turnQuery } from '../../api/queries.ts'
import { get } from '../../api/request.ts'
import type { ThreadDiff, Turn } from '../../api/wire.ts'
import { shortId } from '../../text/format.ts'
import { previewOf } from '../../text/preview.ts'
import { withoutBidi } from '../../text/safe-text.ts'

/** One of two branches: its turns since the common one, and what they and their agents did. */
export interface Branch {
  /** A session's name, or what was asked last. */
  name: string
  turns: Turn[]
  /** Tools with how often each was used. */
  tools: [name: string, count: number][]
  work: ThreadDiff['work']['a']
  models: string[]
  tokens: number
  costUsd: number
  /** Session to go on in; undefined if no session's head is here. */
  session: string | undefined
}

export interface Comparison {
  ancestor: Turn | undefined
  a: Branch
  b: Branch
}

/** Where two branches part, and what each did since; undefined while that is read. */
export function useComparison(a: string, b: string): { data: Comparison | undefined; error: unknown } {
  const folder = useFolder()
  const parted = useQuery({
    queryKey: ['turns', folder, 'diff', a, b],
    enabled: a !== '' && b !== '',
    queryFn: ({ signal }) => get<ThreadDiff>('/v1/diff', { folder, a: referenceOf(a), b: referenceOf(b) }, signal),
  })
  const { data } = parted
  const ends = [a, b].filter(isTurnId)
  const ids = data ? [...new Set([...data.a, ...data.b, ...(data.ancestor ? [data.ancestor] : []), ...ends])] : []
  const turns = useTurns(ids)
  if (!data || ids.some((id) => !turns.has(id))) return { data: undefined, error: parted.error }
  const branch = (side: 'a' | 'b', given: string) =>
    branchOf(
      isTurnId(given) ? nameOfTurn(turns.get(given)) : given,
      data[side].flatMap((id) => turns.get(id) ?? []),
      data.work[side],
    )
  return {
    data: { ancestor: turns.get(data.ancestor ?? ''), ...distinct(branch('a', a), branch('b', b), [a, b]) },
    error: parted.error,
  }
}

/** Ids of turns have 20 characters; everything else is a label. */
function isTurnId(name: string): boolean {
  return /^[0-9a-z]{20}$/.test(name)
}

function referenceOf(name: string): string {
  return isTurnId(name) ? `turn:${name}` : name
}

const maxName = 60

/** A turn as people know it: the session that ends there, else what was asked. */
function nameOfTurn(turn: Turn | undefined): string {
  if (!turn) return ''
  const [session] = turn.sessions
  if (session !== undefined) return session
  return quoteOf(turn, maxName)
}

/** What a turn answers, in short: a person's words in quotes. */
export function quoteOf(turn: Turn, maxLength: number): string {
  const { text, isPersons } = questionOf(turn)
  const short = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  return isPersons ? `“${short}”` : short
}

/** Two branches with the same name are told apart by the end of their ids. */
function distinct(a: Branch, b: Branch, [idA, idB]: [string, string]): { a: Branch; b: Branch } {
  if (a.name !== b.name) return { a, b }
  return { a: { ...a, name: `${a.name} ${shortId(idA)}` }, b: { ...b, name: `${b.name} ${shortId(idB)}` } }
}

/** What a turn answers: what a person said or, in a turn without an input of a person, what agents reported. */
export function questionOf({ query }: Turn): { text: string; isPersons: boolean } {
  const said = query.filter(({ source = 'human' }) => source === 'human')
  if (said.length > 0) return { text: withoutBidi(said.map(({ content }) => content).join('\n\n')), isPersons: true }
  const reports = query.filter(({ content }) => content.startsWith('[agent_result:'))
  const told = reports.length > 0 ? reports : query
  return { text: told.map(({ content }) => previewOf(content)).join(' · '), isPersons: false }
}

function useTurns(ids: readonly string[]): Map<string, Turn> {
  const folder = useFolder()
  return useQueries({
    queries: ids.map((id) => turnQuery(folder, id)),
    combine: (results) => new Map(results.flatMap(({ data }) => (data ? [[data.id, data] as const] : []))),
  })
}

function branchOf(name: string, turns: Turn[], work: Branch['work']): Branch {
  const tools = new Map<string, number>()
  for (const call of turns.flatMap(({ toolCalls }) => toolCalls)) tools.set(call.name, (tools.get(call.name) ?? 0) + 1)
  const sum = (figures: number[]) => figures.reduce((total, figure) => total + figure, 0)
  return {
    name,
    turns,
    tools: [...tools].toSorted(([, one], [, other]) => other - one),
    work,
    models: [...new Set(turns.flatMap(({ model }) => model.actual ?? model.requested ?? []))],
    tokens: work.tokens + sum(turns.map(({ usage }) => usage.inputTokens + usage.outputTokens)),
    costUsd:
      work.costUsd + sum(turns.map(({ usage }) => usage.costUsd + (usage.estimatedUsd ?? 0) + (usage.lostUsd ?? 0))),
    session: turns.at(-1)?.sessions[0],
  }
}
