import { HeddleError, Misuse } from '../domain/errors.ts'
import { idPattern } from '../domain/id.ts'
import type { ProtectedPlaces } from '../domain/path-handle.ts'
import { parseReference } from '../domain/reference.ts'
import type { WhyLink, WhyView } from '../domain/why.ts'
import { narrativeNamed } from '../memory/narratives.ts'
import { findApproval } from '../store/approvals.ts'
import { findMemory } from '../store/memories.ts'
import { findResult } from '../store/results.ts'
import { findRun } from '../store/runs.ts'
import { findSessions } from '../store/sessions.ts'
import type { Reading, Store } from '../store/store.ts'
import { findThread } from '../store/threads.ts'
import { compareReads, type Reads, readsOf } from './files-read.ts'
import { planNamed, taskNamed } from './plan-views.ts'
import { approvalId } from './questions.ts'
import { notFound, routeToThread, sessionNamed } from './route.ts'
import { runNamed } from './runs.ts'
import { moment, type Place, walkBack } from './why-chain.ts'
import { type FileReference, fileReference, findFile, type Written, whyFile } from './why-file.ts'
import { readingsOf, whatCame } from './why-forward.ts'
import { type Budget, notesOn } from './why-notes.ts'
import { storyOf } from './why-story.ts'

/** What explaining needs besides the rows. */
export interface Explaining {
  store: Store
  /** Folders of the runtime: nothing in them is read. */
  protect: ProtectedPlaces
  budget: Budget
}

/** So many of the first links are looked at for files that were read. */
const mostReaders = 4

/**
 * Why a thing is there: the chain from it back to the words of a person, and what else explains it. Only rows and files
 * are looked at, nobody is asked; every look is one by key.
 */
export async function why(
  { store, protect, budget }: Explaining,
  folder: string,
  text: string,
  { forward = false } = {},
): Promise<WhyView> {
  const asked = await store.read((rows) => thingNamed(rows, text, folder))
  const { view, written } =
    'path' in asked
      ? await aboutFile(store, asked, folder, protect)
      : { view: await store.read((rows) => aboutThing(rows, asked, budget)) }
  const read = await store.read((rows) => firstReads(rows, view.chain))
  if (read) read.link.read = await compareReads(read.reads, protect)
  const story = await store.read((rows) => storyOf(rows, view.chain))
  const told = story ? { ...view, story } : view
  // A session stands for its head.
  const first = view.chain.find(({ kind }) => kind !== 'session')
  if (!forward || !first) return told
  return store.read(async (rows) => {
    if (!written) return { ...told, forward: await whatCame(rows, first) }
    const { sprouts, notes } = await readingsOf(rows, written)
    return { ...told, notes: [...told.notes, ...notes], forward: await whatCame(rows, first, sprouts) }
  })
}

/** A thing of the rows; a session stands for its head. */
interface Thing {
  place: Place
  session?: WhyLink
}

async function aboutThing(rows: Reading, { place, session }: Thing, budget: Budget): Promise<WhyView> {
  const chain = await walkBack(rows, session ? { ...place, how: 'points at' } : place)
  const notes = await notesOn(rows, place.kind, place.id, budget)
  return session
    ? { ref: `session:${session.id}`, chain: [session, ...chain], notes }
    : { ref: `${place.kind}:${place.id}`, chain, notes }
}

async function aboutFile(
  store: Store,
  reference: FileReference,
  folder: string,
  protect: ProtectedPlaces,
): Promise<{ view: WhyView; written?: Written }> {
  const found = await findFile((body) => store.read(body), reference, folder, protect)
  const { written, ...about } = await store.read((rows) => whyFile(rows, reference, found))
  return { view: { ref: `file:${about.chain[0]?.id ?? found.shown}`, ...about }, written }
}

/** What a reference names. A bare word is a session, a file that heddle wrote, a turn or a run; else a file. */
async function thingNamed(rows: Reading, text: string, folder: string): Promise<Thing | FileReference> {
  const { kind, id } = parseReference(text)
  switch (kind) {
    case 'turn':
      return thing('turn', (await routeToThread(rows, text, folder)).turnId)
    case 'run':
      return thing('run', ((await findRun(rows, id)) ?? (await runNamed(rows, id))).id)
    case 'task':
      return thing('task', String((await taskNamed(rows, text)).id))
    case 'plan':
      return thing('plan', String((await planNamed(rows, text)).id))
    case 'result':
      return resultNamed(rows, id)
    case 'approval':
      return approvalThing(rows, text)
    case 'memory':
      return memoryThing(rows, id)
    case 'narrative':
      return thing('narrative', String((await narrativeNamed(rows, id)).id))
    case 'session':
      return sessionThing(rows, text, folder)
    case 'file':
      return fileReference(id)
    case null:
      return bareNamed(rows, id, folder)
    default:
      throw new Misuse(
        `nobody can say yet why there is ${text}`,
        'use turn:, run:, task:, plan:, result:, approval:, memory:, narrative:, session: or file:PATH:LINE',
        'wrong_kind',
      )
  }
}

async function memoryThing(rows: Reading, id: string): Promise<Thing> {
  const memory = /^[1-9]\d{0,14}$/.test(id) ? await findMemory(rows, Number(id)) : undefined
  if (!memory) throw notFound('memory', id, 'heddle memory')
  return thing('memory', id)
}

async function bareNamed(rows: Reading, word: string, folder: string): Promise<Thing | FileReference> {
  const [here] = await findSessions(rows, { label: word.normalize('NFC'), folder })
  if (here) return sessionThing(rows, `session:${word}`, folder)
  if (!/^[0-9a-hjkmnp-tv-z]{3,20}$/.test(word)) return fileReference(word)
  if (idPattern.test(word)) {
    if (await findThread(rows, word)) return thing('turn', word)
    if (await findRun(rows, word)) return thing('run', word)
  }
  const isUnknown = (error: unknown) => {
    if (!(error instanceof HeddleError) || error.code !== 'not_found') throw error
    return undefined
  }
  const thread = await routeToThread(rows, `turn:${word}`, folder).catch(isUnknown)
  if (thread) return thing('turn', thread.turnId)
  const run = await runNamed(rows, word).catch(isUnknown)
  return run ? thing('run', run.id) : fileReference(word)
}

function thing(kind: Place['kind'], id: string): Thing {
  return { place: { kind, id, how: 'asked about' } }
}

async function resultNamed(rows: Reading, id: string): Promise<Thing> {
  const found = /^[1-9]\d{0,14}$/.test(id) ? await findResult(rows, Number(id)) : undefined
  if (!found) throw notFound('result', id, 'heddle results')
  return thing('result', String(found.id))
}

async function approvalThing(rows: Reading, text: string): Promise<Thing> {
  const id = approvalId(text)
  if (!(await findApproval(rows, id))) throw notFound('approval', String(id), 'heddle approvals')
  return thing('approval', String(id))
}

async function sessionThing(rows: Reading, text: string, folder: string): Promise<Thing> {
  const label = text.replace(/^session:/, '').normalize('NFC')
  const [here] = await findSessions(rows, { label, folder })
  const session = here ?? (await sessionNamed(rows, text, folder))
  if (session.headTurnId === null)
    throw new HeddleError(
      'session_empty',
      `session "${session.label}" has no turn yet`,
      `say something in it: heddle ask -s ${session.label} "…"`,
    )
  return {
    ...thing('turn', session.headTurnId),
    session: {
      kind: 'session',
      id: session.label,
      title: session.folder,
      at: moment(session.updatedAt),
      how: 'asked about',
    },
  }
}

/** The first run of a chain that read files. */
async function firstReads(rows: Reading, chain: WhyLink[]): Promise<{ link: WhyLink; reads: Reads } | undefined> {
  const isWorker = ({ kind }: WhyLink) => kind === 'run' || kind === 'result'
  // A line that is from a result is from what that result's run read.
  const links = chain.filter(isWorker).slice(0, mostReaders)
  const fromResult = chain[0]?.kind === 'file' ? links.filter(({ kind }) => kind === 'result') : []
  for (const link of [...fromResult, ...links]) {
    const reads = await readsOf(rows, link.runId ?? link.id)
    if (reads) return { link, reads }
  }
  return undefined
}
