import { scriptedModel } from '../../../src/models/scripted.ts'
import { input, say } from '../../contract/speech.ts'
import { folder, openHome } from './home.ts'

// Has an agent find something out and keeps it, linked to the result; may be killed on the way and started again.

const { home, database, crashAt } = input<{ home: string; database: string; crashAt?: string }>()
const model = scriptedModel(({ messages, tools }) => {
  const last = messages.at(-1)?.content ?? ''
  if (!tools.some(({ name }) => name === 'spawn_agent')) return { text: 'The port is 8080.' }
  if (last === 'go')
    return { calls: [{ name: 'spawn_agent', input: { task: 'look', skill: 'researcher' } }, { name: 'wait' }] }
  if (/their results are above/.test(last))
    return { calls: [{ name: 'memory_store', input: { content: 'The port is 8080', result_id: 1 } }] }
  return { text: 'Kept.' }
})
const app = await openHome(home, database, model, crashAt === undefined ? {} : { HEDDLE_CRASH_AT: crashAt })
const { itemId } = await app.submit(folder, {
  session: 'main',
  content: 'go',
  agent: 'coordinator',
  dedupeKey: 'the one question',
})
const work = await app.work({ folder, session: 'main' })
const { text } = await app.answer(folder, itemId, new AbortController().signal)
say({ text, memories: await app.memories({ limit: 9 }), result: await app.show(folder, 'result:1') })
await work.stop()
await app.close()
process.exit(0)
