import { Option } from 'commander'
import { describeRehearsal, modelFacts, type Origin, rehearsalPieces, tableDate } from '../../app/models.ts'
import type { Config, NamedModel } from '../../config/config.ts'
import { redact } from '../../config/redact.ts'
import { rehearsal } from '../../config/schema.ts'
import { configSet } from '../../config/set.ts'
import { HeddleError } from '../../domain/errors.ts'
import { groupDigits } from '../../domain/text/group-digits.ts'
import { nearest } from '../../domain/text/nearest.ts'
import type { CommandContext, CommandResult, Register } from '../command.ts'
import { trialLines, undoCommand } from '../pages/trial-lines.ts'
import { paint, printable, table } from '../terminal/screen.ts'
import { addModel } from './models/models-add.ts'
import { recordedTrial } from './models/recorded-trial.ts'
import { load, replaceOptions } from './set-up.ts'

export const registerModels: Register = (program, run) => {
  const models = program.command('models').helpGroup('SET UP').description('models: list, add, test, switch')
  models.command('list', { isDefault: true }).alias('ls').description('all models').action(run(list))
  models
    .command('add [what]')
    .description('add a model: anthropic, openai, google, ollama, or the URL of a compatible server')
    .option('--name <name>', 'what to call it')
    .option('--model <model>', 'the model, as its provider names it')
    .option('--base-url <url>', 'API base URL')
    .option('--key-env <variable>', 'an environment variable that holds the key')
    .addOption(new Option('--key <->', 'read the key from stdin (--key -)').conflicts('keyEnv'))
    .option('--window <tokens>', 'the context window to use')
    .option('-y, --yes', 'use what is found without asking')
    .addHelpText('after', '\nExample: heddle models add anthropic')
    .action(run((here, [what], options) => addModel(here, what, options)))
  models
    .command('use <name>')
    .description('make a model the default')
    .action(run((here, [name = '']) => use(here, name)))
  models
    .command('test <name>')
    .description('try text, a tool call and a long prompt; costs a little on paid models')
    .action(run((here, [name = '']) => test(here, name)))
  models
    .command('show <name>')
    .description('everything about one model')
    .action(run((here, [name = '']) => showModel(here, name)))
}

async function list(here: CommandContext): Promise<CommandResult> {
  const config = await load(here)
  const rows = Object.entries(config.models).map(([name, named]) => ({
    name,
    provider: named.provider,
    model: named.model,
    window: modelFacts(named).window,
    status: keyStatus(named),
  }))
  const chosen = config.agent.model ?? rehearsal
  const lines = rows.map(({ name, provider, model, window, status }) => [
    `${name === chosen ? '*' : ' '} ${name}`,
    printable(model),
    provider,
    figure(window),
    [status === 'ready' ? '' : 'NO KEY', placeIn(config, name)].filter((each) => each !== '').join(', '),
  ])
  const empty = 'no models yet (demo mode)    heddle models add'
  return {
    json: { models: rows, default: chosen },
    text: rows.length === 0 ? empty : table(here.screen, [['  name', 'model', 'provider', 'window', ''], ...lines], 1),
  }
}

async function use(here: CommandContext, name: string): Promise<CommandResult> {
  const config = await load(here)
  if (name !== rehearsal) namedModel(config, name)
  const before = config.agent.model ?? rehearsal
  await configSet(here.configFile, 'agent.model', JSON.stringify(name), replaceOptions(here))
  return {
    json: { ok: true, default: name, before },
    text: `now using ${name} (was ${before})    ${undoCommand(before, name)}`,
  }
}

async function test(here: CommandContext, name: string): Promise<CommandResult> {
  const config = await load(here)
  const trial = await recordedTrial(here, config, 'models test', name, namedModel(config, name))
  const ok = trial.checks.every((check) => check.ok)
  return { json: { ok, name, ...trial }, text: trialLines(here, trial), code: ok ? 0 : 1 }
}

async function showModel(here: CommandContext, name: string): Promise<CommandResult> {
  const config = await load(here)
  if (name === rehearsal)
    return { json: { name, provider: 'script', repertoire: rehearsalPieces() }, text: describeRehearsal() }
  const named = namedModel(config, name)
  const { window, windowFrom, price, priceFrom, sees, readsPdf, thinks, ...more } = modelFacts(named)
  // The URL may contain a password.
  const baseURL = redact(more.baseURL)
  const status = keyStatus(named)
  const key = named.apiKey?.written ?? null
  const facts = { window, windowFrom, price, priceFrom, sees, readsPdf, thinks: thinks ?? null }
  const row = (title: string, value: string) => `${paint(here.screen, 'dim', title.padEnd(9))}${value}`
  const originWords = (origin: Origin) =>
    ({
      yours: 'set by you',
      listed: `published, as of ${tableDate}`,
      free: 'your own machine',
      assumed: 'ASSUMED: the provider does not say; set it in heddle.yaml',
    })[origin]
  const text = [
    row('model', `${printable(named.model)}  ${named.provider}  ${printable(baseURL)}`),
    row('status', status === 'ready' ? 'ready' : 'key missing'),
    row('key', key === null ? 'none' : printable(key)),
    row('window', `${figure(window)} tokens  ${originWords(windowFrom)}`),
    row('price', `$${price.input} in, $${price.output} out per million tokens  ${originWords(priceFrom)}`),
    row('thinks', named.thinking ?? (thinks === false ? 'no' : 'provider default')),
    row('sees', `${sees ? 'pictures' : 'no pictures'}${readsPdf ? ', PDF' : ''}`),
    row('used', `${placeIn(config, name) || 'on request'}    heddle models use ${name}`),
  ].join('\n')
  const { provider, model } = named
  return { json: { name, provider, model, baseURL, status, key, ...facts, default: config.agent.model === name }, text }
}

function namedModel({ models }: Config, name: string): NamedModel {
  const found = Object.hasOwn(models, name) ? models[name] : undefined
  if (found) return found
  const close = nearest(name, Object.keys(models))
  throw new HeddleError(
    'model_unknown',
    `there is no model "${printable(name)}"`,
    close ? `did you mean ${close}?` : 'heddle models lists them, heddle models add adds one',
  )
}

function keyStatus({ apiKey }: NamedModel): 'ready' | 'key_missing' {
  return apiKey && !apiKey.isThere ? 'key_missing' : 'ready'
}

function placeIn({ agent, allowedModels }: Config, name: string): string {
  if (allowedModels && !allowedModels.includes(name)) return 'not allowed (models.allow)'
  if (agent.model === name) return 'default'
  const place = agent.fallbacks.indexOf(name)
  return place === -1 ? '' : `fallback ${place + 1}`
}

function figure(count: number): string {
  return groupDigits(count)
}
