import { defaultOllama, findOllama, type OllamaModelInfo, vendorDefaults, widenWindow } from '../../../app/models.ts'
import type { Config, NamedModel } from '../../../config/config.ts'
import { ApiKey } from '../../../config/key.ts'
import { modelName, rehearsal } from '../../../config/schema.ts'
import { configSet } from '../../../config/set.ts'
import { HeddleError, UsageError } from '../../../domain/errors.ts'
import { groupDigits } from '../../../domain/text/group-digits.ts'
import { ensureHome, homePaths } from '../../../home/home.ts'
import { storeSecret } from '../../../home/secrets.ts'
import type { CommandContext, CommandResult } from '../../command.ts'
import { wholeNumber } from '../../input/counts.ts'
import { trialLines, undoCommand } from '../../pages/trial-lines.ts'
import { askHidden, askLine, canAsk, readInput } from '../../terminal/prompt.ts'
import { printable } from '../../terminal/screen.ts'
import { load, replaceOptions } from '../set-up.ts'
import { type FoundServer, findServer } from './find-server.ts'
import { recordedTrial } from './recorded-trial.ts'

type Vendor = keyof typeof vendorDefaults
type Options = Record<string, unknown>

const vendors = Object.keys(vendorDefaults) as Vendor[]
/** Environment variables that hold keys, the most common first. */
const keyVariables: Record<Vendor, string[]> = {
  anthropic: ['ANTHROPIC_API_KEY'],
  openai: ['OPENAI_API_KEY'],
  google: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
}
/** Context window that is large enough for agents and fits most machines. */
const defaultWindow = 32_768

/** A model that is not written to heddle.yaml yet. */
interface ModelCandidate {
  name: string
  lines: Record<string, unknown>
  named: NamedModel
  /** Stored once the model has passed its test. */
  secret?: { name: string; value: string }
  /** Whether it becomes the default model. */
  switches: boolean
}

/** Finds a model, tests it, and only then writes it to heddle.yaml and switches to it. A failure changes nothing. */
export async function addModel(
  here: CommandContext,
  asked: string | undefined,
  options: Options,
): Promise<CommandResult> {
  const config = await load(here)
  checkOptions(options)
  const what = asked ?? (await chooseWhat(here))
  const candidate = await candidateFor(here, what, config, options)
  here.tell(`testing ${printable(candidate.named.model)} …`)
  const trial = await recordedTrial(here, config, 'models add', candidate.name, candidate.named)
  const failed = trial.checks.find(({ ok }) => !ok)
  if (failed)
    throw new HeddleError(
      'model_failed',
      `${printable(candidate.named.model)} did not pass: ${failed.name}: ${failed.detail} heddle.yaml was not changed.`,
      failed.remedy ?? 'try another model with --model',
    )
  await write(here, candidate)
  return addedResult(here, candidate, config, trialLines(here, trial))
}

/** Checks the options before any prompt is shown or anything is written. */
function checkOptions(options: Options): void {
  const name = text(options, 'name')
  if (name === rehearsal || (name !== undefined && !modelName.safeParse(name).success))
    throw new UsageError(`"${printable(name)}" cannot be the name of a model.`, 'use letters, digits, . _ : and -')
  if (options['window'] !== undefined)
    wholeNumber(options['window'], { what: 'number of tokens', remedy: 'give one such as 32768' })
  const empty = ['name', 'model', 'baseUrl', 'keyEnv'].find((each) => String(options[each] ?? 'left out').trim() === '')
  if (empty !== undefined)
    throw new UsageError(
      `--${empty.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)} is empty.`,
      'give it a value, or leave it out',
    )
}

async function write(here: CommandContext, { name, lines, secret, switches }: ModelCandidate): Promise<void> {
  await ensureHome(here.home)
  if (secret) await storeSecret(homePaths(here.home).secrets, secret.name, secret.value)
  const options = replaceOptions(here)
  await configSet(here.configFile, `models."${name}"`, flow(lines), options)
  if (switches) await configSet(here.configFile, 'agent.model', JSON.stringify(name), options)
}

function addedResult(here: CommandContext, candidate: ModelCandidate, config: Config, tested: string): CommandResult {
  const { name, named, secret, switches } = candidate
  const before = config.agent.model ?? rehearsal
  const kept = secret
    ? [`stored in ${homePaths(here.home).secrets} (0600) · heddle.yaml holds only \${secret:${secret.name}}`]
    : []
  const now = switches
    ? [
        `${name} is now ${printable(named.model)} (was ${before}).    ${undoCommand(before, name)}`,
        `If it fails you get the error, never ${rehearsal}.`,
      ]
    : [`${name} is ready; switch to it:  heddle models use ${name}`]
  return {
    json: {
      ok: true,
      name,
      provider: named.provider,
      model: named.model,
      default: switches ? name : before,
      before,
      ...(secret && { secret: secret.name }),
    },
    text: [...kept, tested, ...now].join('\n'),
  }
}

/** Detects what can be added, keys in the environment and Ollama on this machine, and asks which. */
async function chooseWhat(here: CommandContext): Promise<string> {
  const keys = vendors.filter((vendor) => keyVariables[vendor].some((name) => here.env[name]))
  const ollama = await findOllama(defaultOllama, here.clock)
  const found = [...keys, ...(ollama ? ['ollama'] : [])]
  const commands = (found.length > 0 ? found : [...vendors, 'ollama', 'URL']).map((each) => `heddle models add ${each}`)
  const seen = found.length > 0 ? `found: ${found.join(', ')}` : 'no key in the environment, and no Ollama here'
  if (!canAsk(here) || here.json) throw new UsageError(`name what to add; ${seen}.`, commands.join('   or   '))
  here.tell(seen)
  const first = found[0] ?? 'anthropic'
  return (
    (await askLine(here, `add which (${[...vendors, 'ollama'].join(', ')}, or an address)? [${first}] `)).trim() ||
    first
  )
}

async function candidateFor(
  here: CommandContext,
  what: string,
  config: Config,
  options: Options,
): Promise<ModelCandidate> {
  if (what === 'ollama') return ollamaCandidate(here, config, options)
  if (/^https?:\/\//.test(what)) return servedCandidate(here, what, config, options)
  const vendor = vendors.find((each) => each === what)
  if (!vendor)
    throw new UsageError(`"${printable(what)}" is not a provider.`, `use ${vendors.join(', ')}, ollama or an address`)
  const model = text(options, 'model') ?? vendorDefaults[vendor]
  const key = await keyFor(here, options, { secret: vendor, variables: keyVariables[vendor], mayBeNone: false })
  const baseURL = text(options, 'baseUrl')
  const lines = { provider: vendor, model, ...(baseURL && { baseURL }), ...extras(options) }
  return candidate(config, options, { usual: vendor, lines, key, switches: true })
}

async function servedCandidate(
  here: CommandContext,
  url: string,
  config: Config,
  options: Options,
): Promise<ModelCandidate> {
  if (options['baseUrl'] !== undefined)
    throw new UsageError('--base-url names a different address than the server you add.', 'leave one of them out')
  const baseURL = url.replace(/\/+$/, '')
  const host = new URL(baseURL).hostname.replaceAll(/[^A-Za-z0-9-]/g, '-')
  const secret = /^[A-Za-z]/.test(host) ? host : 'server'
  const key = await keyFor(here, options, { secret, variables: [], mayBeNone: true })
  const found: FoundServer = await findServer(here, baseURL, key?.value, text(options, 'model'))
  const lines = { provider: 'openai-compatible', baseURL, ...found, ...extras(options) }
  return candidate(config, options, { usual: secret, lines, key, switches: true })
}

async function ollamaCandidate(here: CommandContext, config: Config, options: Options): Promise<ModelCandidate> {
  if (options['key'] !== undefined || options['keyEnv'] !== undefined)
    throw new UsageError('Ollama takes no key', 'leave it out; another server with a key: heddle models add URL')
  const origin = (text(options, 'baseUrl') ?? defaultOllama).replace(/\/(v1)?\/?$/, '')
  const ollama = await findOllama(origin, here.clock)
  if (!ollama)
    throw new HeddleError(
      'ollama_missing',
      `Ollama does not answer at ${origin}`,
      'start it: ollama serve; or give --base-url',
    )
  here.tell(`found Ollama ${printable(ollama.version)} at ${origin.replace(/^https?:\/\//, '')}`)
  for (const [at, each] of ollama.models.entries()) here.tell(ollamaLine(at + 1, each))
  const chosen = await chooseOllama(here, ollama.models, options)
  const window = Number(options['window'] ?? Math.min(defaultWindow, chosen.windowMost))
  const model = chosen.windowNow >= window ? chosen.name : await widened(here, origin, chosen.name, window)
  const sees = chosen.sees ? { sees: true } : {}
  const lines = { provider: 'openai-compatible', baseURL: `${origin}/v1`, model, contextWindow: window, ...sees }
  const isFirst = Object.keys(config.models).length === 0
  return candidate(config, options, { usual: 'local', lines, key: undefined, switches: isFirst })
}

function ollamaLine(place: number, { name, hasTools, windowNow, windowMost }: OllamaModelInfo): string {
  const facts = hasTools
    ? `tools yes   window now ${groupDigits(windowNow)}   supports ${groupDigits(windowMost)}`
    : 'tools no    cannot act as an agent'
  return `  ${place}  ${printable(name).padEnd(16)} ${facts}`
}

async function chooseOllama(
  here: CommandContext,
  models: OllamaModelInfo[],
  options: Options,
): Promise<OllamaModelInfo> {
  const wanted = text(options, 'model')
  const first = models.find(({ name, hasTools }) => (wanted === undefined ? hasTools : name === wanted))
  if (!first)
    throw new HeddleError(
      'ollama_no_model',
      wanted === undefined ? 'no model in Ollama can call tools' : `Ollama has no model ${printable(wanted)}`,
      'get one: ollama pull qwen3; then try again',
    )
  if (options['yes'] === true || wanted !== undefined || !canAsk(here) || here.json) return first
  const window = groupDigits(Math.min(defaultWindow, first.windowMost))
  const size = `${(first.bytes / 1e9).toFixed(1)} GB`
  const place = models.indexOf(first) + 1
  const answer = (await askLine(here, `use ${place} with a window of ${window} (${size})? [Y/n, or a number] `)).trim()
  const other = models[Number(answer) - 1]
  if (other) return other
  if (/^(y|yes|)$/i.test(answer)) return first
  throw new HeddleError('cancelled', 'stopped: nothing was changed', 'run the command again')
}

async function widened(here: CommandContext, origin: string, name: string, window: number): Promise<string> {
  const made = await widenWindow(origin, name, window, here.clock)
  if (made === undefined)
    throw new HeddleError(
      'ollama_window',
      `Ollama could not give ${printable(name)} a window of ${window}`,
      'set OLLAMA_CONTEXT_LENGTH where Ollama starts, and give that number with --window',
    )
  here.tell(`made ${printable(made)} in Ollama: the same weights with a wider window; remove it: ollama rm ${made}`)
  return made
}

interface Key {
  /** The reference that is written to heddle.yaml. */
  written: string
  value: string
  /** Name of the secret to store the value in; unset if it comes from the environment. */
  secret?: string
}

/** Reads the key from a variable, stdin or a hidden prompt. Never from an argument: other users could read it. */
async function keyFor(
  here: CommandContext,
  options: Options,
  { secret, variables, mayBeNone }: { secret: string; variables: string[]; mayBeNone: boolean },
): Promise<Key | undefined> {
  const variable = text(options, 'keyEnv')
  const usual = variables.find((name) => here.env[name])
  if (variable !== undefined) return fromVariable(here, variable)
  if (options['key'] !== undefined) {
    if (options['key'] !== '-')
      throw new UsageError('a key must not be an argument: others could read it.', 'use --key - and pipe it')
    return { written: `\${secret:${secret}}`, value: await readInput(here), secret }
  }
  const mayAsk = canAsk(here) && !here.json && options['yes'] !== true
  const hint = usual ? `; Enter = use $${usual}` : mayBeNone ? '; Enter = none' : ''
  const typed = mayAsk ? (await askHidden(here, `API key (hidden${hint}): `)).trim() : ''
  if (typed !== '') return { written: `\${secret:${secret}}`, value: typed, secret }
  if (usual) return fromVariable(here, usual)
  if (mayBeNone) return undefined
  throw new UsageError('no key was given.', `set ${variables[0]}, or pipe the key: heddle models add ${secret} --key -`)
}

function fromVariable({ env }: CommandContext, name: string): Key {
  const value = Object.hasOwn(env, name) ? env[name] : undefined
  if (!value)
    throw new UsageError(`the environment variable ${printable(name)} is not set.`, `export ${printable(name)} first`)
  return { written: `\${${name}}`, value }
}

function candidate(
  config: Config,
  options: Options,
  made: { usual: string; lines: Record<string, unknown>; key: Key | undefined; switches: boolean },
): ModelCandidate {
  const { usual, lines, key, switches } = made
  const isFirst = Object.keys(config.models).length === 0
  const name = text(options, 'name') ?? (isFirst && usual !== 'local' ? 'main' : usual)
  return {
    name,
    lines: { ...lines, ...(key && { apiKey: key.written }) },
    named: { ...(lines as unknown as NamedModel), ...(key && { apiKey: new ApiKey(key.written, key.value) }) },
    ...(key?.secret !== undefined && { secret: { name: key.secret, value: key.value } }),
    switches,
  }
}

function extras(options: Options): { contextWindow?: number } {
  return options['window'] === undefined ? {} : { contextWindow: Number(options['window']) }
}

function text(options: Options, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** One line of YAML. Values are quoted, since references contain braces. */
function flow(lines: Record<string, unknown>): string {
  const pairs = Object.entries(lines).map(([key, value]) => `${key}: ${flowValue(value)}`)
  return `{ ${pairs.join(', ')} }`
}

function flowValue(value: unknown): string {
  if (typeof value === 'object' && value !== null) return flow(value as Record<string, unknown>)
  return typeof value === 'string' && /^[A-Za-z][\w.-]*$/.test(value) ? value : JSON.stringify(value)
}
