import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { convertToOpenAITool } from '@langchain/core/utils/function_calling'
import { createDeepAgent } from 'deepagents'
import { tokensIn } from '../tokens.ts'

// deepagents as its documentation shows it, with every default. Prints the tokens of each request of its coordinator.
// settings: { goal, tasks: [{ title }], waves: [tasks in each], output, answer }
const settings = JSON.parse(process.argv[2])
const left = [...settings.tasks]
const requests = []

/** Hands the tasks out in waves; whoever is given one answers with an output of the same size as ours. */
class PlayedModel extends BaseChatModel {
  constructor(tools = []) {
    super({})
    this.tools = tools
  }

  _llmType() {
    return 'played'
  }

  bindTools(tools) {
    return new PlayedModel(tools.map((tool) => convertToOpenAITool(tool).function))
  }

  async _generate(messages) {
    const isCoordinator = messages.some((message) => message.getType() === 'human' && message.text === settings.goal)
    const message = isCoordinator ? this.coordinate(messages) : new AIMessage(settings.output)
    return { generations: [{ text: message.text, message }] }
  }

  coordinate(messages) {
    requests.push(tokensIn({ system: '', messages: messages.map(told), tools: this.tools.map(shown) }))
    const wave = left.splice(0, settings.waves[requests.length - 1] ?? 0)
    if (wave.length === 0) return new AIMessage(settings.answer)
    const calls = wave.map(({ title }, at) => ({
      id: `call-${requests.length}-${at}`,
      name: 'task',
      args: { description: title, subagent_type: 'general-purpose' },
    }))
    return new AIMessage({ content: '', tool_calls: calls })
  }
}

const told = (message) => ({
  content: message.text,
  calls: (message.tool_calls ?? []).map(({ name, args }) => ({ name, input: args })),
})
const shown = ({ name, description, parameters }) => ({ name, description, schema: parameters })

const agent = createDeepAgent({ model: new PlayedModel() })
const state = await agent.invoke({ messages: [new HumanMessage(settings.goal)] })
if (state.messages.at(-1).text !== settings.answer || left.length > 0) throw new Error('Error: it was not answered')
if (state.messages.filter(({ text }) => text === settings.output).length !== settings.tasks.length)
  throw new Error('Error: outputs did not reach the coordinator as they were')
process.stdout.write(`${JSON.stringify(requests)}\n`)
