import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ApprovalView } from '../../src/api/views/approval.ts'
import type { Answer } from '../../src/domain/approval.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { decide } from '../../src/engine/run/approvals/decide.ts'
import { listApprovals } from '../../src/engine/views/questions.ts'
import { type ScriptedReply, scriptedModel } from '../../src/models/scripted.ts'
import { systemClock } from '../../src/system.ts'
import { execTool } from '../../src/tools/exec/sandbox/exec-tool.ts'
import { fileTools } from '../../src/tools/files/file-tools.ts'
import type { Database } from '../setup/places.ts'
import { newEngine, type TestEngine } from './engine.ts'
import { spawnTool } from './family.ts'

export type Walls = 'sandbox' | 'network' | 'none'

/** An engine with the real tools for files and commands, in a folder of its own. Its model makes the calls it is told. */
export interface Workshop {
  under: TestEngine
  folder: string
  write(files: Record<string, string>): void
  /** Has these calls made, in one reply each, in a session. */
  ask(replies: Calls[], label?: string): Promise<void>
  /** The questions that are open, once there are so many. */
  asked(count?: number): Promise<ApprovalView[]>
  askedAgain(): Promise<ApprovalView>
  say(question: ApprovalView | undefined, answer: Answer): Promise<unknown>
  /** What each call came to, once a session has so many turns. */
  outcomes(turns: number, label?: string): Promise<string[]>
  /** Stops the work until somebody calls `under.work()`. */
  rest(): Promise<void>
  remove(): Promise<void>
}

export type Calls = { name: string; input: Record<string, unknown> | string }[]

export const run = (command: string, cwd?: string): Calls => [
  { name: 'exec', input: { command, ...(cwd !== undefined && { cwd }) } },
]
export const put = (path: string, content: string): Calls => [{ name: 'write_file', input: { path, content } }]

/** Every message is a list of replies, as JSON: what has been answered so far tells which is next. */
const obedient = () =>
  scriptedModel(({ messages }): ScriptedReply => {
    const at = messages.findLastIndex(({ role }) => role === 'user')
    const content = messages[at]?.content ?? ''
    if (!content.startsWith('[')) return { text: 'ok' }
    const replies = JSON.parse(content) as Calls[]
    const made = messages.slice(at + 1).filter(({ role }) => role === 'assistant').length
    const calls = replies[made]
    return calls ? { calls } : { text: 'done' }
  })

export async function newWorkshop(database: Database, walls: Walls, ask = ['exec']): Promise<Workshop> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-workshop-')))
  const limits = { timeoutSeconds: 60, maxTimeoutSeconds: 60, memoryMB: 1024, processes: 200 }
  const config = { sandbox: walls === 'none' ? 'off' : 'on', network: walls === 'network', ...limits } as const
  const found = await execTool(config, { clock: systemClock, env: process.env })
  if ('obstacle' in found) throw new Error(found.obstacle.why)
  const tools: Tool[] = [...fileTools(systemClock), found.tool, spawnTool(() => under)]
  const under = await newEngine(database, obedient(), { tools, ask, limits: { timeoutMs: 600_000 } })
  const worker = await under.work()
  const asked: Workshop['asked'] = (count = 1) =>
    under.until(async (rows) => {
      const open = await listApprovals(rows)
      return open.length === count && open
    })
  return {
    under,
    folder,
    write(files) {
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, name)), { recursive: true })
        writeFileSync(join(folder, name), content)
      }
    },
    ask: async (replies, label = 'main') => void (await under.say(JSON.stringify(replies), { folder, label })),
    asked,
    askedAgain: () => under.until(async (rows) => (await listApprovals(rows)).find(({ isAskedAgain }) => isAskedAgain)),
    say: (question, answer) =>
      decide(under.engine, question?.id ?? 0, { answer, ...(question && { hash: question.hash }) }),
    async outcomes(turns, label = 'main') {
      const path = await under.turnsIn(folder, turns, label)
      const steps = await under.runtime.store.read((rows) =>
        rows.all(
          rows.build
            .selectFrom('steps')
            .selectAll()
            .where('run_id', '=', path[turns - 1]?.turn.runId ?? '')
            .orderBy('seq'),
        ),
      )
      return steps
        .filter(({ kind }) => kind === 'ended')
        .map(({ payload_json }) => JSON.parse(payload_json))
        .map(({ output }) => (typeof output === 'string' ? output : JSON.stringify(output)))
    },
    rest: () => worker.stop(),
    async remove() {
      await under.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
