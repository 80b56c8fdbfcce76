import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Model } from '../../src/domain/model.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import type { EndedStep } from '../../src/engine/run/context/journal.ts'
import { whenEnded } from '../../src/engine/run/request.ts'
import { type ScriptedModel, scriptedModel } from '../../src/models/scripted.ts'
import { changesOf } from '../../src/store/rows/file-changes.ts'
import { readSteps } from '../../src/store/rows/steps.ts'
import { systemClock } from '../../src/system.ts'
import { fileTools } from '../../src/tools/files/file-tools.ts'
import type { Database } from '../setup/places.ts'
import { newEngine, type TestEngine } from './engine.ts'

type Calls = { name: string; input: unknown }[]

/** A model that answers each message with its plan: one reply of calls after the other, then a word. */
export function planned(plans: Record<string, Calls[]>): ScriptedModel {
  return scriptedModel(({ messages }) => {
    const last = messages.findLastIndex(({ role, content }) => role === 'user' && plans[content])
    const replies = messages.slice(last + 1).filter(({ role }) => role === 'assistant').length
    const calls = plans[messages[last]?.content ?? '']?.[replies]
    return calls ? { calls } : { text: 'done' }
  })
}

export const write = (path: string, content: string) => ({ name: 'write_file', input: { path, content } })
export const edit = (path: string, old_text: string, new_text: string) => ({
  name: 'edit_file',
  input: { path, old_text, new_text },
})
export const read = (path: string) => ({ name: 'read_file', input: { path } })

/** An engine whose runs have the file tools, and a folder for them. */
export interface Hands extends TestEngine {
  folder: string
  put(name: string, content: string): void
  content(name: string): string
  names(): string[]
  /** Says something in a session of the folder, or of another one; resolves with its run when all of it is over. */
  ask(content: string, label?: string, sessionFolder?: string): Promise<string>
  /** What the calls of a run came to, in order. */
  outputs(runId: string): Promise<unknown[]>
  changes(...runIds: string[]): ReturnType<typeof changesOf>
}

export async function newHands(database: Database, model: Model, tools: Tool[] = []): Promise<Hands> {
  const under = await newEngine(database, model, { tools: [...fileTools(systemClock), ...tools] })
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-hands-')))
  const { store } = under.engine
  return {
    ...under,
    folder,
    put: (name, content) => writeFileSync(join(folder, name), content),
    content: (name) => readFileSync(join(folder, name), 'utf8'),
    names: () => readdirSync(folder).sort(),
    async ask(content, label = 'main', sessionFolder = folder) {
      const { itemId, runId } = await under.say(content, { folder: sessionFolder, label })
      await whenEnded(under.engine, itemId, new AbortController().signal)
      return runId ?? ''
    },
    async outputs(runId) {
      const steps = await store.read((rows) => readSteps(rows, runId))
      return steps.filter(({ kind }) => kind === 'ended').map(({ payload }) => (payload as EndedStep).output)
    },
    changes: (...runIds) => store.read((rows) => changesOf(rows, runIds)),
    async remove() {
      await under.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
