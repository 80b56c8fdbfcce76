import { z } from 'zod'
import type { FileSearch } from '../../api/views/memory.ts'
import { HeddleError } from '../../domain/errors.ts'
import { joinLabels } from '../../domain/label.ts'
import { type Memory, savedDay, trustTool } from '../../domain/memory.ts'
import { escapeInvisible } from '../../domain/text/visible.ts'
import type { CallContext, Tool } from '../../domain/tools/tool.ts'
import { storedContent, withMarkedValues } from '../../memory/marked-values.ts'
import { recall } from '../../memory/recall.ts'
import {
  getActiveMemory,
  getChangeableMemory,
  getUntrustedMemory,
  remember,
  rewrite,
  type StoredMemory,
  trustMemory,
} from '../../memory/remember.ts'
import { addScore } from '../../store/knowledge/memories.ts'
import { linkMemory } from '../../store/rows/results.ts'
import type { Tx } from '../../store/store.ts'
import { defineTool, withAlias } from '../../tools/define-tool.ts'
import { accessibleSessions, findCaller } from '../plans/plan-call.ts'
import type { Runtime } from '../runtime.ts'
import { resultFor } from '../turns/ancestry.ts'

/** Score changes of memory_reinforce and memory_demote. */
const reinforceBy = 3
const demoteBy = -1
const defaultCount = 5
const maxCount = 20
/** Max characters of another memory mentioned in an answer. */
const maxMention = 500

const words = z.array(z.string().min(1).max(100)).max(50)
const storeInput = () =>
  z.strictObject({
    content: z.string(),
    tags: words.exactOptional(),
    keywords: words.exactOptional(),
    result_id: z.int().positive().exactOptional(),
    task_id: z.int().positive().exactOptional(),
    replaces: z.int().positive().exactOptional(),
  })
const queryInput = () =>
  z.strictObject({ query: z.string(), limit: z.int().min(1).max(maxCount).default(defaultCount) })
const updateInput = () =>
  z.strictObject({
    id: z.int().positive(),
    content: z.string().min(1).exactOptional(),
    tags: words.exactOptional(),
    keywords: words.exactOptional(),
  })
const idInput = () => z.strictObject({ id: z.int().positive() })

interface MemorySettings {
  /** Max active memories; those with the lowest score are archived. */
  maxMemories: number
  /** Search over the owner's files in the home, if enabled. */
  files?: FileSearch | undefined
}

/** Tools for memory. Workers have none of these except the query, if their agent file lists it. */
export function memoryTools(runtime: Runtime, settings: MemorySettings): Tool[] {
  const store = memoryStore(runtime, settings) as Tool
  const query = memoryQuery(runtime, settings) as Tool
  return [
    store,
    withAlias(store, 'remember', 'The same as memory_store.'),
    query,
    withAlias(query, 'recall', 'The same as memory_query.'),
    memoryUpdate(runtime, settings),
    scoreTool('memory_reinforce', reinforceBy, 'Raises the score of a memory that proved right.'),
    memoryTrust(runtime, settings),
    scoreTool('memory_demote', demoteBy, 'Lowers the score of a memory that did not help.'),
  ] as Tool[]
}

function memoryStore(runtime: Runtime, { maxMemories }: MemorySettings): Tool<z.output<ReturnType<typeof storeInput>>> {
  return defineTool(storeInput, {
    name: 'memory_store',
    description:
      'Saves one self-contained fact. keywords: other words to find it by. result_id: its source. replaces: id of a ' +
      'memory that is no longer true; without it nothing is replaced, and the answer lists similar memories (near).',
    effect: 'transactional',
    action: 'memory.write',
    guarded: true,
    async write(transaction, { result_id, task_id, ...statement }, call) {
      const tx = transaction as Tx
      const result = result_id === undefined ? undefined : await ownResult(tx, result_id, call)
      const kept = await remember(
        tx,
        {
          ...(await withValues(runtime, tx, statement)),
          source: 'agent',
          label: memoryLabel(call),
          runId: call.runId,
          resultId: result?.id ?? null,
          taskId: task_id ?? result?.taskId ?? null,
        },
        runtime.clock.now(),
        maxMemories,
      )
      if (result) await linkMemory(tx, result.id, kept.id)
      return { status: 'ok', output: { status: 'ok', ...renderKept(markedIn(runtime, kept)) } }
    },
  })
}

function memoryQuery(runtime: Runtime, { files }: MemorySettings): Tool<z.output<ReturnType<typeof queryInput>>> {
  return defineTool(queryInput, {
    name: 'memory_query',
    description:
      "Searches memories and the user's notes, best match first. Cite a memory as [id:N], a note as [path:line].",
    effect: 'pure',
    action: 'memory.read',
    async run({ query, limit }) {
      const { store, clock, semanticIndex: meaning, markSecrets = (value) => value } = runtime
      const semantic = await meaning?.search(query)
      const found = await store.read((rows) => recall(rows, query, clock.now(), limit, semantic))
      const label = joinLabels(found.map(({ memory }) => memory.label))
      const memories = found.map(({ memory, rank, words }) => ({
        ...memoryRow(memory),
        rank: Number(rank.toFixed(3)),
        ...(words.length === 0 && { by: 'meaning' }),
      }))
      const note = semantic?.reason === undefined ? {} : { note: `by words only: ${semantic.reason}` }
      const passages = await files?.searchFiles(query, { limit })
      const output = markSecrets({ memories, ...(passages && { files: passages }), ...note })
      return { status: 'ok', output, label }
    },
  })
}

function memoryUpdate(
  runtime: Runtime,
  { maxMemories }: MemorySettings,
): Tool<z.output<ReturnType<typeof updateInput>>> {
  return defineTool(updateInput, {
    name: 'memory_update',
    description: 'Changes the text, tags or keywords of a memory. The old version stays readable.',
    effect: 'transactional',
    action: 'memory.write',
    guarded: true,
    async write(transaction, { id, ...change }, call) {
      const { markedParts } = runtime
      const tx = transaction as Tx
      const by = { source: 'agent' as const, label: memoryLabel(call), runId: call.runId }
      const full = markedParts ? withMarkedValues(change, await getActiveMemory(tx, id), markedParts) : change
      const kept = await rewrite(tx, id, full, by, runtime.clock.now(), maxMemories)
      const superseded = kept.superseded.map((older) => older.id)
      return {
        status: 'ok',
        output: { status: 'ok', ...renderKept(markedIn(runtime, kept)), ...(superseded.length > 0 && { superseded }) },
      }
    },
  })
}

function memoryTrust(
  { store, clock, markSecrets = (value) => value }: Runtime,
  { maxMemories }: MemorySettings,
): Tool<z.output<ReturnType<typeof idInput>>> {
  return defineTool(idInput, {
    name: trustTool,
    description: 'Makes an untrusted memory trusted. The user is always asked, and sees its text and its sources.',
    effect: 'transactional',
    action: 'memory.write',
    guarded: true,
    sink: () => ({ sink: 'memory' }),
    asks: async () => 'a memory becomes trusted only if you say so',
    async preview({ id }) {
      const { content, label } = await store.read((rows) => getUntrustedMemory(rows, id))
      const sources = label.sources.map(escapeInvisible).join(', ')
      return {
        facts: [
          { name: 'makes', value: `memory:${id} trusted: agents are reminded of it unasked` },
          { name: 'from', value: sources || 'an untrusted source' },
        ],
        change: escapeInvisible(markSecrets(content)),
        frozen: { content, label },
      }
    },
    async write(transaction, { id }) {
      const kept = await trustMemory(transaction as Tx, id, clock.now(), maxMemories)
      return { status: 'ok', output: { status: 'ok', id: kept.id, superseded: [id] } }
    },
  })
}

function scoreTool(name: string, by: number, description: string): Tool<z.output<ReturnType<typeof idInput>>> {
  return defineTool(idInput, {
    name,
    description,
    effect: 'transactional',
    action: 'memory.write',
    async write(transaction, { id }, call) {
      const tx = transaction as Tx
      await getChangeableMemory(tx, id, memoryLabel(call))
      return { status: 'ok', output: { status: 'ok', id, score: await addScore(tx, id, by) } }
    },
  })
}

/** A memory in a tool's answer. */
function memoryRow(memory: Memory) {
  const { id, content, tags, score, resultId, taskId, label } = memory
  return {
    id: `[id:${id}]`,
    content,
    date: savedDay(memory),
    ...(tags.length > 0 && { tags }),
    score,
    ...(resultId !== null && { from: `result:${resultId}` }),
    ...(resultId === null && taskId !== null && { from: `task:${taskId}` }),
    ...(label.integrity === 'untrusted' && { untrusted: label.sources }),
  }
}

/** A statement of a model, which was shown secrets as marks: they stand for the values again. */
async function withValues<T extends { content: string; replaces?: number }>(
  { markedParts }: Runtime,
  tx: Tx,
  statement: T,
): Promise<T> {
  if (!markedParts) return statement
  const { content, replaces } = statement
  if (replaces !== undefined) return withMarkedValues(statement, await getActiveMemory(tx, replaces), markedParts)
  return { ...statement, content: await storedContent(tx, content, markedParts) }
}

function markedIn({ markSecrets }: Runtime, kept: StoredMemory): StoredMemory {
  return markSecrets?.(kept) ?? kept
}

/** Answer after storing a statement: what is stored, what it replaced, and similar memories. */
function renderKept({ id, content, isMerged, superseded, near }: StoredMemory) {
  const [first] = near
  return {
    id,
    content: truncate(content),
    ...(isMerged && superseded.length === 0 && { note: 'already saved; its score went up' }),
    ...(superseded.length > 0 && { superseded: superseded.map(mention) }),
    ...(first && {
      near: near.map(mention),
      note:
        (isMerged
          ? 'already saved; its score went up. The similar ones under near were saved since and are unchanged. '
          : `saved as [id:${id}]; the similar ones under near are unchanged. `) +
        `To replace one that is no longer true: memory_store with the same content and replaces: ${first.id}`,
    }),
  }
}

/** A memory without its content if it is untrusted: this answer must not carry untrusted text. */
function mention(memory: Memory) {
  const { content, ...row } = memoryRow(memory)
  return { ...row, ...(memory.label.integrity === 'trusted' && { content: truncate(content) }) }
}

function truncate(text: string): string {
  return text.length > maxMention ? `${text.slice(0, maxMention).toWellFormed()}…` : text
}

/** Label of a stored memory: untrusted content stays untrusted, however long it is stored. */
function memoryLabel({ label }: CallContext) {
  return joinLabels(label ? [label] : [])
}

/** A result that this session or its requester received. */
async function ownResult(tx: Tx, id: number, { runId }: Pick<CallContext, 'runId'>) {
  const { run, home } = await findCaller(tx, runId)
  const made = await resultFor(tx, await accessibleSessions(tx, run, home), id)
  if (made) return made.result
  throw new HeddleError(
    'not_found',
    `there is no result ${id} here`,
    'leave result_id out, or use a result id that you have seen',
  )
}
