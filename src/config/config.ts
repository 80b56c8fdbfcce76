import { lstat, readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { HeddleError } from '../domain/errors.ts'
import type { ThinkingConfig } from '../domain/message.ts'
import type { ShareMode } from '../domain/subagent.ts'
import { type CheckedConfig, checkConfig, joinNames, type NameChecks, remedyFor, secretRemedy } from './check.ts'
import type { Env, Secrets } from './interpolate.ts'
import { ApiKey } from './key.ts'
import { type ConfigPath, formatPath } from './path.ts'
import { ConfigInvalid, type ConfigProblem } from './problem.ts'
import { redact } from './redact.ts'
import type { durabilities, planGates, providers, routings, Settings, sandboxes, schedulings } from './schema.ts'

/** A model of the section `models`. */
export interface NamedModel {
  provider: (typeof providers)[number]
  model: string
  apiKey?: ApiKey
  baseURL?: string
  contextWindow?: number
  /** USD per million tokens. */
  price?: { input: number; output: number; cacheRead?: number; cacheWrite?: number }
  /** Thinking level, if the model supports it. */
  thinking?: ThinkingConfig['level']
  /** Whether it understands images, for a model that no table lists. */
  sees?: boolean
  /** Seconds: max silence, and max duration of a reply. */
  timeout?: { idle?: number; total?: number }
}

/** The embedder for semantic search, if configured. */
export interface NamedEmbedder {
  baseURL: string
  model: string
  apiKey?: ApiKey
}

/** An address that receives signed messages. */
interface NamedWebhook {
  url: string
  secret: ApiKey
}

/** The configuration with every default filled in and every reference resolved. */
export interface Config {
  name: string
  /** `sqlite` or a postgres:// address. May hold a password: print `configShow(config).database` instead. */
  database: string
  durability: (typeof durabilities)[number]
  models: Record<string, NamedModel>
  /** Models that may be used (`models.allow`); all if it is left out. */
  allowedModels?: string[]
  /** `model` is absent only when `models` is empty. */
  agent: { model?: string; fallbacks: string[]; default: string; routing: (typeof routings)[number] }
  /** Max concurrent runs of agents, the default timeout in seconds of running time, and defaults for sub-agents. */
  agents: {
    maxConcurrent: number
    defaultTimeout: number
    defaults: { subagents: { allowAgents?: string[]; model?: string } }
  }
  engine: { maxRunning: number; leaseSeconds: number }
  scheduling: (typeof schedulings)[number]
  plans: (typeof planGates)[number]
  /**
   * Whether agents recall memories, how many stay searchable, whether files of the home are searched too, and whether a
   * narrative is written after a session, by which model.
   */
  memory: {
    recall: boolean
    most: number
    files: boolean
    narratives: boolean
    narrator?: string
    embedder?: NamedEmbedder
  }
  budgets: { perRequest: { usd: number; tokens: number; steps: number }; perDay: { usd: number } }
  /** Absolute. */
  workspace: string
  /** Absolute; in addition to the home's own. */
  skills: string[]
  tools: {
    /** Absent: all tools. Empty: none. */
    allow?: string[]
    deny: string[]
    /** Absent: writing, and commands with network or without a sandbox. Empty: never. */
    ask?: string[]
    exec: {
      sandbox: (typeof sandboxes)[number]
      network: boolean
      /** Default and max timeout of a command. */
      timeoutSeconds: number
      maxTimeoutSeconds: number
      memoryMB: number
      processes: number
      /** Names of the credentials that commands see. */
      credentials: string[]
    }
    /** Non-public origins that may be fetched. */
    fetch: { allow: string[] }
    subagents: {
      maxSpawnDepth: number
      maxChildrenPerAgent: number
      maxPerTurn: number
      maxConcurrent: number
      /** Minutes after its end at which a sub-agent's session is archived; 0: never. */
      archiveAfterMinutes: number
      /** Agents that may be started, within those of `agents.defaults`. Absent: all. Empty: none. */
      allowAgents?: string[]
      /** Default model of sub-agents; that of `agents.defaults` is used without it. */
      model?: string
      thinking?: ThinkingConfig['level']
      /** Tools of sub-agents, within those of the run that starts them. */
      tools: { allow?: string[]; deny: string[] }
      memoryShareMode: ShareMode
    }
  }
  /** Time zone of new jobs, the machine's by default; max concurrent runs of jobs. */
  cron: { timezone?: string; maxConcurrent: number }
  /** Addresses that answers of jobs may be sent to, by name. */
  webhooks: Record<string, NamedWebhook>
  /** Where the page and the routes are served over TCP; `port` is absent unless the owner insists on one. */
  http: {
    enabled: boolean
    bind: string
    port?: number
    /** Names besides the address under which it is reached. */
    hosts: string[]
    /** Absolute paths of the certificate and its key. */
    tls?: { cert: string; key: string }
    allowPlain: boolean
    requestsPerSecond: number
    failuresPerMinute: number
  }
  retention: { eventDays: number }
  /** A program that is called with each notification as its argument. */
  notify: { command?: string }
  /** Values of the credentials in `tools.exec`, by name; those that have one. */
  credentials: Record<string, ApiKey>
  /** Problems that do not stop Heddle: keys whose variable is not set. */
  warnings: ConfigProblem[]
  /** Dotted path → text as written (redacted), for every value that refers to a variable or secret. */
  written: Record<string, string>
  /** Dotted path → line in the file, for every value that the file has; the others are defaults. */
  lines: Record<string, number>
}

interface LoadOptions {
  /** Directory that `~` stands for. */
  userHome?: string
  /** Looks up `${secret:NAME}`; without it there are no secrets. */
  secrets?: Secrets
}

/** Loads the configuration; a missing file means the defaults. Throws all problems at once. */
export async function loadConfig(file: string, env: Env, options: LoadOptions = {}): Promise<Config> {
  return configReader(file, env, options)()
}

/** Loads the configuration each time; a text that refers to no variable or secret is not checked again until it changes. */
export function configReader(file: string, env: Env, options: LoadOptions = {}): () => Promise<Config> {
  const { userHome = homedir(), secrets = () => undefined } = options
  let last: { text: string; config: Config } | undefined
  return async () => {
    const text = (await readConfigText(file)) ?? ''
    if (last?.text === text) return last.config
    const checked = checkConfig(text, env, secrets)
    if (!checked.settings) throw new ConfigInvalid(file, checked.problems)
    const config = resolveConfig(checked.settings, checked, { userHome, secrets, env })
    // A secret may be stored, and a credential set, without a change of the text.
    const isWhole = Object.keys(config.written).length + config.tools.exec.credentials.length === 0
    last = isWhole ? { text, config } : undefined
    return config
  }
}

/** Throws if a file that the user named does not exist: the defaults would be wrong then. */
export async function assertConfigFile(file: string): Promise<void> {
  if ((await readConfigText(file)) !== undefined) return
  throw new HeddleError(
    'config_missing',
    `there is no file ${file}`,
    'name an existing file with --config, or leave it out',
  )
}

/** All problems of a configuration text; empty if it is valid. */
export function configProblems(text: string, env: Env, names?: NameChecks): ConfigProblem[] {
  return checkConfig(text, env, undefined, names).problems
}

/** Expands `~` in a configured folder. */
export function expandFolder(folder: string, userHome: string): string {
  return folder.startsWith('~') ? join(userHome, folder.slice(1)) : folder
}

/** The file's text; undefined if there is no file. */
export async function readConfigText(file: string): Promise<string | undefined> {
  try {
    const found = await stat(file)
    if (!found.isFile()) throw unreadable(file, 'it is not a file')
    if (found.size > 1024 * 1024) throw unreadable(file, 'it is larger than 1 MB')
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readFile(file))
  } catch (error) {
    if (error instanceof HeddleError) throw error
    if (error instanceof TypeError) throw unreadable(file, 'it is not UTF-8 text')
    const code = (error as NodeJS.ErrnoException).code
    // A dangling link is a lost configuration: defaults would silently drop its denials and budgets.
    if (code === 'ENOENT' && !(await isLink(file))) return undefined
    throw unreadable(
      file,
      code === 'ENOENT' ? 'it is a link to a file that does not exist' : `reading it failed with ${code}`,
    )
  }
}

async function isLink(file: string): Promise<boolean> {
  return lstat(file).then(
    (found) => found.isSymbolicLink(),
    () => false,
  )
}

function unreadable(file: string, why: string): HeddleError {
  return new HeddleError('config_unreadable', `cannot read ${file}: ${why}`, `fix or remove ${file}`)
}

type ResolveOptions = Required<Pick<LoadOptions, 'userHome' | 'secrets'>> & { env: Env }

function resolveConfig(settings: Settings, checked: CheckedConfig, { userHome, secrets, env }: ResolveOptions): Config {
  const { references, warnings } = checked
  const expand = (folder: string) => expandFolder(folder, userHome)
  const { allow, ...named } = settings.models
  const models: [string, NamedModel][] = Object.entries(named).map(([name, { apiKey, ...model }]) => [
    name,
    apiKey === undefined
      ? model
      : { ...model, apiKey: keyOf(['models', name, 'apiKey'], `model ${name}`, apiKey, checked, secrets) },
  ])
  const webhooks: [string, NamedWebhook][] = Object.entries(settings.webhooks).map(([name, { url, secret }]) => [
    name,
    { url, secret: keyOf(['webhooks', name, 'secret'], `webhook ${name}`, secret, checked, secrets) },
  ])
  const { embedder, ...memory } = settings.memory
  const { model, ...agent } = settings.agent
  const { tls, ...http } = settings.http
  const chosen = model ?? (Object.hasOwn(named, 'main') ? 'main' : models[0]?.[0])
  return {
    ...settings,
    models: Object.fromEntries(models),
    ...(allow && { allowedModels: allow }),
    agent: chosen === undefined ? agent : { model: chosen, ...agent },
    memory: embedder ? { ...memory, embedder: embedderOf(embedder, checked, secrets) } : memory,
    webhooks: Object.fromEntries(webhooks),
    http: tls ? { ...http, tls: { cert: expand(tls.cert), key: expand(tls.key) } } : http,
    workspace: expand(settings.workspace),
    skills: settings.skills.map(expand),
    credentials: credentialsOf(settings.tools.exec.credentials, (name) => secrets(name) ?? env[name]),
    warnings,
    lines: checked.lines,
    written: Object.fromEntries(Array.from(references.written, ([path, text]) => [path, redact(text)])),
  }
}

/** The credentials that commands see. One without a value is left out: its commands run without it. */
function credentialsOf(names: readonly string[], find: Secrets): Record<string, ApiKey> {
  const found = names.map((name) => [name, find(name)] as const)
  return Object.fromEntries(
    found.flatMap(([name, value]) => (value ? [[name, new ApiKey(`\${${name}}`, value)] as const] : [])),
  )
}

function embedderOf(
  { apiKey, ...address }: NonNullable<Settings['memory']['embedder']>,
  checked: CheckedConfig,
  secrets: Secrets,
): NamedEmbedder {
  if (apiKey === undefined) return address
  return { ...address, apiKey: keyOf(['memory', 'embedder', 'apiKey'], 'embedder', apiKey, checked, secrets) }
}

function keyOf(at: ConfigPath, who: string, value: string, { references }: CheckedConfig, secrets: Secrets): ApiKey {
  const path = formatPath(at)
  const missing = references.missing.find((found) => formatPath(found.path) === path)?.names
  const secret = references.secrets.find((found) => formatPath(found.path) === path)?.name
  const written = references.written.get(path) ?? value
  if (missing) {
    const message = `the ${who} has no key: ${joinNames(missing)} is not set`
    return new ApiKey(written, new HeddleError('key_missing', message, remedyFor(missing)))
  }
  if (secret) {
    const message = `the ${who} has no key: there is no secret ${redact(secret)}`
    return new ApiKey(written, secrets(secret) ?? new HeddleError('key_missing', message, secretRemedy(secret)))
  }
  return new ApiKey(written, value)
}
