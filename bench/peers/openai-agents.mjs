import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Agent, run, setTracingDisabled, tool, Usage } from '@openai/agents'
import { z } from 'zod'
import { serve } from '../programs/serve.ts'
import { openSessions } from './sqlite-session.mjs'

// @openai/agents with a session that is kept in SQLite: the package itself brings one in memory only.
// settings: { directory, question, answer, task, synchronous: 'FULL' | 'NORMAL' }
const settings = JSON.parse(process.argv[2])
const sessions = openSessions(join(settings.directory, 'openai-agents.db'), settings.synchronous)
setTracingDisabled(true)

/** Answers at once and looks at nothing but the last message. */
const model = {
  async getResponse({ input }) {
    const last = typeof input === 'string' ? input : input.at(-1).content
    const output =
      last === settings.task
        ? { type: 'function_call', callId: 'call-1', name: 'look_up', arguments: '{"about":"it"}', status: 'completed' }
        : {
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: settings.answer }],
          }
    return { usage: new Usage(), output: [output] }
  },
  getStreamedResponse() {
    throw new Error('nobody streams here')
  },
}

const lookUp = tool({
  name: 'look_up',
  description: 'Looks something up.',
  parameters: z.object({ about: z.string() }),
  execute: async () => 'It is as it was.',
})
const talker = new Agent({ name: 'talker', instructions: 'Answer.', model })
const worker = new Agent({ name: 'worker', instructions: 'Answer.', model, tools: [lookUp] })
let requests = 0

await serve({
  async turns(count) {
    const times = []
    const session = sessions.session('main')
    for (let turn = 0; turn < count; turn++) times.push(await timed(() => say(talker, session, settings.question)))
    return times
  },
  agents(count) {
    requests++
    const each = Array.from({ length: count }, (_, number) => sessions.session(`agent-${requests}-${number}`))
    return timed(() => Promise.all(each.map((session) => say(worker, session, settings.task))))
  },
  bytes: () => sessions.bytes(),
})

async function say(agent, session, content) {
  const { finalOutput } = await run(agent, content, { session })
  if (finalOutput !== settings.answer) throw new Error('it was not answered')
}

async function timed(work) {
  const started = performance.now()
  await work()
  return performance.now() - started
}
