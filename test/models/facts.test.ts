import { describe, expect, onTestFinished, test } from 'vitest'
import { makeModel, modelFacts } from '../../src/app/models.ts'
import type { NamedModel } from '../../src/config/config.ts'
import { ApiKey } from '../../src/config/key.ts'
import { knownModel, listedModels, vendorDefaults } from '../../src/models/providers/known-models.ts'
import { systemClock } from '../../src/system.ts'
import { manualClock, startProvider } from '../../src/testing.ts'
import { aRequest } from './asking.ts'

const facts = (named: Partial<NamedModel>) => modelFacts({ provider: 'anthropic', model: 'm', ...named })

describe('what is known of a model', () => {
  test('a listed one has its published window and price, with or without a date in its name', () => {
    const plain = facts({ model: 'claude-sonnet-4-5' })
    expect(plain).toMatchObject({
      window: 200_000,
      windowFrom: 'listed',
      price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
      priceFrom: 'listed',
      sees: true,
      readsPdf: true,
      thinks: true,
      isLocal: false,
    })
    expect(facts({ model: 'claude-sonnet-4-5-20250929' })).toEqual(plain)
  })

  test('what the owner says goes first', () => {
    const price = { input: 1, output: 2 }
    expect(facts({ model: 'claude-sonnet-4-5', contextWindow: 50_000, price, sees: false })).toMatchObject({
      window: 50_000,
      windowFrom: 'yours',
      price,
      priceFrom: 'yours',
      sees: false,
      readsPdf: false,
    })
  })

  test('a price that nobody told is taken as dear, so that budgets hold, and only this machine is free', () => {
    const remote = { provider: 'openai-compatible' as const, baseURL: 'https://example.com/v1' }
    expect(facts({ model: 'claude-unheard-of' })).toMatchObject({ priceFrom: 'assumed', window: 32_768 })
    expect(facts(remote).price.input).toBeGreaterThan(0)
    expect(facts({ ...remote, baseURL: 'http://127.0.0.1:11434/v1' })).toMatchObject({
      price: { input: 0, output: 0 },
      priceFrom: 'free',
      isLocal: true,
      sees: false,
      readsPdf: false,
    })
  })

  test.each(['anthropic', 'openai', 'google'] as const)(
    'the table of %s makes sense, its default is in it',
    (vendor) => {
      const names = listedModels(vendor)
      expect(names).toContain(vendorDefaults[vendor])
      for (const name of names) {
        const { window, price } = knownModel(vendor, name) ?? expect.fail(name)
        expect(window, name).toBeGreaterThanOrEqual(100_000)
        expect(price.output, name).toBeGreaterThan(price.input)
        expect(price.cacheRead, name).toBeLessThan(price.input)
        expect(price.cacheWrite ?? price.input, name).toBeGreaterThanOrEqual(price.input)
      }
      expect(knownModel(vendor, 'constructor')).toBeUndefined()
    },
  )

  test('a model can be made of every provider without asking anybody anything', () => {
    const apiKey = new ApiKey(`\${KEY}`, 'k')
    for (const provider of ['anthropic', 'openai', 'google'] as const) {
      const model = makeModel('main', { provider, model: vendorDefaults[provider], apiKey }, systemClock)
      expect(model).toMatchObject({ name: 'main', sees: true, readsPdf: true, thinks: true })
    }
  })

  test.each([
    [undefined, 120, 'was silent for 120 s'],
    [{ idle: 7 }, 7, 'was silent for 7 s'],
    [{ idle: 300, total: 9 }, 9, 'did not finish within 9 s'],
  ])('with the timeout %j it is given up after %d s, and told how to wait longer', async (timeout, seconds, why) => {
    const provider = await startProvider({ answer: () => new Promise(() => undefined) })
    onTestFinished(() => provider.close())
    const clock = manualClock()
    const named = { provider: 'openai-compatible' as const, model: 'm', baseURL: provider.url }
    const model = makeModel('slow', { ...named, ...(timeout && { timeout }) }, clock)
    const failed = model.reply(aRequest(), () => undefined).catch((error) => error)
    await provider.until(({ kind }) => kind === 'received')
    await clock.advance(seconds * 1000 - 1)
    await clock.advance(1)
    const { message, remedy } = await failed
    expect(message).toContain(why)
    expect(remedy).toContain('models.slow.timeout.')
  })
})
