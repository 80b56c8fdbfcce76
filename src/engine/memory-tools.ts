import { z } from 'zod'
import { HeddleError } from '../domain/errors.ts'
import { joinLabels } from '../domain/label.ts'
import type { Memory } from '../domain/memory.ts'
import type { FileSearch } from '../domain/memory-views.ts'
import type { CallContext, Tool } from '../domain/tool.ts'
import { recall } from '../memory/recall.ts'
import { mustChange, type Remembered, remember, rewrite } from '../memory/remember.ts'
import { addScore } from '../store/memories.ts'
import { linkMemory } from '../store/results.ts'
import type { Tx } from '../store/store.ts'
import { parsedBy } from '../tools/tool-input.ts'
import { resultFor } from './ancestry.ts'
import { branchesOf, callerOf } from './plan-call.ts'
import type { World } from './world.ts'

/** How much one of them counts when it proved right, and when it did not. */
const reinforced = 3
const demoted = -1
const usualCount = 5
const mostCount = 20
/** Characters of a statement in an answer to whoever stores one. */
const longestMention = 500

const words = z.array(z.string().min(1).max(100)).max(50)
const storeInput = z.strictObject({
  content: z.string(),
  tags: words.exactOptional(),
  keywords: words.exactOptional(),
  result_id: z.int().positive().exactOptional(),
  task_id: z.int().positive().exactOptional(),
  replaces: z.int().positive().exactOptional(),
})
const queryInput = z.strictObject({ query: z.string(), limit: z.int().min(1).max(mostCount).default(usualCount) })
const updateInput = z.strictObject({
  id: z.int().positive(),
  content: z.string().min(1).exactOptional(),
  tags: words.exactOptional(),
  keywords: words.exactOptional(),
})
const idInput = z.strictObject({ id: z.int().positive() })

export interface MemorySettings {
  /** So many are kept where they are found; those that count least go to the archive. */
  most: number
  /** What the owner wrote into the home, where it is to be found. */
  files?: FileSearch | undefined
}

/** What an agent does with what it knows. Whoever works for others has none of these but the query, if its file says so. */
export function memoryTools(world: World, settings: MemorySettings): Tool[] {
  const store = memoryStore(world, settings)
  const query = memoryQuery(world, settings)
  return [
    store,
    { ...store, name: 'remember', description: 'The same as memory_store.' },
    query,
    { ...query, name: 'recall', description: 'The same as memory_query.' },
    memoryUpdate(world, settings),
    scored('memory_reinforce', reinforced, 'A memory proved right: it counts more from now on.'),
    scored('memory_demote', demoted, 'A memory was of no use: it counts less from now on.'),
  ] as Tool[]
}

function memoryStore(world: World, { most }: MemorySettings): Tool<z.output<typeof storeInput>> {
  return {
    name: 'memory_store',
    description:
      'Keeps a fact for later: one statement that can be understood by itself. keywords: other words that one would ' +
      'look for it by. result_id: the result it is from. replaces: the id of a memory that no longer holds; without it ' +
      'nothing is replaced, and the answer names what looks alike (near).',
    inputSchema: {
      type: 'object',
      properties: {
        content: { type: 'string' },
        tags: { type: 'array', items: { type: 'string' } },
        keywords: { type: 'array', items: { type: 'string' } },
        result_id: { type: 'integer' },
        task_id: { type: 'integer' },
        replaces: { type: 'integer' },
      },
      required: ['content'],
      additionalProperties: false,
    },
    effect: 'transactional',
    guarded: true,
    parse: parsedBy(storeInput),
    async write(transaction, { result_id, task_id, ...said }, call) {
      const tx = transaction as Tx
      const result = result_id === undefined ? undefined : await ownResult(tx, result_id, call)
      const kept = await remember(
        tx,
        {
          ...said,
          source: 'agent',
          label: labelOf(call),
          runId: call.runId,
          resultId: result?.id ?? null,
          taskId: task_id ?? result?.taskId ?? null,
        },
        world.clock.now(),
        most,
      )
      if (result) await linkMemory(tx, result.id, kept.id)
      return { status: 'ok', output: { status: 'ok', ...told(kept) } }
    },
  }
}

function memoryQuery({ store, clock, meaning }: World, { files }: MemorySettings): Tool<z.output<typeof queryInput>> {
  return {
    name: 'memory_query',
    description:
      'What is known that fits the query, best first: memories, and files that the person wrote. Cite a memory as ' +
      '[id:N], a file as [path:line].',
    inputSchema: {
      type: 'object',
      properties: { query: { type: 'string' }, limit: { type: 'integer' } },
      required: ['query'],
      additionalProperties: false,
    },
    effect: 'pure',
    parse: parsedBy(queryInput),
    async run({ query, limit }) {
      const meant = await meaning?.of(query)
      const found = await store.read((rows) => recall(rows, query, clock.now(), limit, meant))
      const label = joinLabels(found.map(({ memory }) => memory.label))
      const memories = found.map(({ memory, rank, words }) => ({
        ...row(memory),
        rank: Number(rank.toFixed(3)),
        ...(words.length === 0 && { by: 'meaning' }),
      }))
      const note = meant?.trouble === undefined ? {} : { note: `by words alone: ${meant.trouble}` }
      const passages = await files?.searchFiles(query, { limit })
      return { status: 'ok', output: { memories, ...(passages && { files: passages }), ...note }, label }
    },
  }
}

function memoryUpdate(world: World, { most }: MemorySettings): Tool<z.output<typeof updateInput>> {
  return {
    name: 'memory_update',
    description: 'Says a memory anew, or gives it other tags or keywords. The old words stay readable behind the new.',
    inputSchema: {
      type: 'object',
      properties: {
        id: { type: 'integer' },
        content: { type: 'string' },
        tags: { type: 'array', items: { type: 'string' } },
        keywords: { type: 'array', items: { type: 'string' } },
      },
      required: ['id'],
      additionalProperties: false,
    },
    effect: 'transactional',
    guarded: true,
    parse: parsedBy(updateInput),
    async write(transaction, { id, ...change }, call) {
      const by = { source: 'agent' as const, label: labelOf(call), runId: call.runId }
      const kept = await rewrite(transaction as Tx, id, change, by, world.clock.now(), most)
      const superseded = kept.superseded.map((older) => older.id)
      return { status: 'ok', output: { status: 'ok', ...told(kept), ...(superseded.length > 0 && { superseded }) } }
    },
  }
}

function scored(name: string, by: number, description: string): Tool<z.output<typeof idInput>> {
  return {
    name,
    description,
    inputSchema: {
      type: 'object',
      properties: { id: { type: 'integer' } },
      required: ['id'],
      additionalProperties: false,
    },
    effect: 'transactional',
    parse: parsedBy(idInput),
    async write(transaction, { id }, call) {
      const tx = transaction as Tx
      await mustChange(tx, id, labelOf(call))
      return { status: 'ok', output: { status: 'ok', id, score: await addScore(tx, id, by) } }
    },
  }
}

/** A memory as a model is shown it. */
export function row({ id, content, tags, score, resultId, taskId, label }: Memory) {
  return {
    id: `[id:${id}]`,
    content,
    ...(tags.length > 0 && { tags }),
    score,
    ...(resultId !== null && { from: `result:${resultId}` }),
    ...(resultId === null && taskId !== null && { from: `task:${taskId}` }),
    ...(label.integrity === 'untrusted' && { untrusted: label.sources }),
  }
}

/** What became of a statement, as a model is told it: what is kept, what it replaced, and what looks alike. */
function told({ id, content, isMerged, superseded, near }: Remembered) {
  const [first] = near
  return {
    id,
    content: shortened(content),
    ...(isMerged && superseded.length === 0 && { note: 'the same statement was known already; it counts more now' }),
    ...(superseded.length > 0 && { superseded: superseded.map(mention) }),
    ...(first && {
      near: near.map(mention),
      note:
        `kept as [id:${id}]; those under near look alike and stay. To replace one that no longer holds: memory_store ` +
        `with the same content and replaces: ${first.id}`,
    }),
  }
}

/** A memory with its date. Of what strangers said only that it is there: this answer must not carry their words. */
function mention(memory: Memory) {
  const { content, ...shown } = row(memory)
  const date = new Date(memory.createdAt).toISOString().slice(0, 10)
  return { ...shown, date, ...(memory.label.integrity === 'trusted' && { content: shortened(content) }) }
}

function shortened(text: string): string {
  return text.length > longestMention ? `${text.slice(0, longestMention).toWellFormed()}…` : text
}

/** Of everything that led to it: what strangers said stays theirs, however long it is kept. */
function labelOf({ label }: CallContext) {
  return joinLabels(label ? [label] : [])
}

/** A result that this conversation was told of. */
async function ownResult(tx: Tx, id: number, { runId }: Pick<CallContext, 'runId'>) {
  const { run, home } = await callerOf(tx, runId)
  const made = await resultFor(tx, await branchesOf(tx, run, home), id)
  if (made) return made.result
  throw new HeddleError(
    'not_found',
    `there is no result ${id} here`,
    'leave result_id out, or name one you were told of',
  )
}
