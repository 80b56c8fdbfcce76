import type { WhyLink, WhyView } from '../../api/views/why.ts'
import { HeddleError, UsageError } from '../../domain/errors.ts'
import { idPattern } from '../../domain/id.ts'
import { parseReference } from '../../domain/reference.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import { getNarrative } from '../../memory/narratives.ts'
import { findMemory } from '../../store/knowledge/memories.ts'
import { findApproval } from '../../store/rows/approvals.ts'
import { findResult } from '../../store/rows/results.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import { findThread } from '../../store/rows/threads.ts'
import type { Reading, Store } from '../../store/store.ts'
import { hasEntry, hashIn, hashNow } from '../files/file-now.ts'
import { resolvePlan, resolveTask } from '../plans/plan-views.ts'
import { notFound, resolveSession, routeToThread } from '../turns/route.ts'
import { approvalId } from '../views/questions.ts'
import { resolveRun } from '../views/runs.ts'
import { type ChainNode, moment, walkBack } from './chain.ts'
import { addressOf, type FileReference, type FileWrite, fileReference, findFile, whyFile } from './file.ts'
import { compareReads, type Reads, readsOf } from './files-read.ts'
import { consequencesOfFile, walkForward } from './forward.ts'
import { markView } from './mark-view.ts'
import { type Budget, notesOn } from './notes.ts'
import { storyOf } from './story.ts'

/** Context of `why`. */
interface WhyContext {
  store: Store
  /** Folders of the runtime, which are never read. */
  protect: ProtectedPlaces
  budget: Budget
  /** Marks the values of stored secrets in what is shown. */
  markSecrets?<T>(value: T): T
}

/** Max links that are checked for files that were read. */
const maxReaders = 4

/**
 * Explains why a stored thing or a file exists: the chain from it back to the user's input, and notes. Uses only rows and files, no
 * model; every query is by key.
 */
export async function why(
  context: WhyContext,
  folder: string,
  text: string,
  options: { forward?: boolean } = {},
): Promise<WhyView> {
  const { store, markSecrets } = context
  const view = await explain(context, folder, text, options)
  return markSecrets ? store.read((rows) => markView(rows, view, markSecrets)) : view
}

async function explain(
  { store, ...context }: WhyContext,
  folder: string,
  text: string,
  { forward = false }: { forward?: boolean },
): Promise<WhyView> {
  const target = await store.read((rows) => resolveSubject(rows, text, folder))
  const { view, written } =
    'path' in target
      ? await explainFile(store, await namedFile(target, folder, context.protect), folder, context.protect)
      : { view: await store.read((rows) => explainSubject(rows, target, context)) }
  const read = await store.read((rows) => firstReads(rows, view.chain))
  if (read) read.link.read = await compareReads(read.reads, context.protect)
  const story = await store.read((rows) => storyOf(rows, view.chain))
  const explained = story ? { ...view, story } : view
  // Consequences of a session are those of its head.
  const first = view.chain.find(({ kind }) => kind !== 'session')
  if (!forward || !first) return explained
  return store.read(async (rows) => {
    if (!written) return { ...explained, forward: await walkForward(rows, first) }
    const { links, notes } = await consequencesOfFile(rows, written)
    return {
      ...explained,
      notes: [...explained.notes, ...notes],
      forward: await walkForward(rows, first, links),
    }
  })
}

/** A stored thing that is asked about. `session`: it is the head of this session, which was named. */
interface Subject {
  node: ChainNode
  session?: WhyLink
}

async function explainSubject(
  rows: Reading,
  { node, session }: Subject,
  context: Omit<WhyContext, 'store'>,
): Promise<WhyView> {
  const chain = await walkBack(rows, session ? { ...node, how: 'points at' } : node)
  const notes = await notesOn(rows, node.kind, node.id, context)
  return session
    ? { ref: `session:${session.id}`, chain: [session, ...chain], notes }
    : { ref: `${node.kind}:${node.id}`, chain, notes }
}

/** Prefers a file that is really named `notes:12` to line 12 of `notes`; `notes:12:3` is its third line then. */
async function namedFile(reference: FileReference, folder: string, protect: ProtectedPlaces): Promise<FileReference> {
  const { path, line, column } = reference
  if (line === undefined || !(await hasEntry({ folder, path: `${path}:${line}`, protect }))) return reference
  return { path: `${path}:${line}`, ...(column !== undefined && { line: column }) }
}

async function explainFile(
  store: Store,
  reference: FileReference,
  folder: string,
  protect: ProtectedPlaces,
): Promise<{ view: WhyView; written?: FileWrite }> {
  for (let attempt = 1; ; attempt++) {
    const address = await store.read((rows) => addressOf(rows, reference, { folder, protect }))
    const before = await hashNow(address)
    // All records as they were at one moment: a command that ends between two reads would be in neither.
    const { view, written, hash } = await store.snapshot(async (rows) => {
      const found = await findFile(rows, reference, { folder, protect })
      const { written, ...explained } = await whyFile(rows, reference, found, { folder, protect })
      const view = { ref: `file:${explained.chain[0]?.id ?? found.displayPath}`, ...explained }
      return { view, written, hash: hashIn(found.now) }
    })
    // Else the file was changed meanwhile: the view may mix two contents.
    if (hash === before || attempt === maxAttempts) return { view, written }
  }
}

/** Max attempts to explain a file that is changed meanwhile. */
const maxAttempts = 5

/** Resolves a reference. A bare word is a session, a turn or a run; else a file. */
async function resolveSubject(rows: Reading, text: string, folder: string): Promise<Subject | FileReference> {
  const { kind, id } = parseReference(text)
  switch (kind) {
    case 'turn':
      return subject('turn', (await routeToThread(rows, text, folder)).turnId)
    case 'run':
      return subject('run', ((await findRun(rows, id)) ?? (await resolveRun(rows, id))).id)
    case 'task':
      return subject('task', String((await resolveTask(rows, text)).id))
    case 'plan':
      return subject('plan', String((await resolvePlan(rows, text)).id))
    case 'result':
      return resultSubject(rows, id)
    case 'approval':
      return approvalSubject(rows, text)
    case 'memory':
      return memorySubject(rows, id)
    case 'narrative':
      return subject('narrative', String((await getNarrative(rows, id)).id))
    case 'session':
      return sessionSubject(rows, text, folder)
    case 'file':
      return fileReference(id)
    case null:
      return resolveWord(rows, id, folder)
    default:
      throw new UsageError(
        `heddle why does not support ${text}`,
        'use turn:, run:, task:, plan:, result:, approval:, memory:, narrative:, session: or file:PATH:LINE',
        'wrong_kind',
      )
  }
}

async function memorySubject(rows: Reading, id: string): Promise<Subject> {
  const memory = /^[1-9]\d{0,14}$/.test(id) ? await findMemory(rows, Number(id)) : undefined
  if (!memory) throw notFound('memory', id)
  return subject('memory', id)
}

async function resolveWord(rows: Reading, word: string, folder: string): Promise<Subject | FileReference> {
  const [here] = await findSessions(rows, { label: word.normalize('NFC'), folder })
  if (here) return sessionSubject(rows, `session:${word}`, folder)
  if (!/^[0-9a-hjkmnp-tv-z]{3,20}$/.test(word)) return fileReference(word)
  if (idPattern.test(word)) {
    if (await findThread(rows, word)) return subject('turn', word)
    if (await findRun(rows, word)) return subject('run', word)
  }
  const isUnknown = (error: unknown) => {
    if (!(error instanceof HeddleError) || error.code !== 'not_found') throw error
    return undefined
  }
  const thread = await routeToThread(rows, `turn:${word}`, folder).catch(isUnknown)
  if (thread) return subject('turn', thread.turnId)
  const run = await resolveRun(rows, word).catch(isUnknown)
  return run ? subject('run', run.id) : fileReference(word)
}

function subject(kind: ChainNode['kind'], id: string): Subject {
  return { node: { kind, id, how: 'asked about' } }
}

async function resultSubject(rows: Reading, id: string): Promise<Subject> {
  const found = /^[1-9]\d{0,14}$/.test(id) ? await findResult(rows, Number(id)) : undefined
  if (!found) throw notFound('result', id)
  return subject('result', String(found.id))
}

async function approvalSubject(rows: Reading, text: string): Promise<Subject> {
  const id = approvalId(text)
  if (!(await findApproval(rows, id))) throw notFound('approval', String(id))
  return subject('approval', String(id))
}

async function sessionSubject(rows: Reading, text: string, folder: string): Promise<Subject> {
  const label = text.replace(/^session:/, '').normalize('NFC')
  const [here] = await findSessions(rows, { label, folder })
  const session = here ?? (await resolveSession(rows, text, folder))
  if (session.headTurnId === null)
    throw new HeddleError(
      'session_empty',
      `session "${session.label}" has no turn yet`,
      `say something in it: heddle ask -s ${session.label} "…"`,
    )
  return {
    ...subject('turn', session.headTurnId),
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
  // A line that comes from a result is based on what that result's run read.
  const links = chain.filter(isWorker).slice(0, maxReaders)
  const fromResult = chain[0]?.kind === 'file' ? links.filter(({ kind }) => kind === 'result') : []
  for (const link of [...fromResult, ...links]) {
    const reads = await readsOf(rows, link.runId ?? link.id)
    if (reads) return { link, reads }
  }
  return undefined
}
