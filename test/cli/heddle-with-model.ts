import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { type ProviderOptions, startProvider, type TestProvider } from '../../src/testing.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

/** For each test of a file a new home whose only model is a provider on loopback that answers so. */
export function heddleWithModel(answer: ProviderOptions['answer']): () => TestHeddle {
  let heddle: TestHeddle
  let provider: TestProvider
  beforeEach(async () => {
    heddle = newHeddle()
    provider = await startProvider({ answer })
    await heddle.run('init')
    const model = `provider: openai-compatible, baseURL: "${provider.url}", model: tiny`
    writeFileSync(join(heddle.home, 'heddle.yaml'), `models:\n  main: { ${model} }\n`)
  })
  afterEach(async () => {
    await provider.close()
    heddle.remove()
  })
  return () => heddle
}
