import { UsageError } from '../domain/errors.ts'
import { nearest } from '../domain/text/nearest.ts'
import { valueAt } from './check.ts'
import type { Config } from './config.ts'
import { ApiKey } from './key.ts'
import { type ConfigPath, formatPath, parsePath } from './path.ts'
import { redact, redactTree } from './redact.ts'
import { keysAt, knownPrefix } from './schema.ts'

/** A configuration, with or without what only the command line reads. */
export type ShownConfig = Omit<Config, 'name' | 'workspace' | 'notify'> & Partial<Config>

/** The effective configuration for display: defaults filled in, references as written, keys redacted. */
export function configShow(config: ShownConfig): Record<string, unknown> {
  const { warnings: _, lines: __, written, allowedModels, credentials, ...settings } = config
  const { embedder } = config.memory
  const endpoints = [...Object.values(config.models), ...(embedder ? [embedder] : [])]
  const hooks = Object.values(config.webhooks).map(({ secret }) => secret)
  const keys = [...endpoints.flatMap(({ apiKey }) => apiKey ?? []), ...Object.values(credentials), ...hooks]
  const models = { ...(allowedModels && { allow: allowedModels }), ...config.models }
  const hide = (text: string) => keys.reduce((shown, key) => key.hide(shown), text)
  const tree = redactTree(asWritten({ ...settings, models }, [], written), hide)
  const shown = tree as Record<'tools', Record<'exec', object>>
  // Names only, whatever the key is called.
  const exec = { ...shown.tools.exec, credentials: config.tools.exec.credentials.map(hide) }
  return { ...shown, tools: { ...shown.tools, exec } }
}

/** One effective value as in `configShow`; undefined for a known key without a value. */
export function configGet(config: ShownConfig, path: string): unknown {
  return valueAt(configShow(config), parseKnownPath(path))
}

/** A setting with its value, null without one, and the line that sets it, null for a default. */
interface ListedSetting {
  key: string
  value: unknown
  line: number | null
}

/** Every setting, in the order of the schema. */
export function configList(config: ShownConfig): ListedSetting[] {
  const below = (value: unknown, path: string[]): ListedSetting[] => {
    const isSection = value !== null && typeof value === 'object' && !Array.isArray(value)
    const keys = new Set([...keysAt(path), ...(isSection ? Object.keys(value) : [])])
    if (keys.size > 0)
      return [...keys].flatMap((key) => below(isSection ? valueAt(value, [key]) : undefined, [...path, key]))
    const key = formatPath(path)
    return [{ key, value: value ?? null, line: Object.hasOwn(config.lines, key) ? (config.lines[key] ?? null) : null }]
  }
  return below(configShow(config), [])
}

/** Parses a typed path; refuses an unknown one and suggests the nearest. */
export function parseKnownPath(path: string): string[] {
  const segments = parsePath(path)
  if (!segments) throw new UsageError(`${redact(path)} is not the path of a key`, 'write it as agents.maxConcurrent')
  const known = knownPrefix(segments)
  if (known.length === segments.length) return segments
  const wrong = segments[known.length] ?? ''
  const candidates = keysAt(known)
  const guess = nearest(wrong, candidates)
  const where = known.length === 0 ? 'the configuration' : `\`${formatPath(known)}\``
  const message = `there is no key \`${redact(wrong)}\` in ${where}`
  if (guess) throw new UsageError(message, `did you mean ${formatPath([...known, guess])}?`, 'config_key_unknown')
  const keys =
    candidates.length > 0 ? `keys there: ${candidates.join(', ')}` : 'see what there is with: heddle config show'
  throw new UsageError(message, keys, 'config_key_unknown')
}

function asWritten(value: unknown, path: ConfigPath, written: Record<string, string>): unknown {
  if (value instanceof ApiKey) return value.written
  const at = formatPath(path)
  if (typeof value === 'string') return Object.hasOwn(written, at) ? written[at] : value
  if (Array.isArray(value)) return value.map((item, index) => asWritten(item, [...path, index], written))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, asWritten(inner, [...path, key], written)]),
  )
}
