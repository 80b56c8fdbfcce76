import { statSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { z } from 'zod'
import { serve } from '../programs/serve.ts'

// LangGraph as its documentation shows it: a graph over MessagesAnnotation, a thread, the SQLite checkpointer.
// settings: { directory, question, answer, durability: 'async' | 'sync' | 'exit', synchronous: 'FULL' | 'NORMAL' | null }
const settings = JSON.parse(process.argv[2])
const file = join(settings.directory, 'langgraph.db')
const saver = SqliteSaver.fromConnString(file)
saver.setup()
// Without this its driver runs WAL with synchronous = NORMAL.
if (settings.synchronous) saver.db.pragma(`synchronous = ${settings.synchronous}`)
const { durability } = settings

/** Answers at once and looks at nothing but the last message. */
class ZeroLatencyModel extends BaseChatModel {
  _llmType() {
    return 'zero-latency'
  }

  bindTools() {
    return this
  }

  async _generate(messages) {
    const wantsCall = messages.at(-1).content === settings.task
    const message = wantsCall
      ? new AIMessage({ content: '', tool_calls: [{ id: 'call-1', name: 'look_up', args: { about: 'it' } }] })
      : new AIMessage(settings.answer)
    return { generations: [{ text: message.content, message }] }
  }
}

const model = new ZeroLatencyModel({})
const conversation = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addEdge(START, 'model')
  .addEdge('model', END)
  .compile({ checkpointer: saver })
const lookUp = tool(async () => 'It is as it was.', {
  name: 'look_up',
  description: 'Looks something up.',
  schema: z.object({ about: z.string() }),
})
const agent = createReactAgent({ llm: model, tools: [lookUp], checkpointer: saver })
let requests = 0

await serve({
  async turns(count) {
    const times = []
    for (let turn = 0; turn < count; turn++) times.push(await timed(() => say(conversation, 'main', settings.question)))
    return times
  },
  agents(count) {
    requests++
    const threads = Array.from({ length: count }, (_, number) => `agent-${requests}-${number}`)
    return timed(() => Promise.all(threads.map((thread) => say(agent, thread, settings.task))))
  },
  bytes() {
    saver.db.pragma('wal_checkpoint(TRUNCATE)')
    return statSync(file).size
  },
})

async function say(graph, thread, content) {
  const state = await graph.invoke(
    { messages: [new HumanMessage(content)] },
    { configurable: { thread_id: thread }, durability },
  )
  if (state.messages.at(-1).content !== settings.answer) throw new Error(`${thread} was not answered`)
}

async function timed(work) {
  const started = performance.now()
  await work()
  return performance.now() - started
}
