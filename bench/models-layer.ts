import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { makeModel } from '../src/app/models.ts'
import type { ModelRequest } from '../src/domain/model.ts'
import type { ProviderModel } from '../src/models/provider-package.ts'
import { callOptions } from '../src/models/stream/prompt.ts'
import { systemClock } from '../src/system.ts'
import { type Figure, measurePairs, ratio } from './figures.ts'
import type { Scratch } from './scratch.ts'

const program = join(import.meta.dirname, 'programs', 'stream.ts')
const kinds = ['openai-compatible', 'anthropic'] as const

/** What our layer costs over the provider's own package, on the same stream of 300 words from the same server. */
export async function measureLayer(scratch: Scratch): Promise<Figure[]> {
  const server = spawn(process.execPath, [program], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { PATH: process.env['PATH'], NODE_NO_WARNINGS: '1' },
  })
  const [said] = await once(server.stdout ?? server, 'data')
  const baseURL = String(said).trim()
  const figures: Figure[] = []
  for (const kind of kinds) {
    scratch.say(`a streamed call, ${kind}`)
    const ours = makeModel('main', { provider: kind, model: 'm', baseURL }, systemClock)
    const bare = barePackage(kind, baseURL)
    const request = aRequest()
    const options = callOptions(request, { kind, name: 'main' })
    const pairs = await measurePairs(
      {
        ours: () => ours.reply(request, () => undefined),
        floor: async () => {
          const { stream } = await bare.doStream(options)
          let text = ''
          for await (const part of stream) if (part.type === 'text-delta') text += part.delta
          if (text.length < 2000) throw new Error('the bare package lost a part of the reply')
        },
      },
      { pairs: 400, warmUp: 100 },
    )
    figures.push(
      ratio(`a streamed call, ${kind}`, { atMost: 1.3 }, pairs, ['Model.reply', 'bare doStream'], '300 words'),
    )
  }
  server.disconnect()
  return figures
}

function barePackage(kind: (typeof kinds)[number], baseURL: string): Pick<ProviderModel, 'doStream'> {
  if (kind === 'anthropic') return createAnthropic({ baseURL, apiKey: 'k' }).messages('m')
  return createOpenAICompatible({ name: 'bare', baseURL, includeUsage: true }).chatModel('m')
}

/** A conversation of usual length. */
function aRequest(): ModelRequest {
  const messages: ModelRequest['messages'] = Array.from({ length: 10 }, (_, turn) => [
    { role: 'user' as const, content: `question number ${turn}?` },
    { role: 'assistant' as const, content: 'An answer of a few words. '.repeat(8), calls: [] },
  ]).flat()
  return {
    id: 'run/1/1',
    system: 'Be brief. '.repeat(100),
    messages: [...messages, { role: 'user', content: 'and now?' }],
    tools: [],
    maxOutputTokens: 1000,
    stablePrefix: 21,
    signal: new AbortController().signal,
  }
}
