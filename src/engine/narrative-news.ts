import { joinLabels, type Label } from '../domain/label.ts'
import type { Message } from '../domain/message.ts'
import { type Session, tellingLabel } from '../domain/session.ts'
import type { PlacedTurn } from '../domain/turn.ts'
import { aboutWords } from '../domain/words.ts'
import { isUnanswered, itemsOfRun } from '../store/inbox.ts'
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
}

/**
 * What there is to tell of a session, decided by its words alone: nothing of a greeting. `busy` while its last request is
 * under way: what comes of it is told in one.
 */
export async function newsOf(rows: Reading, session: Session): Promise<News | 'busy' | undefined> {
  const head = session.headTurnId === null ? undefined : await findThread(rows, session.headTurnId)
  if (!head) return undefined
  const path = await readPath(rows, head, Math.max(1, head.depth - mostTurns + 1))
  const run = await findRun(rows, path.at(-1)?.turn.runId ?? '')
  // What people wrote by hand or brought along is not work that stands somewhere.
  if (!run || run.kind === 'import') return undefined
  if (await isUnderWay(rows, session, run.rootRunId)) return 'busy'
  const told = await latestOfSession(rows, session.id)
  const before = (told && (await tellable(rows, told))) ?? (await standingIn(rows, session.folder))
  const heard = await heardUpTo(rows, session)
  const since = sinceThen(path, told, heard)
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

/** The last turn that the narrator has heard of, also where it found nothing worth noting. */
async function heardUpTo(rows: Reading, { id, folder }: Session): Promise<string | undefined> {
  const [telling] = await findSessions(rows, { folder, label: tellingLabel(id) })
  const last = telling?.headTurnId ? await findTurn(rows, telling.headTurnId) : undefined
  if (last?.turn.status !== 'completed') return undefined
  return (await itemsOfRun(rows, last.turn.runId)).findLast(({ tells }) => tells)?.tells?.turnId
}

/** Turns that nobody could tell of: those after the last that was told or heard of, or in which a narrative was written. */
function sinceThen(path: PlacedTurn[], told: Narrative | undefined, heard: string | undefined): PlacedTurn[] {
  const isTold = ({ turn }: PlacedTurn) =>
    turn.id === heard || (told && (turn.id === told.turnId || (told.turnId === null && turn.runId === told.runId)))
  return path.slice(path.findLastIndex(isTold) + 1).filter(({ turn }) => turn.type === 'normal')
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
  return `${source === 'human' ? 'person' : source}: ${cut(content)}`
}

function answered({ content }: Message): string {
  return `answer: ${cut(content)}`
}

function cut(text: string): string {
  return text.length > longestMessage ? `${text.slice(0, longestMessage).toWellFormed()}…` : text
}
