import { joinLabels, type Label } from '../domain/label.ts'
import type { Message } from '../domain/message.ts'
import { type Session, tellingLabel } from '../domain/session.ts'
import type { PlacedTurn } from '../domain/turn.ts'
import { aboutWords } from '../domain/words.ts'
import { isUnanswered, itemsOfRun } from '../store/inbox.ts'
import { knownInRuns } from '../store/memory-recalls.ts'
import { latestOfSession, type Narrative } from '../store/narratives.ts'
import { findRun, hasUnfinished, liveRunOf } from '../store/runs.ts'
import { findSessions } from '../store/sessions.ts'
import type { Reading } from '../store/store.ts'
import { findThread, findTurn, readPath } from '../store/threads.ts'
import { labelOfStanding, type Standing, standingIn, standingText, tellable } from './standing.ts'

/** Of a talk, its end; of a message, its beginning. */
const mostTurns = 20
const longestMessage = 1500
const longestTalk = 12_000
/** Words that were not in the narrative before: fewer say nothing new. A talk that nobody has told of needs less. */
const fewestFirst = 12
const fewestLater = 60

/** What was said in a session since somebody told where it stands. */
export interface News {
  /** The last turn of it. */
  turnId: string
  before: Standing | undefined
  /** As the narrator is given it. */
  text: string
  label: Label
  /** What it rests on besides what it will cite. */
  memoryIds: number[]
}

/**
 * What there is to tell of a session, decided by its words alone: nothing of a greeting. `busy` while its last request is
 * under way: what comes of it is told in one.
 */
export async function newsOf(
  rows: Reading,
  session: Session,
  { inHaste = false } = {},
): Promise<News | 'busy' | undefined> {
  const head = session.headTurnId === null ? undefined : await findThread(rows, session.headTurnId)
  if (!head) return undefined
  const path = await readPath(rows, head, Math.max(1, head.depth - mostTurns + 1))
  const run = await findRun(rows, path.at(-1)?.turn.runId ?? '')
  // What people wrote by hand or brought along is not work that stands somewhere.
  if (!run || run.kind === 'import') return undefined
  if (await isUnderWay(rows, session, run.rootRunId)) return 'busy'
  const told = await latestOfSession(rows, session.id)
  const before = (told && (await tellable(rows, told))) ?? (await standingIn(rows, session.folder))
  const { turnId: heard, wasSlow } = await heardUpTo(rows, session)
  // Whoever does not stay does not try again what took too long.
  if (inHaste && wasSlow) return undefined
  const { since, memoryIds } = await tellableOf(rows, sinceThen(path, told, heard))
  if (!since.some(({ turn }) => turn.status === 'completed')) return undefined
  const said = linesOf(since)
  const known = aboutWords(before?.narrative.summary ?? '')
  const fresh = [...aboutWords(said)].filter((word) => !known.has(word)).length
  if (fresh < (told || heard ? fewestLater : fewestFirst)) return undefined
  return {
    turnId: head.turnId,
    before,
    text: [
      `## Where things stood\n${before ? standingText(before) : 'Nothing was noted before.'}`,
      `## Since then, in the session "${session.label}"\n${said}`,
    ].join('\n\n'),
    memoryIds,
    label: joinLabels([...since.map(({ turn }) => turn.label), ...(before ? [labelOfStanding(before)] : [])]),
  }
}

async function isUnderWay(rows: Reading, session: Session, rootRunId: string): Promise<boolean> {
  return (
    (await liveRunOf(rows, session.id)) !== undefined ||
    (await hasUnfinished(rows, rootRunId)) ||
    (await isUnanswered(rows, rootRunId))
  )
}

/** The last turn that the narrator has heard of, also where it found nothing worth noting; and whether it ran out of time. */
async function heardUpTo(
  rows: Reading,
  { id, folder }: Session,
): Promise<{ turnId: string | undefined; wasSlow: boolean }> {
  const [telling] = await findSessions(rows, { folder, label: tellingLabel(id) })
  const last = telling?.headTurnId ? await findTurn(rows, telling.headTurnId) : undefined
  const status = last?.turn.status
  if (!last || status !== 'completed')
    return { turnId: undefined, wasSlow: status === 'cancelled' || status === 'timeout' }
  const heard = (await itemsOfRun(rows, last.turn.runId)).findLast(({ tells }) => tells)?.tells
  return { turnId: heard?.turnId, wasSlow: false }
}

/** Turns that nobody could tell of: those after the last that was told or heard of, or in which a narrative was written. */
function sinceThen(path: PlacedTurn[], told: Narrative | undefined, heard: string | undefined): PlacedTurn[] {
  const isTold = ({ turn }: PlacedTurn) =>
    turn.id === heard || (told && (turn.id === told.turnId || (told.turnId === null && turn.runId === told.runId)))
  return path.slice(path.findLastIndex(isTold) + 1).filter(({ turn }) => turn.type === 'normal')
}

/** Turns without those that speak of something a person wanted forgotten since, and what the others rest on. */
async function tellableOf(rows: Reading, turns: PlacedTurn[]): Promise<{ since: PlacedTurn[]; memoryIds: number[] }> {
  const known = await knownInRuns(
    rows,
    turns.map(({ turn }) => turn.runId),
  )
  const unspeakable = new Set(known.filter(({ isForgotten }) => isForgotten).map(({ runId }) => runId))
  return {
    since: turns.filter(({ turn }) => !unspeakable.has(turn.runId)),
    memoryIds: [...new Set(known.filter(({ runId }) => !unspeakable.has(runId)).map(({ memoryId }) => memoryId))],
  }
}

/** What was said, oldest first; where that is too much, the end of it. */
function linesOf(turns: PlacedTurn[]): string {
  const lines = turns.flatMap(({ turn }) => [...turn.queryMessages.map(asked), answered(turn.responseMessage)])
  let room = longestTalk
  const kept = lines.toReversed().filter((line) => {
    room -= line.length
    return room >= 0
  })
  return kept.reverse().join('\n')
}

function asked({ content, source = 'human' }: Message): string {
  return `${source === 'human' ? 'person' : source}: ${quoted(content)}`
}

function answered({ content }: Message): string {
  return `answer: ${quoted(content)}`
}

/** Its beginning, set off so that no line of it looks like one of ours. */
function quoted(text: string): string {
  const short = text.length > longestMessage ? `${text.slice(0, longestMessage).toWellFormed()}…` : text
  return short.split(/\r\n|[\n\r\u2028\u2029]/).join('\n  ')
}
