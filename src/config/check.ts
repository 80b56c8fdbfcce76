import type { z } from 'zod'
import { nearest } from '../domain/text/nearest.ts'
import { unknownToolHint, unknownTools } from '../domain/tools/unknown-tools.ts'
import { type Env, type InterpolatedConfig, interpolate, isModelKey, type Secrets } from './interpolate.ts'
import { type ConfigPath, formatPath } from './path.ts'
import type { ConfigProblem } from './problem.ts'
import { isSecretName, quoteValue, redact } from './redact.ts'
import { configSchema, keysAt, modelName, rehearsal, type Settings } from './schema.ts'
import { type ParsedYaml, parseYaml } from './yaml.ts'

/** Result of checking a configuration: the settings if there is no problem, and warnings. */
export interface CheckedConfig {
  settings?: Settings
  references: InterpolatedConfig
  problems: ConfigProblem[]
  warnings: ConfigProblem[]
  /** Dotted path → line, for every value that the file has. */
  lines: Record<string, number>
}

/** Names of the agents that these settings would make available. */
export type AgentNames = (settings: Pick<Settings, 'skills' | 'models'>) => readonly string[]

/** Checks of names that are known only outside the configuration: agents are files, and programs add tools of their own. */
export interface NameChecks {
  agentNames?: AgentNames
  /** Key below which names of tools are checked: `tools`, or a part of it. */
  toolsBelow?: string
}

/** Parses a configuration and finds all its problems, in line order. */
export function checkConfig(
  text: string,
  env: Env,
  secrets: Secrets = () => undefined,
  { agentNames, toolsBelow }: NameChecks = {},
): CheckedConfig {
  const yaml = parseYaml(text)
  const references = interpolate(yaml.value ?? {}, env)
  const unreadable = yaml.problems.map((problem) => ({ path: '', ...problem }))
  if (yaml.value === undefined) return { references, problems: unreadable, warnings: [], lines: {} }

  const report = problemReporter(yaml)
  const problems = [
    ...unreadable,
    ...references.problems.map((found) => report(found.path, found.message, found.remedy)),
  ]
  const warnings: ConfigProblem[] = []
  for (const { path, names } of references.missing) {
    // A missing key must not stop commands that need no model.
    const list = isModelKey(path) ? warnings : problems
    list.push(report(path, `needs the environment variable ${joinNames(names)}, which is not set`, remedyFor(names)))
  }
  for (const { path, name } of references.secrets) {
    if (secrets(name) !== undefined) continue
    warnings.push(report(path, `needs the secret ${redact(name)}, which does not exist`, secretRemedy(name)))
  }

  const parsed = configSchema.safeParse(references.value)
  const open = new Set([...references.missing, ...references.problems].map(({ path }) => redact(formatPath(path))))
  const rules = (parsed.error?.issues ?? []).flatMap((issue) => sentencesOf(issue, yaml, report))
  problems.push(...rules.filter(({ path }) => !open.has(path)), ...brokenLinks(references.value, yaml, report))
  if (parsed.success && agentNames) problems.push(...unknownDefault(parsed.data, agentNames(parsed.data), yaml, report))
  if (parsed.success && toolsBelow !== undefined)
    problems.push(...wrongTools(parsed.data, yaml, report).filter(({ path }) => isBelow(path, toolsBelow)))
  problems.sort((a, b) => a.line - b.line)
  const found = { references, problems, warnings, lines: Object.fromEntries(linesOf(yaml)) }
  return problems.length > 0 || !parsed.success ? found : { settings: parsed.data, ...found }
}

function linesOf({ value, lineOf }: ParsedYaml): [string, number][] {
  const below = (inner: unknown, path: ConfigPath): [string, number][] => {
    // A key without a value leaves the default.
    if (inner === null || inner === undefined) return []
    if (typeof inner !== 'object' || Array.isArray(inner)) return [[formatPath(path), lineOf(path)]]
    return Object.entries(inner).flatMap(([key, each]) => below(each, [...path, key]))
  }
  return below(value, [])
}

/** Remedy for a missing secret. */
export function secretRemedy(name: string): string {
  return `store it: heddle secret set ${redact(name)}`
}

/** Remedy for unset environment variables. */
export function remedyFor(names: readonly string[]): string {
  return `set ${joinNames(names)} in the environment that heddle starts in`
}

/** Joins names for a sentence; redacted in case the user put a key into the braces. */
export function joinNames(names: readonly string[]): string {
  return names.map(redact).join(' and ')
}

type Report = (path: ConfigPath, message: string, remedy: string) => ConfigProblem

function problemReporter(yaml: ParsedYaml): Report {
  return (path, message, remedy) => {
    const line = yaml.lineOf(path)
    const shown = redact(formatPath(path))
    return { line, path: shown, message: `${shown ? `\`${shown}\`` : 'the file'} at line ${line} ${message}`, remedy }
  }
}

function sentencesOf(issue: z.core.$ZodIssue, yaml: ParsedYaml, report: Report): ConfigProblem[] {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey([...path, key], yaml))
  if (issue.code === 'invalid_key')
    return [report(path, issue.issues[0]?.message ?? issue.message, 'give it another name')]
  const value = valueAt(yaml.value, path)
  if (value === undefined) return [report(path, `is missing: it ${issue.message}`, 'add the line')]
  const remedy =
    issue.code === 'invalid_type' && issue.expected === 'string' && typeof value !== 'object'
      ? 'put the value in quotes'
      : 'change the value, or remove the line to use the default'
  return [report(path, `${issue.message}, but is ${describeValue(value, path)}`, remedy)]
}

function unknownKey(path: ConfigPath, yaml: ParsedYaml): ConfigProblem {
  const line = yaml.lineOf(path)
  const shown = redact(formatPath(path))
  const known = keysAt(path.slice(0, -1))
  const guess = nearest(String(path.at(-1)), known)
  const suggestion = guess && redact(formatPath([...path.slice(0, -1), guess]))
  const hint = suggestion ? `did you mean \`${suggestion}\`?` : `known here: ${known.join(', ')}`
  const remedy = guess ? `write \`${guess}\`` : 'remove the line'
  return { line, path: shown, message: `unknown key \`${shown}\` at line ${line}: ${hint}`, remedy }
}

/** Keys that name a model. */
const modelPaths: readonly ConfigPath[] = [
  ['agent', 'model'],
  ['agents', 'defaults', 'subagents', 'model'],
  ['memory', 'narrator'],
  ['tools', 'subagents', 'model'],
]

/** Rules over several keys: references to unknown models, and models without an address. */
function brokenLinks(config: unknown, yaml: ParsedYaml, report: Report): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const { allow, ...models } = sectionAt(config, ['models'])
  const link = (path: ConfigPath, name: unknown) => {
    if (typeof name !== 'string' || name === '' || Object.hasOwn(models, name)) return
    if (name === rehearsal) return
    const guess = nearest(name, Object.keys(models))
    const hint = guess ? `did you mean \`${redact(guess)}\`?` : 'no model of that name is in `models`'
    // Quoted as written: the variable behind a reference may hold a key.
    const written = quoteValue(String(valueAt(yaml.value, path)))
    problems.push(report(path, `names the model ${written}: ${hint}`, 'add it to `models`, or name one that is there'))
  }
  for (const path of modelPaths) link(path, valueAt(config, path))
  const fallbacks = valueAt(config, ['agent', 'fallbacks'])
  if (Array.isArray(fallbacks))
    for (const [index, name] of fallbacks.entries()) {
      const path = ['agent', 'fallbacks', index]
      if (name !== rehearsal) link(path, name)
      else problems.push(report(path, 'names rehearsal, which never answers for a model that failed', 'remove it'))
    }
  for (const [index, name] of Array.isArray(allow) ? allow.entries() : []) link(['models', 'allow', index], name)
  for (const name of Object.keys(models)) {
    const named = modelName.safeParse(name)
    if (!named.success)
      problems.push(report(['models', name], named.error.issues[0]?.message ?? '', 'give it another name'))
    const { provider, baseURL } = sectionAt(models, [name])
    if (provider === 'openai-compatible' && baseURL === undefined) {
      const remedy = 'add baseURL, such as "http://127.0.0.1:11434/v1"'
      problems.push(report(['models', name, 'baseURL'], 'is missing: this provider has no address of its own', remedy))
    }
  }
  return problems
}

function unknownDefault(
  { agent }: Settings,
  known: readonly string[],
  yaml: ParsedYaml,
  report: Report,
): ConfigProblem[] {
  const name = agent.default.replace(/^@/, '')
  if (known.includes(name)) return []
  const path = ['agent', 'default']
  const guess = nearest(name, known)
  const hint = guess ? `did you mean \`@${guess}\`?` : 'no agent of that name can be given work here'
  const written = quoteValue(String(valueAt(yaml.value, path)))
  return [report(path, `names the agent ${written}: ${hint}`, 'name one that `heddle agents` lists')]
}

/** Names in the permissions that stand for no tool: they would deny nothing and never ask. */
function wrongTools({ tools }: Settings, yaml: ParsedYaml, report: Report): ConfigProblem[] {
  const lists = [
    ...unknownTools(tools).map((unknown) => ({ unknown, below: ['tools'] })),
    ...unknownTools(tools.subagents.tools).map((unknown) => ({ unknown, below: ['tools', 'subagents', 'tools'] })),
  ]
  return lists.map(({ unknown, below }) => {
    const path = [...below, unknown.list, unknown.at]
    const written = quoteValue(String(valueAt(yaml.value, path) ?? ''))
    const hint = unknownToolHint(unknown)
    return report(path, `names the tool ${written}, which does not exist: ${hint}`, 'correct or remove the name')
  })
}

function isBelow(path: string, key: string): boolean {
  return `${path}.`.startsWith(`${key}.`)
}

/** Describes a value; a text that may be a secret is not repeated. */
function describeValue(value: unknown, path: ConfigPath): string {
  if (value === null) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a section'
  if (isSecretName(String(path.at(-1)))) return `a ${typeof value === 'string' ? 'text' : typeof value}`
  return typeof value === 'string' ? quoteValue(value) : String(value)
}

/** The value at a path of plain data; undefined if there is none. */
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
