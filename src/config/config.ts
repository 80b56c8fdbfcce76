import { lstat, readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { HeddleError } from '../domain/errors.ts'
import { type AgentNames, type Checked, checkConfig, listed, remedyFor, secretRemedy } from './check.ts'
import type { Env, Secrets } from './interpolate.ts'
import { ApiKey } from './key.ts'
import { type ConfigPath, dotted } from './path.ts'
import { ConfigInvalid, type ConfigProblem } from './problem.ts'
import { redact } from './redact.ts'
import type {
  durabilities,
  memoryShareModes,
  planGates,
  providers,
  Settings,
  sandboxes,
  schedulings,
  thinkingLevels,
} from './schema.ts'

/** A model that the owner named in `models`. */
export interface NamedModel {
  provider: (typeof providers)[number]
  model: string
  apiKey?: ApiKey
  baseURL?: string
  contextWindow?: number
  /** USD per million tokens. */
  price?: { input: number; output: number; cacheRead?: number; cacheWrite?: number }
  /** How much it thinks before it answers, where it can. */
  thinking?: (typeof thinkingLevels)[number]
  /** Whether it understands pictures, for a model that no table lists. */
  sees?: boolean
  /** Seconds: how long it may send nothing, and how long a reply may take. */
  timeout?: { idle?: number; total?: number }
}

/** Who tells what memories mean, where the owner wants that. */
export interface NamedEmbedder {
  baseURL: string
  model: string
  apiKey?: ApiKey
}

/** The configuration with every default filled in and every reference resolved. */
export interface Config {
  name: string
  /** `sqlite` or a postgres:// address. May hold a password: print `configShow(config).database` instead. */
  database: string
  durability: (typeof durabilities)[number]
  models: Record<string, NamedModel>
  /** `model` is absent only when `models` is empty. */
  agent: { model?: string; fallbacks: string[]; default: string }
  /** Running specialist runs; seconds of running time. */
  agents: { maxConcurrent: number; defaultTimeout: number }
  engine: { maxRunning: number; leaseSeconds: number }
  scheduling: (typeof schedulings)[number]
  plans: (typeof planGates)[number]
  /**
   * Whether agents are reminded of what is known, how many memories are kept where they are found, whether what stands
   * in files of the home is found, too, and whether somebody notes after a talk where it stands, on which model.
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
  /** Absolute; besides the home's own. */
  skills: string[]
  tools: {
    /** Absent: all tools. Empty: none. */
    allow?: string[]
    deny: string[]
    /** Absent: writing, and commands that are not confined. Empty: never. */
    ask?: string[]
    exec: {
      sandbox: (typeof sandboxes)[number]
      network: boolean
      /** What a command gets that asks for nothing else, and the most that one may ask for. */
      timeoutSeconds: number
      maxTimeoutSeconds: number
      memoryMB: number
      processes: number
    }
    /** Origins that may be fetched from although they are not public. */
    fetch: { allow: string[] }
    subagents: {
      maxSpawnDepth: number
      maxChildrenPerAgent: number
      maxPerTurn: number
      maxConcurrent: number
      memoryShareMode: (typeof memoryShareModes)[number]
    }
  }
  retention: { eventDays: number }
  /** A program that is given each notice as its one argument. */
  notify: { command?: string }
  /** What the owner should mend although the rest works: keys whose variable is not set. */
  warnings: ConfigProblem[]
  /** Dotted path → text as written (redacted), for every value that refers to a variable or secret. */
  written: Record<string, string>
}

export interface LoadOptions {
  /** What `~` stands for. */
  userHome?: string
  /** Where `${secret:NAME}` is looked up; without it there are no secrets. */
  secrets?: Secrets
  /** For a file that somebody named: its absence is then an error, not a reason for defaults. */
  mustExist?: boolean
}

/** Reads the configuration; a file that is not there means the defaults. Throws every problem at once. */
export async function loadConfig(file: string, env: Env, options: LoadOptions = {}): Promise<Config> {
  const text = await readConfigText(file)
  if (text === undefined && options.mustExist) {
    throw new HeddleError(
      'config_missing',
      `There is no file ${file}.`,
      'name an existing file with --config, or leave it out',
    )
  }
  const { userHome = homedir(), secrets = () => undefined } = options
  const checked = checkConfig(text ?? '', env, secrets)
  if (!checked.settings) throw new ConfigInvalid(file, checked.problems)
  return resolved(checked.settings, checked, { userHome, secrets })
}

/** Everything that keeps a text from being used as configuration; empty when it can be. */
export function configProblems(text: string, env: Env, agentNames?: AgentNames): ConfigProblem[] {
  return checkConfig(text, env, undefined, agentNames).problems
}

/** A folder as settings write it, with `~` for the home of the user. */
export function wholeFolder(folder: string, userHome: string): string {
  return folder.startsWith('~') ? join(userHome, folder.slice(1)) : folder
}

/** The file's text, or nothing when there is no file. */
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
    // A link to nowhere is a configuration that got lost: defaults would quietly drop its denials and budgets.
    if (code === 'ENOENT' && !(await isLink(file))) return undefined
    throw unreadable(file, code === 'ENOENT' ? 'it is a link to a file that does not exist' : `reading it gave ${code}`)
  }
}

async function isLink(file: string): Promise<boolean> {
  return lstat(file).then(
    (found) => found.isSymbolicLink(),
    () => false,
  )
}

function unreadable(file: string, why: string): HeddleError {
  return new HeddleError('config_unreadable', `Cannot read ${file}: ${why}.`, `mend or remove ${file}`)
}

type Resolving = Required<Pick<LoadOptions, 'userHome' | 'secrets'>>

function resolved(settings: Settings, checked: Checked, { userHome, secrets }: Resolving): Config {
  const { references, warnings } = checked
  const whole = (folder: string) => wholeFolder(folder, userHome)
  const models: [string, NamedModel][] = Object.entries(settings.models).map(([name, { apiKey, ...model }]) => [
    name,
    apiKey === undefined
      ? model
      : { ...model, apiKey: keyOf(['models', name, 'apiKey'], `model ${name}`, apiKey, checked, secrets) },
  ])
  const { embedder, ...memory } = settings.memory
  const { model, ...agent } = settings.agent
  const chosen = model ?? (Object.hasOwn(settings.models, 'main') ? 'main' : models[0]?.[0])
  return {
    ...settings,
    models: Object.fromEntries(models),
    agent: chosen === undefined ? agent : { model: chosen, ...agent },
    memory: embedder ? { ...memory, embedder: embedderOf(embedder, checked, secrets) } : memory,
    workspace: whole(settings.workspace),
    skills: settings.skills.map(whole),
    warnings,
    written: Object.fromEntries(Array.from(references.written, ([path, text]) => [path, redact(text)])),
  }
}

function embedderOf(
  { apiKey, ...place }: NonNullable<Settings['memory']['embedder']>,
  checked: Checked,
  secrets: Secrets,
): NamedEmbedder {
  if (apiKey === undefined) return place
  return { ...place, apiKey: keyOf(['memory', 'embedder', 'apiKey'], 'embedder', apiKey, checked, secrets) }
}

function keyOf(at: ConfigPath, who: string, value: string, { references }: Checked, secrets: Secrets): ApiKey {
  const path = dotted(at)
  const missing = references.missing.find((found) => dotted(found.path) === path)?.names
  const secret = references.secrets.find((found) => dotted(found.path) === path)?.name
  const written = references.written.get(path) ?? value
  if (missing) {
    const message = `The ${who} has no key: ${listed(missing)} is not set.`
    return new ApiKey(written, new HeddleError('key_missing', message, remedyFor(missing)))
  }
  if (secret) {
    const message = `The ${who} has no key: there is no secret ${redact(secret)}.`
    return new ApiKey(written, secrets(secret) ?? new HeddleError('key_missing', message, secretRemedy(secret)))
  }
  return new ApiKey(written, value)
}
