import { type MarkedText, markFound, shownText } from '../domain/text/marked-text.ts'
import type { Config } from './config.ts'
import { redactedMark } from './redact.ts'

/** All secrets in the loaded configuration: keys of models, embedder and webhooks, credentials, passwords in addresses. */
export function knownSecrets({
  models,
  database,
  memory,
  credentials,
  webhooks,
}: Pick<Config, 'models' | 'database' | 'memory' | 'credentials' | 'webhooks'>): string[] {
  const hooks = Object.values(webhooks).map(({ url, secret }) => ({ baseURL: url, apiKey: secret }))
  const endpoints = [...Object.values(models), ...(memory.embedder ? [memory.embedder] : []), ...hooks]
  const addresses = [database, ...endpoints.map(({ baseURL }) => baseURL)]
  const keys = endpoints.flatMap(({ apiKey }) => {
    try {
      return apiKey ? [apiKey.reveal()] : []
    } catch {
      // A missing key cannot leak.
      return []
    }
  })
  const given = Object.values(credentials).map((key) => key.reveal())
  const found = [...keys, ...given, ...addresses.flatMap((address) => secretsIn(address ?? ''))].filter(
    (each) => each !== '',
  )
  // Longest first: one secret may be a prefix of another.
  return [...new Set(found.flatMap(spellings))].sort((a, b) => b.length - a.length)
}

/** Returns a function that redacts these secrets in all texts of a value. */
export function redactor(secrets: readonly string[]): <T>(value: T) => T {
  if (secrets.length === 0) return (value) => value
  const redact = partRedactor(secrets)
  return (value) => changeTexts(value, (text) => shownText(redact([text])))
}

/** Returns a function that redacts these secrets in a text that may have marks already. */
export function partRedactor(secrets: readonly string[]): (text: MarkedText) => MarkedText {
  const patterns = secrets.map((secret) => new RegExp(RegExp.escape(secret), 'g'))
  return (text) => patterns.reduce((parts, pattern) => markFound(parts, pattern, redactedMark), text)
}

/** Copies plain data with all its texts changed. */
export function changeTexts<T>(value: T, clean: (text: string) => string): T {
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return clean(value)
    if (Array.isArray(value)) return value.map(walk)
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [clean(key), walk(inner)]))
  }
  return walk(value) as T
}

function secretsIn(address: string): string[] {
  if (!URL.canParse(address)) return []
  const { password, username, searchParams } = new URL(address)
  // Some addresses carry a token as a user name without a password.
  const user = password === '' && address.startsWith('http') ? username : ''
  const values = [...searchParams].filter(([name]) => /key|token|secret|password|sig/i.test(name))
  return [password, user, ...values.map(([, value]) => value)]
}

/** The secret as is, and URL-encoded. */
function spellings(secret: string): string[] {
  const plain = tryDecode(secret)
  return [secret, plain, encodeURIComponent(plain)]
}

function tryDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
