import { expect, test } from 'vitest'
import { ApiKey } from '../../src/config/key.ts'
import { knownSecrets, redactor } from '../../src/config/secrets.ts'

const memory = { recall: true, most: 100, files: true, narratives: true }
const model = { provider: 'openai-compatible' as const, model: 'm' }

test('keys, passwords and tokens of the configuration are hidden wherever a text holds them', () => {
  const secrets = knownSecrets({
    credentials: {},
    database: 'postgres://me:p%40ss%2Fword@db/heddle',
    models: {
      plain: { ...model, apiKey: new ApiKey('[redacted]', 'k1') },
      longer: { ...model, apiKey: new ApiKey('[redacted]', 'k1-and-more') },
      address: { ...model, baseURL: 'http://tok-in-url@127.0.0.1/v1?api_key=in-query&page=2' },
    },
    memory: {
      ...memory,
      embedder: { baseURL: 'http://h/v1', model: 'e', apiKey: new ApiKey('[redacted]', 'k3-of-vectors') },
    },
    webhooks: { ops: { url: 'http://h/hook?token=t-in-hook', secret: new ApiKey('[redacted]', 'whsec_k4') } },
  })
  const hide = redactor(secrets)
  const told = {
    'k1-and-more': ['x k1 y', { deep: 'http://tok-in-url@h' }],
    url: 'me:p%40ss%2Fword@',
    in: 'p@ss/word',
    embedder: 'k3-of-vectors?',
    hook: ['whsec_k4', 't-in-hook'],
    n: 1,
  }
  expect(hide(told)).toEqual({
    '[redacted]': ['x [redacted] y', { deep: 'http://[redacted]@h' }],
    url: 'me:[redacted]@',
    in: '[redacted]',
    embedder: '[redacted]?',
    hook: ['[redacted]', '[redacted]'],
    n: 1,
  })
  expect(hide('?api_key=in-query&page=2')).toBe('?api_key=[redacted]&page=2')
})

test('a configuration without secrets hides nothing', () => {
  const nothing = { credentials: {}, database: 'sqlite', models: {}, memory, webhooks: {} }
  expect(redactor(knownSecrets(nothing))('anything')).toBe('anything')
})
