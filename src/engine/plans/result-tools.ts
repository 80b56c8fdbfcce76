import { z } from 'zod'
import type { Label } from '../../domain/label.ts'
import { listAgents } from '../../domain/profiles/agent-index.ts'
import type { Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import type { Tool } from '../../domain/tools/tool.ts'
import { readSteps } from '../../store/rows/steps.ts'
import type { Reading } from '../../store/store.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { dropRestored, lossNote, lostByResult } from '../files/lost-writes.ts'
import { answerAsText } from '../model/model-messages.ts'
import { agentsWithin } from '../model/role.ts'
import { readAgents } from '../policies/run-policies.ts'
import type { EndedStep } from '../run/context/journal.ts'
import type { Engine } from '../runtime.ts'
import { isOnPath, resultFor } from '../turns/ancestry.ts'
import { accessibleSessions, findCaller, refuseCall } from './plan-call.ts'

const defaultPage = 2000
const maxPageChars = 20_000

/** Tool that pages through an agent's result, or a tool's answer that was cut. */
export function readResult({ store, protect }: Pick<Engine, 'store' | 'protect'>): Tool<z.output<typeof pageInput>> {
  return defineTool(pageInput, {
    name: 'read_result',
    description:
      "Reads more of an agent's result (id) or of a truncated tool answer (call). offset and limit are in characters " +
      `(default limit: ${defaultPage}).`,
    effect: 'pure',
    action: 'result.list',
    run: ({ id, call, offset, limit }, { runId }) =>
      store.read(async (rows) => {
        const { run, home } = await findCaller(rows, runId)
        const branches = await accessibleSessions(rows, run, home)
        const found =
          call === undefined
            ? await resultText(rows, branches, protect, id)
            : await readCallAnswer(rows, branches, run, call)
        if (!found) {
          const what = call === undefined ? `result ${id}` : `call ${call}`
          return refuseCall(`there is no ${what} here`, 'a result is there when its agent has ended')
        }
        const page = found.text.slice(offset, offset + limit).toWellFormed()
        const left = found.text.length - offset - page.length
        const more = left > 0 ? `\n… [cut: ${left} more characters; continue with offset=${offset + page.length}]` : ''
        const note = found.note === undefined ? '' : `\n${found.note}`
        return { status: 'ok', output: `${page}${more}${note}`, ...(found.label && { label: found.label }) }
      }),
  })
}

interface Readable {
  text: string
  /** Note of the runtime, added to every page. */
  note?: string
  label?: Label | undefined
}

async function resultText(
  rows: Reading,
  branches: Session[],
  protect: ProtectedPlaces,
  id = 0,
): Promise<Readable | undefined> {
  const made = await resultFor(rows, branches, id)
  if (!made) return undefined
  const note = lossNote(await dropRestored(await lostByResult(rows, made.result, made.by), protect))
  return { text: made.result.output, label: made.by.label, ...(note !== '' && { note }) }
}

/** A tool's answer in this run, or in a turn on its path. */
async function readCallAnswer(
  rows: Reading,
  branches: Session[],
  run: Run,
  call: string,
): Promise<Readable | undefined> {
  const [runId = '', seq] = call.split('/')
  const isReadable = runId === run.id || (await isOnAnyPath(rows, branches, runId))
  const step = isReadable ? (await readSteps(rows, runId)).find((each) => each.seq === Number(seq)) : undefined
  if (step?.kind !== 'ended') return undefined
  const { output, label } = step.payload as EndedStep
  return { text: answerAsText(output), label }
}

async function isOnAnyPath(rows: Reading, branches: Session[], runId: string): Promise<boolean> {
  for (const branch of branches) if (await isOnPath(rows, branch, runId)) return true
  return false
}

const pageInput = z
  .strictObject({
    id: z.int().positive().optional(),
    call: z.string().min(1).max(64).optional(),
    offset: z.int().min(0).default(0),
    limit: z.int().min(1).max(maxPageChars).default(defaultPage),
  })
  .refine(({ id, call }) => (id === undefined) !== (call === undefined), 'give either id or call')

/** Max agents in one answer of `list_agents`. */
const maxAgents = 100

const listInput = () =>
  z.strictObject({
    query: z.string().max(200).optional().describe('only those with this text in name, description or tags'),
    offset: z.int().min(0).default(0),
  })

/** Tool that lists the agents work can be delegated to. */
export function listAgentsTool({ store, agents, registry }: Engine): Tool<z.output<ReturnType<typeof listInput>>> {
  return defineTool(listInput, {
    name: 'list_agents',
    description: `Lists the agents that can be started, with a description; at most ${maxAgents} at a time.`,
    effect: 'pure',
    action: 'agent.list',
    async run({ query = '', offset }, { runId }) {
      const { run, home, entries } = await store.read(async (rows) => ({
        ...(await findCaller(rows, runId)),
        entries: await readAgents(rows, registry),
      }))
      const words = query.toLowerCase()
      const files = agentsWithin(agents.list(home.folder), run.ceiling)
      const found = listAgents(entries, files).filter((agent) =>
        [agent.name, agent.description, ...agent.tags].some((text) => text.toLowerCase().includes(words)),
      )
      const shown = found
        .slice(offset, offset + maxAgents)
        .map(({ tags, ...agent }) => ({ ...agent, ...(tags.length > 0 && { tags }) }))
      const rest = found.length - offset - shown.length
      return { status: 'ok', output: { agents: shown, ...(rest > 0 && { more: rest, next: offset + shown.length }) } }
    },
  })
}
