import type { z } from 'zod'
import { nearest } from '../domain/nearest.ts'
import { type Env, type Interpolated, interpolate, isModelKey, type Secrets } from './interpolate.ts'
import { type ConfigPath, dotted } from './path.ts'
import type { ConfigProblem } from './problem.ts'
import { isSecretName, quoted, redact } from './redact.ts'
import { configSchema, keysAt, rehearsal, type Settings } from './schema.ts'
import { type ParsedYaml, parseYaml } from './yaml.ts'

/** What a text says as configuration: the settings when there is no problem, and what the owner should know. */
export interface Checked {
  settings?: Settings
  references: Interpolated
  problems: ConfigProblem[]
  warnings: ConfigProblem[]
}

/** Names of the agents that could answer if these were the settings. */
export type AgentNames = (settings: Pick<Settings, 'skills' | 'models'>) => readonly string[]

/**
 * Reads a configuration and finds everything that is wrong with it, in the order of its lines. Whether the default agent
 * is there is looked at only where `agentNames` is given: agents are files, which come and go without the configuration.
 */
export function checkConfig(
  text: string,
  env: Env,
  secrets: Secrets = () => undefined,
  agentNames?: AgentNames,
): Checked {
  const yaml = parseYaml(text)
  const references = interpolate(yaml.value ?? {}, env)
  const unreadable = yaml.problems.map((problem) => ({ path: '', ...problem }))
  if (yaml.value === undefined) return { references, problems: unreadable, warnings: [] }

  const say = speaker(yaml)
  const problems = [...unreadable, ...references.problems.map((found) => say(found.path, found.message, found.remedy))]
  const warnings: ConfigProblem[] = []
  for (const { path, names } of references.missing) {
    // A key that is not there must not stop commands that need no model.
    const list = isModelKey(path) ? warnings : problems
    list.push(say(path, `needs the environment variable ${listed(names)}, which is not set`, remedyFor(names)))
  }
  for (const { path, name } of references.secrets) {
    if (secrets(name) !== undefined) continue
    warnings.push(say(path, `needs the secret ${redact(name)}, which is not there`, secretRemedy(name)))
  }

  const parsed = configSchema.safeParse(references.value)
  const open = new Set([...references.missing, ...references.problems].map(({ path }) => redact(dotted(path))))
  const rules = (parsed.error?.issues ?? []).flatMap((issue) => sentencesOf(issue, yaml, say))
  problems.push(...rules.filter(({ path }) => !open.has(path)), ...brokenLinks(references.value, yaml, say))
  if (parsed.success && agentNames) problems.push(...unknownDefault(parsed.data, agentNames(parsed.data), yaml, say))
  problems.sort((a, b) => a.line - b.line)
  return problems.length > 0 || !parsed.success
    ? { references, problems, warnings }
    : { settings: parsed.data, references, problems, warnings }
}

/** What to do about a secret that is not there. */
export function secretRemedy(name: string): string {
  return `store it: heddle secret set ${redact(name)}`
}

/** What to do about environment variables that are not set. */
export function remedyFor(names: readonly string[]): string {
  return `set ${listed(names)} in the environment that heddle starts in`
}

/** Names for a sentence; hidden where somebody put a key into the braces. */
export function listed(names: readonly string[]): string {
  return names.map(redact).join(' and ')
}

type Say = (path: ConfigPath, message: string, remedy: string) => ConfigProblem

function speaker(yaml: ParsedYaml): Say {
  return (path, message, remedy) => {
    const line = yaml.lineOf(path)
    const shown = redact(dotted(path))
    return { line, path: shown, message: `${shown ? `\`${shown}\`` : 'the file'} at line ${line} ${message}`, remedy }
  }
}

function sentencesOf(issue: z.core.$ZodIssue, yaml: ParsedYaml, say: Say): ConfigProblem[] {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey([...path, key], yaml))
  if (issue.code === 'invalid_key')
    return [say(path, issue.issues[0]?.message ?? issue.message, 'give it another name')]
  const value = valueAt(yaml.value, path)
  if (value === undefined) return [say(path, `is missing: it ${issue.message}`, 'add the line')]
  const remedy =
    issue.code === 'invalid_type' && issue.expected === 'string' && typeof value !== 'object'
      ? 'put the value in quotes'
      : 'change the value, or remove the line to use the default'
  return [say(path, `${issue.message}, but is ${described(value, path)}`, remedy)]
}

function unknownKey(path: ConfigPath, yaml: ParsedYaml): ConfigProblem {
  const line = yaml.lineOf(path)
  const shown = redact(dotted(path))
  const known = keysAt(path.slice(0, -1))
  const guess = nearest(String(path.at(-1)), known)
  const meant = guess && redact(dotted([...path.slice(0, -1), guess]))
  const hint = meant ? `did you mean \`${meant}\`?` : `known here: ${known.join(', ')}`
  const remedy = guess ? `write \`${guess}\`` : 'remove the line'
  return { line, path: shown, message: `unknown key \`${shown}\` at line ${line}: ${hint}`, remedy }
}

/** Names that point at models which are not there, and models that cannot be reached: rules over several keys. */
function brokenLinks(config: unknown, yaml: ParsedYaml, say: Say): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const models = sectionAt(config, ['models'])
  const link = (path: ConfigPath, name: unknown) => {
    if (typeof name !== 'string' || name === '' || Object.hasOwn(models, name)) return
    if (name === rehearsal) return
    const guess = nearest(name, Object.keys(models))
    const hint = guess ? `did you mean \`${redact(guess)}\`?` : 'no model of that name is in `models`'
    // As written: the variable behind a reference may hold anything, a key among it.
    const written = quoted(String(valueAt(yaml.value, path)))
    problems.push(say(path, `names the model ${written}: ${hint}`, 'add it to `models`, or name one that is there'))
  }
  link(['agent', 'model'], valueAt(config, ['agent', 'model']))
  link(['memory', 'narrator'], valueAt(config, ['memory', 'narrator']))
  const fallbacks = valueAt(config, ['agent', 'fallbacks'])
  if (Array.isArray(fallbacks))
    for (const [index, name] of fallbacks.entries()) {
      const path = ['agent', 'fallbacks', index]
      if (name !== rehearsal) link(path, name)
      else problems.push(say(path, 'names rehearsal, which never answers for a model that failed', 'remove it'))
    }
  for (const name of Object.keys(models)) {
    const { provider, baseURL } = sectionAt(models, [name])
    if (provider === 'openai-compatible' && baseURL === undefined) {
      const remedy = 'add baseURL, such as "http://127.0.0.1:11434/v1"'
      problems.push(say(['models', name, 'baseURL'], 'is missing: this provider has no address of its own', remedy))
    }
  }
  return problems
}

function unknownDefault({ agent }: Settings, known: readonly string[], yaml: ParsedYaml, say: Say): ConfigProblem[] {
  const name = agent.default.replace(/^@/, '')
  if (known.includes(name)) return []
  const path = ['agent', 'default']
  const guess = nearest(name, known)
  const hint = guess ? `did you mean \`@${guess}\`?` : 'no agent of that name can be given work here'
  const written = quoted(String(valueAt(yaml.value, path)))
  return [say(path, `names the agent ${written}: ${hint}`, 'name one that `heddle agents` lists')]
}

/** A value in words that fit any reader: a text that may be a secret is not repeated. */
function described(value: unknown, path: ConfigPath): string {
  if (value === null) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a section'
  if (isSecretName(String(path.at(-1)))) return `a ${typeof value === 'string' ? 'text' : typeof value}`
  return typeof value === 'string' ? quoted(value) : String(value)
}

/** The value at a path of plain data, or nothing. */
export function valueAt(value: unknown, path: ConfigPath): unknown {
  let current = value
  for (const part of path) {
    if (current === null || typeof current !== 'object' || !Object.hasOwn(current, part)) return undefined
    current = (current as Record<string | number, unknown>)[part]
  }
  return current
}

function sectionAt(value: unknown, path: ConfigPath): Record<string, unknown> {
  const found = valueAt(value, path)
  return found !== null && typeof found === 'object' && !Array.isArray(found) ? (found as Record<string, unknown>) : {}
}
