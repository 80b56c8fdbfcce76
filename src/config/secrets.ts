import type { Config } from './config.ts'
import { redacted } from './redact.ts'

/** Every secret that the loaded configuration holds: keys of models and of the embedder, passwords in addresses. */
export function knownSecrets({ models, database, memory }: Pick<Config, 'models' | 'database' | 'memory'>): string[] {
  const asked = [...Object.values(models), ...(memory.embedder ? [memory.embedder] : [])]
  const addresses = [database, ...asked.map(({ baseURL }) => baseURL)]
  const keys = asked.flatMap(({ apiKey }) => {
    try {
      return apiKey ? [apiKey.reveal()] : []
    } catch {
      // A key that is not there cannot be told.
      return []
    }
  })
  const found = [...keys, ...addresses.flatMap((address) => secretsIn(address ?? ''))].filter((each) => each !== '')
  // The longest first: one secret may be the beginning of another.
  return [...new Set(found.flatMap(spellings))].sort((a, b) => b.length - a.length)
}

/** Takes these secrets out of whatever is to be shown, wherever they occur in its texts. */
export function hiding(secrets: readonly string[]): <T>(value: T) => T {
  const clean = (text: string) => secrets.reduce((shown, secret) => shown.replaceAll(secret, redacted), text)
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return clean(value)
    if (Array.isArray(value)) return value.map(walk)
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [clean(key), walk(inner)]))
  }
  return (value) => walk(value) as typeof value
}

function secretsIn(address: string): string[] {
  if (!URL.canParse(address)) return []
  const { password, username, searchParams } = new URL(address)
  // A name without a password is how some addresses carry a token.
  const user = password === '' && address.startsWith('http') ? username : ''
  const values = [...searchParams].filter(([name]) => /key|token|secret|password|sig/i.test(name))
  return [password, user, ...values.map(([, value]) => value)]
}

/** As it is, and as addresses write it. */
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
