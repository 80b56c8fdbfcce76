import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { HealthCheck } from '../../api/home.ts'
import type { AgentNames } from '../../config/check.ts'
import { type Config, configProblems, loadConfig, readConfigText } from '../../config/config.ts'
import { redact } from '../../config/redact.ts'
import type { Clock } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import { isAllowed } from '../../domain/tools/permission.ts'
import type { InFlightCall } from '../../engine/model/in-flight-call.ts'
import type { HomePaths } from '../../home/home.ts'
import { refusalIfMissing } from '../../home/known-databases.ts'
import { secretReader } from '../../home/secrets.ts'
import { examineDatabase } from '../../store/backup/examine.ts'
import { type DatabaseLocation, databaseName, printableLocation } from '../../store/open.ts'
import { execTool } from '../../tools/exec/sandbox/exec-tool.ts'
import { makeEmbedder, modelFacts, testModelAnswer, testModelWindow } from '../models.ts'
import { recordTrial } from '../trial-usage.ts'

const leastSpace = 200 * 1024 * 1024
const leastNode = 24
const longestTrial = 30_000

export interface DoctorInput {
  home: string
  paths: HomePaths
  configFile: string
  env: NodeJS.ProcessEnv
  userHome: string
  nodeVersion: string
  /** How to find the daemon of this home; left out where the daemon itself asks. */
  daemon?: DaemonLookup
  clock: Clock
  /** Whether models are sent long prompts, paid ones too. */
  isDeep: boolean
  /** Agents that could answer here. */
  agentNames: AgentNames
  /** Location of the database, once the configuration is known. */
  placeOf(config: Config): DatabaseLocation
}

interface DaemonLookup {
  /** The daemon that answers on the socket of this home, if one does. */
  find(): Promise<{ pid: number; version: string; since: string; socket: string } | undefined>
  /** Version of this program. */
  version: string
  /** Path of its socket, if there is one. */
  socket: string
}

/** Checks the installation; changes nothing. */
export async function examine(input: DoctorInput): Promise<HealthCheck[]> {
  const secrets = secretReader(input.paths.secrets)
  const config = await loadConfig(input.configFile, input.env, { userHome: input.userHome, secrets }).catch(
    (error) => error,
  )
  return [
    checkNode(input.nodeVersion),
    checkHome(input.home),
    ...checkModes(input),
    ...configHealth(input.configFile, config),
    ...(config instanceof Error ? [] : await checkNames(input)),
    ...(config instanceof Error ? [] : await checkModels(config as Config, input)),
    ...(config instanceof Error ? [] : await checkEmbedder(config as Config, input.clock)),
    ...(config instanceof Error ? [] : [await checkExec(config as Config, input)]),
    await checkDatabase(input, config),
    ...(input.daemon ? [await checkDaemon(input.daemon)] : []),
    checkDisk(input.home),
  ]
}

function checkNode(version: string): HealthCheck {
  const detail = `Node ${version}`
  if (Number(version.replace(/^v/, '').split('.')[0]) >= leastNode) return { name: 'node', status: 'ok', detail }
  return { name: 'node', status: 'fail', detail, remedy: `install Node ${leastNode} or newer` }
}

function checkHome(home: string): HealthCheck {
  if (!existsSync(home))
    return { name: 'home', status: 'ok', detail: `${home} does not exist yet; the first command creates it` }
  return statSync(home).isDirectory()
    ? { name: 'home', status: 'ok', detail: home }
    : { name: 'home', status: 'fail', detail: `${home} is not a folder`, remedy: 'choose another folder with --home' }
}

/** Checks that other users cannot read or write the home: it holds conversations and secrets. */
function checkModes({ home, paths, configFile }: DoctorInput): HealthCheck[] {
  const kept = existsSync(paths.secrets)
    ? [paths.secrets, ...readdirSync(paths.secrets).map((name) => join(paths.secrets, name))]
    : []
  const open = [home, configFile, paths.database, `${paths.database}-wal`, ...kept].filter((path) => {
    const found = statSync(path, { throwIfNoEntry: false })
    return found !== undefined && (found.mode & 0o077) !== 0
  })
  if (open.length === 0) return [{ name: 'permissions', status: 'ok', detail: 'private to you' }]
  return open.map((path) => ({
    name: 'permissions',
    status: 'warn',
    detail: `other users of this machine can read ${path}`,
    remedy: `chmod go-rwx ${path}`,
  }))
}

function configHealth(file: string, config: Config | unknown): HealthCheck[] {
  if (config instanceof HeddleError)
    return [{ name: 'config', status: 'fail', detail: config.message, remedy: config.remedy }]
  if (config instanceof Error) throw config
  const { warnings } = config as Config
  if (warnings.length === 0)
    return [{ name: 'config', status: 'ok', detail: existsSync(file) ? file : 'no file yet, defaults apply' }]
  return warnings.map(({ line, message, remedy }) => ({
    name: 'config',
    status: 'warn',
    detail: `${file}:${line} ${message}`,
    remedy,
  }))
}

/** The rest of the file is valid: what is left to find are names of agents and tools that do not exist. */
async function checkNames({ configFile, env, agentNames }: DoctorInput): Promise<HealthCheck[]> {
  const problems = configProblems((await readConfigText(configFile)) ?? '', env, { agentNames, toolsBelow: 'tools' })
  return problems.map(({ path, message, remedy }) => ({
    name: path.startsWith('tools') ? 'tools' : 'agent',
    status: 'fail',
    detail: message,
    remedy,
  }))
}

/**
 * A server on this machine is asked for one word, others are not asked anything. `deep` sends every model a long
 * prompt: servers on this machine cut it in silence, and others cost money.
 */
async function checkModels(config: Config, { clock, isDeep, paths, env }: DoctorInput): Promise<HealthCheck[]> {
  const look = (onCall: (call: InFlightCall) => void) =>
    Promise.all(
      Object.entries(config.models).map(async ([name, named]): Promise<HealthCheck> => {
        const title = `model ${name}`
        if (named.apiKey && !named.apiKey.isThere)
          return {
            name: title,
            status: 'warn',
            detail: 'its key is missing',
            remedy: `see: heddle models show ${name}`,
          }
        if (!modelFacts(named).isLocal && !isDeep)
          return { name: title, status: 'ok', detail: 'not asked, because it costs money: heddle doctor --deep' }
        const stop = new AbortController()
        void clock.sleep(longestTrial, stop.signal).then(() => stop.abort(slow()))
        const asking = isDeep
          ? testModelWindow(name, named, { clock, signal: stop.signal, onCall })
          : testModelAnswer(name, named, { clock, signal: stop.signal, onCall }).then(
              () => 'it answers; heddle doctor --deep also checks its context window',
            )
        const failed = await asking.catch((error: unknown) => error).finally(() => stop.abort())
        if (typeof failed === 'string') return { name: title, status: 'ok', detail: failed }
        if (!(failed instanceof HeddleError)) throw failed
        const status = failed.code === 'context_cut' ? 'fail' : 'warn'
        return { name: title, status, detail: failed.message, remedy: failed.remedy }
      }),
    )
  return recordTrial('doctor', { paths, config, env }, look)
}

/** Asks the embedder for one vector, which costs next to nothing. */
async function checkEmbedder({ memory }: Config, clock: Clock): Promise<HealthCheck[]> {
  if (!memory.embedder) return []
  const name = 'embedder'
  const embedder = makeEmbedder(memory.embedder, clock)
  try {
    const [vector] = await embedder.embed(['A heddle guides each thread.'], { signal: new AbortController().signal })
    return [{ name, status: 'ok', detail: `${redact(embedder.name)} works, ${vector?.length} dimensions` }]
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error
    const detail = `memories are found by words only: ${error.message}`
    return [{ name, status: 'warn', detail, remedy: error.remedy }]
  }
}

/** Runs a command that tries to get out of the sandbox. */
async function checkExec({ tools }: Config, { clock, env }: DoctorInput): Promise<HealthCheck> {
  const name = 'exec'
  if (!isAllowed(name, tools)) return { name, status: 'ok', detail: 'not allowed by the configuration' }
  const found = await execTool(tools.exec, { clock, env })
  if ('obstacle' in found)
    return {
      name,
      status: 'warn',
      detail: `exec is unavailable: ${found.obstacle.why}`,
      remedy: found.obstacle.remedy,
    }
  if (tools.exec.sandbox === 'off') {
    const detail = 'NO SANDBOX: agent commands can do whatever you can'
    return { name, status: 'fail', detail, remedy: 'heddle config set tools.exec.sandbox on' }
  }
  const reach = tools.exec.network ? 'with the network' : 'without network'
  return { name, status: 'ok', detail: `commands run in a sandbox, ${reach}` }
}

function slow(): HeddleError {
  return new HeddleError('model_slow', 'it did not answer within 30 s', 'see: heddle models test NAME')
}

async function checkDatabase({ placeOf, paths }: DoctorInput, config: Config | unknown): Promise<HealthCheck> {
  if (config instanceof Error)
    return {
      name: 'database',
      status: 'warn',
      detail: 'not checked: fix the configuration first',
      remedy: 'heddle config check',
    }
  try {
    const where = placeOf(config as Config)
    const refusal = await refusalIfMissing(paths, databaseName(where), printableLocation(where))
    const { place, version, newest, bytes } = await examineDatabase(where)
    if (version === 0 && refusal) throw refusal
    if (version === 0)
      return { name: 'database', status: 'ok', detail: `${place}: none yet; the first command creates it` }
    const size = bytes === null ? '' : `, ${(bytes / 1024 / 1024).toFixed(1)} MB`
    if (version > newest)
      return {
        name: 'database',
        status: 'fail',
        detail: `${place} has schema ${version}, this heddle supports up to ${newest}`,
        remedy: 'use the newer heddle that wrote it',
      }
    const upgrade = version < newest ? ' (will be upgraded, after a backup)' : ''
    return { name: 'database', status: 'ok', detail: `${place}: intact, schema ${version}${upgrade}${size}` }
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error
    return { name: 'database', status: 'fail', detail: error.message, remedy: error.remedy }
  }
}

async function checkDaemon({ find, socket, version }: DaemonLookup): Promise<HealthCheck> {
  const found = await find()
  if (found && found.version !== version)
    return {
      name: 'daemon',
      status: 'warn',
      detail: `process ${found.pid} is heddle ${found.version}, this is ${version}`,
      remedy: 'restart it: heddle down; heddle up',
    }
  if (found)
    return {
      name: 'daemon',
      status: 'ok',
      detail: `running since ${found.since}, process ${found.pid}, on ${found.socket}`,
    }
  if (!existsSync(socket)) return { name: 'daemon', status: 'ok', detail: 'not running (optional)' }
  return {
    name: 'daemon',
    status: 'warn',
    detail: `no answer on ${socket}: the daemon was killed or hangs`,
    remedy: 'restart it: heddle down; heddle up',
  }
}

function checkDisk(home: string): HealthCheck {
  let folder = home
  while (!existsSync(folder)) folder = dirname(folder)
  const { bavail, bsize } = statfsSync(folder)
  const detail = `${Math.floor((bavail * bsize) / 1024 / 1024)} MB free under ${folder}`
  if (bavail * bsize >= leastSpace) return { name: 'disk', status: 'ok', detail }
  return {
    name: 'disk',
    status: 'warn',
    detail,
    remedy: 'free some space: heddle refuses new work when the disk is full',
  }
}
