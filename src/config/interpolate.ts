import { type ConfigPath, formatPath } from './path.ts'
import { quoteValue } from './redact.ts'

/** Environment for `${NAME}`. */
export type Env = Readonly<Record<string, string | undefined>>

/** Looks up `${secret:NAME}`; undefined if there is no such secret. */
export type Secrets = (name: string) => string | undefined

/** A configuration with its references replaced, and the original texts. */
export interface InterpolatedConfig {
  value: unknown
  /** Path → text as written, for every text with a reference. */
  written: Map<string, string>
  /** Variables that are not set; the texts that need them stay as written. */
  missing: { path: ConfigPath; names: string[] }[]
  /** References to secrets; only an apiKey may have one, and its text stays as written. */
  secrets: { path: ConfigPath; name: string }[]
  problems: { path: ConfigPath; message: string; remedy: string }[]
}

const placeholder = /(\$?)\$\{([^{}]*)\}/g
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/
const secretName = /^secret:[A-Za-z][A-Za-z0-9_-]*$/

/** Replaces `${NAME}` in every text value. Replacements are not expanded again, and `$${` stands for `${`. */
export function interpolate(value: unknown, env: Env): InterpolatedConfig {
  const result: InterpolatedConfig = { value, written: new Map(), missing: [], secrets: [], problems: [] }
  result.value = walk(value, [], env, result)
  return result
}

/** Whether the path is a model's or the embedder's apiKey, or a webhook's secret: only these may keep an unresolved reference. */
export function isModelKey(path: ConfigPath): boolean {
  const isModel = path.length === 3 && path[0] === 'models' && path[2] === 'apiKey'
  const isWebhook = path.length === 3 && path[0] === 'webhooks' && path[2] === 'secret'
  return isModel || isWebhook || formatPath(path) === 'memory.embedder.apiKey'
}

function walk(value: unknown, path: ConfigPath, env: Env, result: InterpolatedConfig): unknown {
  if (typeof value === 'string') return value.includes('${') ? replace(value, path, env, result) : value
  if (Array.isArray(value)) return value.map((item, index) => walk(item, [...path, index], env, result))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, walk(inner, [...path, key], env, result)]),
  )
}

function replace(text: string, path: ConfigPath, env: Env, result: InterpolatedConfig): string {
  const missing: string[] = []
  const problem = (message: string, remedy: string) => result.problems.push({ path, message, remedy })
  const replaced = text.replaceAll(placeholder, (whole, doubled: string, name: string) => {
    if (doubled) return whole.slice(1)
    if (name.startsWith('secret:')) {
      if (!secretName.test(name)) {
        problem(
          `refers to ${quoteValue(whole)}, which is not the name of a secret`,
          'use letters, digits, _ and - after `secret:`',
        )
      } else if (!isModelKey(path)) {
        problem('refers to a secret, which only an apiKey may do', 'use an environment variable here')
      } else if (text !== whole) {
        problem('has more text around a secret', 'write only the reference to the secret')
      } else result.secrets.push({ path, name: name.slice('secret:'.length) })
      return whole
    }
    if (!variableName.test(name)) {
      problem(
        `refers to ${quoteValue(whole)}, which is not the name of a variable`,
        'use letters, digits and _, or write `$${` for a plain `${`',
      )
      return whole
    }
    // Own properties only: a plain object used as environment also has `toString`.
    const found = Object.hasOwn(env, name) ? env[name] : undefined
    if (!found) missing.push(name)
    return found || whole
  })
  if (/\$\{/.test(text.replaceAll(placeholder, '')))
    problem('opens a reference with `${` and does not close it', 'close it, or write `$${` for a plain `${`')
  result.written.set(formatPath(path), text)
  if (missing.length === 0) return replaced
  result.missing.push({ path, names: missing })
  return text
}
