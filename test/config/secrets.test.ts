import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { configShow } from '../../src/config/show.ts'

let root: string
let file: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'heddle-config-'))
  file = join(root, 'heddle.yaml')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const canary = 'plain words that look like nothing'
const secrets = (name: string) => (name === 'anthropic' ? canary : undefined)
const lines = (more = '') =>
  `models:\n  main: { provider: anthropic, model: m, apiKey: "\${secret:anthropic}" }\n${more}`

test('a key that names a secret is the secret, and is shown as its name', async () => {
  writeFileSync(file, lines())
  const config = await loadConfig(file, {}, { secrets })
  expect(config.models['main']?.apiKey?.reveal()).toBe(canary)
  expect(config.warnings).toEqual([])
  expect(configShow(config)['models']).toEqual({
    main: { provider: 'anthropic', model: 'm', apiKey: `\${secret:anthropic}` },
  })
  expect(inspect(config, { depth: 10, showHidden: true }) + JSON.stringify(config)).not.toContain(canary)
})

test('its value is hidden wherever else somebody wrote it, whatever it looks like', async () => {
  writeFileSync(file, lines(`name: "my ${canary}"\n`))
  const config = await loadConfig(file, {}, { secrets })
  expect(configShow(config)['name']).toBe('my [redacted]')
})

test('a secret that is not there is a warning that names the command, and an error when it is needed', async () => {
  writeFileSync(file, lines())
  const config = await loadConfig(file, {}, { secrets: () => undefined })
  expect(config.warnings).toMatchObject([{ line: 2, remedy: 'store it: heddle secret set anthropic' }])
  expect(() => config.models['main']?.apiKey?.reveal()).toThrow('there is no secret anthropic')
})

test('rehearsal may be chosen, and is refused as a fallback', async () => {
  writeFileSync(file, lines('agent: { model: rehearsal }\n'))
  expect((await loadConfig(file, {}, { secrets })).agent.model).toBe('rehearsal')
  writeFileSync(file, lines('agent: { fallbacks: [rehearsal] }\n'))
  await expect(loadConfig(file, {}, { secrets })).rejects.toThrow('never answers for a model that failed')
})
