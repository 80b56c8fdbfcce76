import { z } from 'zod'
import type { Label } from '../domain/label.ts'
import type { Run } from '../domain/run.ts'
import type { Session } from '../domain/session.ts'
import type { Tool } from '../domain/tool.ts'
import { readSteps } from '../store/steps.ts'
import type { Reading } from '../store/store.ts'
import { parsedBy } from '../tools/tool-input.ts'
import { isOnPath, resultFor } from './ancestry.ts'
import { answerAsText, type EndedStep } from './journal.ts'
import { branchesOf, callerOf, refused } from './plan-call.ts'
import type { AgentIndex, World } from './world.ts'

const usualPage = 2000
const largestPage = 20_000

/** Reads on where a summary ends, or where a tool's answer was cut. */
export function readResult({ store }: World): Tool<z.output<typeof pageInput>> {
  return {
    name: 'read_result',
    description:
      `Reads on in an agent's result (id), or in a tool's answer that was cut (call): offset and limit in characters ` +
      `(${usualPage} unless you say so).`,
    inputSchema: {
      type: 'object',
      properties: {
        id: { type: 'integer' },
        call: { type: 'string' },
        offset: { type: 'integer' },
        limit: { type: 'integer' },
      },
      additionalProperties: false,
    },
    effect: 'pure',
    parse: parsedBy(pageInput),
    run: ({ id, call, offset, limit }, { runId }) =>
      store.read(async (rows) => {
        const { run, home } = await callerOf(rows, runId)
        const branches = await branchesOf(rows, run, home)
        const found =
          call === undefined ? await resultText(rows, branches, id) : await answerText(rows, branches, run, call)
        if (!found) {
          const what = call === undefined ? `result ${id}` : `call ${call}`
          return refused(`there is no ${what} here`, 'a result is there when its agent has ended')
        }
        const page = found.text.slice(offset, offset + limit).toWellFormed()
        const left = found.text.length - offset - page.length
        const more = left > 0 ? `\n… [cut: ${left} more characters; read on with offset=${offset + page.length}]` : ''
        return { status: 'ok', output: `${page}${more}`, ...(found.label && { label: found.label }) }
      }),
  }
}

interface Readable {
  text: string
  label?: Label | undefined
}

async function resultText(rows: Reading, branches: Session[], id = 0): Promise<Readable | undefined> {
  const made = await resultFor(rows, branches, id)
  return made && { text: made.result.output, label: made.by.label }
}

/** What a tool answered in this run, or in a turn on its path. */
async function answerText(rows: Reading, branches: Session[], run: Run, call: string): Promise<Readable | undefined> {
  const [runId = '', seq] = call.split('/')
  const isMine = runId === run.id || (await someOnPath(rows, branches, runId))
  const step = isMine ? (await readSteps(rows, runId)).find((each) => each.seq === Number(seq)) : undefined
  if (step?.kind !== 'ended') return undefined
  const { output, label } = step.payload as EndedStep
  return { text: answerAsText(output), label }
}

async function someOnPath(rows: Reading, branches: Session[], runId: string): Promise<boolean> {
  for (const branch of branches) if (await isOnPath(rows, branch, runId)) return true
  return false
}

const pageInput = z
  .strictObject({
    id: z.int().positive().optional(),
    call: z.string().min(1).max(64).optional(),
    offset: z.int().min(0).default(0),
    limit: z.int().min(1).max(largestPage).default(usualPage),
  })
  .refine(({ id, call }) => (id === undefined) !== (call === undefined), 'give either id or call')

/** Everyone who can be given work, by name and one line. */
export function listAgents({ store }: World, agents: AgentIndex): Tool<object> {
  return {
    name: 'list_agents',
    description: 'Everyone who can be given work: name and one line.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    effect: 'pure',
    parse: parsedBy(z.strictObject({})),
    async run(_, { runId }) {
      const { home } = await store.read((rows) => callerOf(rows, runId))
      const found = agents.list(home.folder).map(({ name, description }) => ({ name, description }))
      return { status: 'ok', output: { agents: found } }
    },
  }
}
